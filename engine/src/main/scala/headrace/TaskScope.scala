// SPDX-License-Identifier: Apache-2.0
package headrace

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicReference

import headrace.kafka.Trail
import org.apache.spark.TaskContext

/** What the reader, the operators of ours and the writer of one task share.
  *
  * It holds the chain of [[Trail]]s, source first, and the first failure of the sink, so that a reader waiting for
  * input can fail the task at once instead of at the next record.
  */
private[headrace] final class TaskScope {
  private val failure = new AtomicReference[Throwable]()
  @volatile private var trails: Vector[Trail] = Vector.empty

  /** Adds the trail behind all others: the source adds the first, each operator that reads ahead its own. */
  def extend(): Trail = synchronized {
    val added = new Trail
    trails = trails :+ added
    added
  }

  /** The trail of the rows that arrive at the end of the task; None behind a shuffle, where no source is. */
  def last: Option[Trail] = trails.lastOption

  def sinkFailed(cause: Throwable): Unit = failure.compareAndSet(null, cause)

  def throwIfSinkFailed(): Unit = {
    val cause = failure.get()
    if (cause != null) throw cause
  }
}

private[headrace] object TaskScope {
  private val scopes = new ConcurrentHashMap[Long, TaskScope]()

  /** The scope of a running task; it goes away with the task. */
  def of(task: TaskContext): TaskScope =
    scopes.computeIfAbsent(
      task.taskAttemptId(),
      attempt => {
        task.addTaskCompletionListener[Unit](_ => scopes.remove(attempt): Unit)
        new TaskScope
      })
}
