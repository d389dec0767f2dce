// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.headrace

import org.apache.spark.util.SystemClock

/** The machine's clock, but ahead of it by some time; `Clock` is open to Spark's own packages only. */
final class ShiftedClock(ms: Long) extends SystemClock {
  override def getTimeMillis(): Long = super.getTimeMillis() + ms
}
