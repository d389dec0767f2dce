// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import java.time.Instant

/** The time of day in microseconds, as often as a record comes.
  *
  * One clock for all parts of a latency, so that they add up. It runs on the JVM's monotonic one and is set by the time of
  * day once a second, so that it can be compared with other machines.
  */
private[headrace] object Clock {
  @volatile private var offset = difference()

  def micros(): Long = System.nanoTime() / 1000 + offset

  def set(): Unit = offset = difference()

  private def difference(): Long = {
    val now = Instant.now()
    now.getEpochSecond * 1000000 + now.getNano / 1000 - System.nanoTime() / 1000
  }
}
