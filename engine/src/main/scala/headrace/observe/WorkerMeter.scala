// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import java.nio.file.{Files, Paths}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Try

import headrace.TaskScope

/** Times the batches that a Python worker has for a task. One thread sends them, another takes the answers. */
private[headrace] final class WorkerMeter(functions: Seq[String]) {
  import WorkerMeter._

  private val batches = new Measure
  private val held = new AtomicInteger
  @volatile private var pid = Option.empty[Long]
  // The sending thread's.
  private var rows = 0L
  // Whoever takes the number of held batches from or to zero; both see it through `held`.
  @volatile private var sinceNanos = 0L
  @volatile private var busyNanos = 0L

  def startedAs(process: Long): Unit = pid = Some(process)

  /** A batch of so many rows is with the worker. */
  def send(count: Int): Unit = {
    rows += count
    if (held.getAndIncrement() == 0) sinceNanos = System.nanoTime()
  }

  /** The worker has answered a batch that it had for so long. */
  def answer(nanos: Long): Unit = {
    batches.record(nanos / 1000)
    if (held.get() > 0 && held.decrementAndGet() == 0) busyNanos += System.nanoTime() - sinceNanos
  }

  private[observe] def news(): WorkerNews = {
    val open = if (held.get() > 0) math.max(0L, System.nanoTime() - sinceNanos) else 0L
    WorkerNews(
      pid, functions, rows, busyNanos + open, batches.news(), pid.flatMap(memoryOf),
      pid.map(process => ProcessHandle.of(process).map[Boolean](_.isAlive).orElse(false)))
  }
}

private[headrace] object WorkerMeter {
  /** The meter of a worker that runs these functions for a task. */
  def of(functions: Seq[String], scope: TaskScope): WorkerMeter = {
    val worker = new WorkerMeter(functions)
    scope.meter.foreach(_.running(worker))
    worker
  }

  private val Resident = "VmRSS:\\s+(\\d+) kB".r

  /** Linux tells of every process; where nobody tells, nobody knows. */
  private def memoryOf(pid: Long): Option[Long] =
    Try(Files.readString(Paths.get(s"/proc/$pid/status"))).toOption
      .flatMap(status => Resident.findFirstMatchIn(status)).map(_.group(1).toLong * 1024)
}
