// SPDX-License-Identifier: Apache-2.0
package headrace.shuffle

import headrace.TaskScope
import org.apache.spark.TaskContext

/** The rows that a task has gathered for the next stage. They leave when the task is about to wait: for its source, for the
  * stage before, or for Python. Only a task that is never without a row leaves them to Spark's timer.
  *
  * @param send sends them; any thread may call it
  */
final class Gathering(task: TaskContext, send: () => Unit) {
  // Of the thread that pulls the rows of the task, which is the one that waits.
  private var hasRows = false

  TaskScope.of(task).beforeWaiting(() =>
    if (hasRows) {
      hasRows = false
      send()
    })

  def apply[T](row: T): T = {
    hasRows = true
    row
  }
}

object Gathering {
  /** What a task that gets its rows from another stage does when it has none at hand. */
  def sending(task: TaskContext): () => Unit = {
    val scope = TaskScope.of(task)
    () => scope.sourceWaits()
  }

  /** Rows, or batches of them, that a task may have to wait for. */
  def before[T](rows: Iterator[T], task: TaskContext): Iterator[T] = {
    val scope = TaskScope.of(task)
    new Iterator[T] {
      override def hasNext: Boolean = {
        scope.taskWaits()
        rows.hasNext
      }

      override def next(): T = rows.next()
    }
  }
}
