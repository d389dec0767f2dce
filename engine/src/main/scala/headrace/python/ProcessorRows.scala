// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.TaskScope
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow

/** The rows of a task that runs a stateful processor. */
object ProcessorRows {
  private val LongestWaitMs = 20L
  // Timers must fire within 100 ms of their time while nothing comes.
  private val TickMs = 25L

  /** @param rows what comes in
    * @param arguments makes the row that Python gets
    * @param hasTimers whether Python must look at the clock while nothing comes
    * @param answers gives what Python makes of batches; calls the function it is given for each batch
    */
  def apply(
      rows: Iterator[InternalRow],
      arguments: InternalRow => InternalRow,
      processor: String,
      hasTimers: Boolean,
      task: TaskContext)(
      answers: (Iterator[Iterator[InternalRow]], () => Unit) => Iterator[InternalRow]): Iterator[InternalRow] = {
    val stand = TaskScope.of(task).readAhead()
    new OnFirstUse(() => {
      val feed = new ThreadFeed(rows, stand, task)
      val batches = new Batches(feed, arguments, inStep = false, LongestWaitMs, if (hasTimers) TickMs else 0)
      new Explained(answers(batches, () => batches.answered()), Seq(processor))
    })
  }
}
