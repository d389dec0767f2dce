// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import org.apache.spark.headrace.ShiftedClock
import org.apache.spark.sql.execution.datasources.v2.LowLatencyClock

/** Sets the clock of real-time queries in this JVM, as an administrator or NTP would set the machine's. */
object SteppedClock {
  def step(ms: Long): Unit = LowLatencyClock.setClock(new ShiftedClock(ms))
}
