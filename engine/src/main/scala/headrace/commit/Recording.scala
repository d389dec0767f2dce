// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import headrace.TaskScope

/** Where the source and the sink of a task meet to record progress inside an epoch. */
private[headrace] final class Recording(scope: TaskScope, val progress: TaskProgress, val generations: Generations) {
  /** Called when the sink is there, before the source is. */
  def begin(): Unit = scope.record(this)

  /** Called by the sink before each row. */
  def rowComes(): Unit = if (generations.hasCuts) scope.last.current.foreach(row => generations.passed(row.sequence))

  /** Called by the source where it waits for records or hands one on: by the clock, ticks of all tasks fall together. */
  def look(nowMs: Long, handedOn: Long): Unit = {
    if (nowMs >= dueMs) {
      dueMs = (nowMs / progress.intervalMs + 1) * progress.intervalMs
      generations.cut(Cut(handedOn, scope.sourceOffsets()))
    }
    // Nothing is on its way, so everything that was handed on has been sent.
    if (generations.hasCuts && scope.isDrained) generations.passed(Long.MaxValue)
  }

  private var dueMs = 0L

  /** Called by the sink when the epoch has ended and everything is acknowledged. */
  def finish(): Unit = progress.finish(scope.sourceOffsets())
}
