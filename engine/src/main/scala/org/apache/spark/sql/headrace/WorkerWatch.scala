// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import java.util.concurrent.TimeUnit

import org.apache.spark.TaskContext
import org.apache.spark.api.python.{LocalPythonWorkerHandle, PythonWorkerHandle}
import org.apache.spark.internal.Logging
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.ThreadUtils

/** Notices a worker that has had a batch for longer than the user allows.
  *
  * Spark measures how long a worker is silent. In a real-time query that says nothing: without input there is nothing to
  * say. Here the time counts from the moment at which a batch was sent. The settings are Spark's own.
  *
  * Reaches into Spark: `PythonWorkerHandle.destroy` ends the process, `LocalPythonWorkerHandle.pid` names it; both classes
  * are private to Spark's package.
  *
  * @param heldNanos for how long the worker has had the oldest batch that it has not answered; 0 if it has none, or if
  *   nobody can tell
  * @param started told the number of the worker's process
  */
final class WorkerWatch(heldNanos: () => Long, started: Long => Unit) extends Logging {
  import WorkerWatch._

  private val longestSeconds = SQLConf.get.pythonUDFWorkerIdleTimeoutSeconds
  private val kills = SQLConf.get.pythonUDFWorkerKillOnIdleTimeout
  @volatile private var worker: Option[PythonWorkerHandle] = None
  @volatile private var warned = false
  @volatile private var killed = false

  /** After how many seconds the worker was ended, if it was. */
  def killedAfter: Option[Long] = Option.when(killed)(longestSeconds)

  private[sql] def begin(handle: Option[PythonWorkerHandle], task: TaskContext): Unit = {
    handle.foreach {
      case local: LocalPythonWorkerHandle => started(local.pid)
      case _ => ()
    }
    if (longestSeconds > 0) {
      worker = handle
      val tick = timer.scheduleWithFixedDelay(() => look(), TickMs, TickMs, TimeUnit.MILLISECONDS)
      task.addTaskCompletionListener[Unit](_ => tick.cancel(false): Unit)
    }
  }

  private def look(): Unit =
    if (TimeUnit.NANOSECONDS.toSeconds(heldNanos()) < longestSeconds) warned = false
    else if (kills && !killed) {
      killed = true
      worker.foreach(_.destroy())
    } else if (!warned) {
      warned = true
      logWarning(s"A Python worker has had a batch for $longestSeconds seconds without an answer.")
    }
}

object WorkerWatch {
  /** For functions of which nobody can tell what they have answered. */
  def none(started: Long => Unit): WorkerWatch = new WorkerWatch(() => 0, started)

  private val TickMs = 250L
  private lazy val timer = ThreadUtils.newDaemonSingleThreadScheduledExecutor("headrace-worker-watch")
}
