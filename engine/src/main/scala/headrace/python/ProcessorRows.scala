// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.TaskScope
import headrace.observe.{Origin, WorkerMeter}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.WorkerWatch

/** The rows of a task that runs a stateful processor. */
object ProcessorRows {
  private val LeastWaitMs = 20L
  // Timers must fire within 100 ms of their time while nothing comes.
  private val TickMs = 25L

  /** @param rows what comes in
    * @param arguments makes the row that Python gets
    * @param hasTimers whether Python must look at the clock while nothing comes
    * @param answers gives what Python makes of batches; calls the function it is given for each batch, and lets its worker
    *   be watched
    */
  def apply(
      rows: Iterator[InternalRow],
      arguments: InternalRow => InternalRow,
      processor: String,
      hasTimers: Boolean,
      task: TaskContext)(
      answers: (Iterator[Iterator[InternalRow]], () => Unit, WorkerWatch) => Iterator[InternalRow]): Iterator[InternalRow] = {
    val scope = TaskScope.of(task)
    val stand = scope.readAhead()
    new OnFirstUse(() => {
      val feed = new ThreadFeed(rows, stand, task)
      val worker = WorkerMeter.of(Seq(processor), scope)
      val batches = new Batches(feed, arguments, inStep = false, LeastWaitMs, worker, if (hasTimers) TickMs else 0)
      // What no batch of rows has brought about, a timer has.
      def answered(): Unit = stand.follow(batches.answered().getOrElse(Origin.Timer))
      new Explained(answers(batches, () => answered(), WorkerWatch.none(worker.startedAs)), Seq(processor))
    })
  }
}
