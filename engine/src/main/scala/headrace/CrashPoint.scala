// SPDX-License-Identifier: Apache-2.0
package headrace

import java.util.concurrent.atomic.AtomicInteger

/** Places where a crash must do no harm, by name, so that tests can crash there.
  *
  * With the system property `headrace.crash` set to `name` or `name:times`, the JVM ends at that place as by kill -9; with
  * `name:times:still` it stands still there until it is told to go on. Without it, which is always outside of tests, a place
  * costs a comparison.
  */
private[headrace] object CrashPoint {
  private val wanted = Option(System.getProperty("headrace.crash")).map(_.split(':'))
  private val left = new AtomicInteger(wanted.filter(_.length > 1).fold(1)(_(1).toInt))

  def reach(name: String): Unit =
    if (wanted.isDefined && wanted.get(0) == name && left.decrementAndGet() == 0)
      if (wanted.get.length > 2) stand() else Runtime.getRuntime.halt(Killed)

  private def stand(): Unit =
    new ProcessBuilder("kill", "-STOP", ProcessHandle.current().pid().toString).start().waitFor(): Unit

  /** What a shell shows for a process that was killed. */
  private val Killed = 137
}
