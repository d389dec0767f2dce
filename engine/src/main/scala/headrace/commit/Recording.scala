// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import headrace.TaskScope
import org.apache.kafka.common.TopicPartition

/** How far the source of a task had come at a moment.
  *
  * @param sequence the number of the last record that it had handed on
  * @param offsets the next offset of each of its partitions
  */
private[headrace] final case class Cut(sequence: Long, offsets: Map[TopicPartition, Long])

/** How a task records its progress. The source cuts its input now and then; a cut has passed when every row of every record
  * before it was handed to the producer.
  */
private[headrace] trait Progress {
  /** Where the task goes on: behind what was recorded before. */
  def resume(starts: Map[TopicPartition, Long]): Map[TopicPartition, Long]

  /** The task goes on after it stood still for a while. Throws if another run has its place. */
  def stoodStill(): Unit

  /** Whether another cut may be made. */
  def isReady: Boolean

  /** Called by the source's thread: all records so far belong before the cut. */
  def cut(now: Cut): Unit

  /** Whether a cut waits to be passed: asked for each row, so it must cost nothing. */
  def hasCuts: Boolean

  /** All rows of records before this one have been handed to the producer. */
  def passed(sequence: Long): Unit

  /** Records the offsets with which the task ends; everything was handed to the producer. */
  def finish(offsets: Map[TopicPartition, Long]): Unit
}

/** Where the source and the sink of a task meet to record progress inside an epoch.
  *
  * @param phaseMs how long after each full interval of the clock the task makes its cuts
  */
private[headrace] final class Recording(scope: TaskScope, progress: Progress, intervalMs: Long, phaseMs: Long) {
  import Recording._

  // The source's thread only.
  private var dueMs = 0L
  private var last = Cut(0, Map.empty)
  private var lookedMs = 0L

  def resume(starts: Map[TopicPartition, Long]): Map[TopicPartition, Long] = progress.resume(starts)

  /** Called by the sink before each row. */
  def rowComes(): Unit = if (progress.hasCuts) scope.last.current.foreach(row => progress.passed(row.sequence))

  /** Called by the source where it waits for records or hands one on. */
  def look(nowMs: Long, handedOn: Long): Unit = {
    if (lookedMs > 0 && nowMs - lookedMs > StillMs) progress.stoodStill()
    lookedMs = nowMs
    // A clock that was set back would put off the next cut by as much.
    if (dueMs - nowMs > intervalMs) dueMs = nowMs
    if (nowMs >= dueMs && progress.isReady) {
      dueMs = ((nowMs - phaseMs) / intervalMs + 1) * intervalMs + phaseMs
      val now = Cut(handedOn, scope.sourceOffsets())
      if (now != last) progress.cut(now)
      last = now
    }
    // Nothing is on its way, so everything that was handed on has been sent.
    if (progress.hasCuts && scope.isDrained) progress.passed(Long.MaxValue)
  }

  /** How long the source may wait for a record before it must look again. */
  def patienceMs(nowMs: Long, handedOn: Long): Long =
    if (progress.hasCuts) SoonMs
    else if (handedOn > last.sequence) math.max(SoonMs, dueMs - nowMs)
    else Long.MaxValue

  /** Called by the sink when the epoch has ended and all its rows were sent. */
  def finish(): Unit = progress.finish(scope.sourceOffsets())
}

private[headrace] object Recording {
  /** Spreads the work of the brokers: no two of any number of tasks come close to each other. */
  def spreadMs(intervalMs: Long, task: Int): Long = ((task * GoldenRatio) % 1 * intervalMs).toLong

  private val GoldenRatio = 0.618034
  /** The source looks ten times a second at least, unless the process, or what is behind the source, stands still. */
  val StillMs = 2000L

  // A cut waits for rows that are on their way; polls this short happen only then.
  private val SoonMs = 3L
}
