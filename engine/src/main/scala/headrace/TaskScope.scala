// SPDX-License-Identifier: Apache-2.0
package headrace

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicReference

import headrace.commit.{Generations, Recording}
import headrace.kafka.{Outlet, ReadAhead, Trail}
import headrace.observe.{Meters, TaskMeter}
import org.apache.kafka.common.TopicPartition
import org.apache.spark.TaskContext

/** What the reader, the operators of ours and the writer of one task share.
  *
  * It holds the chain of [[Trail]]s and the first failure of the sink, so that a reader waiting for input can fail the
  * task at once instead of at the next record.
  *
  * The source's trail is there from the beginning, and not when the source adds it: Spark creates the reader with the
  * first row, on the thread that asks for it, when every operator of the task is already in place.
  *
  * @param meter counts and times the rows of the task, if it belongs to a streaming query
  */
private[headrace] final class TaskScope(val meter: Option[TaskMeter]) {
  private val failure = new AtomicReference[Throwable]()
  val source = new Trail
  @volatile private var end = source
  @volatile private var hasRecord: () => Boolean = () => false
  @volatile private var offsets: () => Map[TopicPartition, Long] = () => Map.empty
  @volatile private var ahead = List.empty[ReadAhead]
  @volatile private var sendGathered: () => Unit = () => ()
  @volatile private var recorded: Option[Recording] = None
  @volatile private var sends: Option[Generations] = None
  @volatile private var transacted: Option[Outlet] = None

  /** Adds an operator that reads ahead, behind all others. Spark sets up the operators of a task from the source to the
    * sink, so each must call this when it is set up and not when its first row comes.
    */
  def readAhead(): ReadAhead = synchronized {
    val added = ReadAhead(before = end, after = new Trail)
    end = added.after
    ahead :+= added
    added
  }

  /** Called by the source of the task; the function is called by the thread that pulls its rows. */
  def sourceKnows(whetherARecordIsThere: () => Boolean, howFarItIs: () => Map[TopicPartition, Long]): Unit = {
    hasRecord = whetherARecordIsThere
    offsets = howFarItIs
  }

  /** The next offset of each partition of the source. */
  def sourceOffsets(): Map[TopicPartition, Long] = offsets()

  /** What the task does before it waits for its next row. */
  def beforeWaiting(work: () => Unit): Unit = sendGathered = work

  /** Called by whoever gives the task its rows and may have none at hand. */
  def taskWaits(): Unit = sendGathered()

  /** Called by the source, or by the shuffle that the task reads from, when it has no row at hand. If an operator reads
    * ahead, the task waits for that one.
    */
  def sourceWaits(): Unit = if (ahead.isEmpty) taskWaits()

  /** Whether all rows that were pulled from the source have gone all the way. Asked by the thread that pulls from it. The
    * operators are asked from the source on: once the first has nothing left, nothing can come to the next any more.
    */
  def isDrained: Boolean = ahead.forall(_.isDrained)

  /** Called by the sink if progress is recorded inside the epoch.
    *
    * @param generations where each send must be counted
    * @param outlet where everything of the task must be sent that is not sent by itself
    */
  def record(progress: Recording, generations: Option[Generations], outlet: Option[Outlet]): Unit = synchronized {
    sends = generations
    transacted = outlet
    recorded = Some(progress)
    notifyAll()
  }

  def recording: Option[Recording] = recorded

  /** Waits for the sink: an operator of Spark's may read before there is one. */
  def awaitRecording(): Recording = synchronized {
    while (recorded.isEmpty) wait()
    recorded.get
  }

  def generations: Option[Generations] = sends

  def outlet: Option[Outlet] = transacted

  /** Whether the source holds a record that it has not handed on. */
  def isRecordThere: Boolean = hasRecord()

  /** The trail of the rows that arrive at the sink. Asked for with each row: a writer exists before its operators. */
  def last: Trail = end

  def sinkFailed(cause: Throwable): Unit = failure.compareAndSet(null, cause)

  def hasSinkFailed: Boolean = failure.get() != null

  def throwIfSinkFailed(): Unit = {
    val cause = failure.get()
    if (cause != null) throw cause
  }
}

private[headrace] object TaskScope {
  // Not by their numbers: the next application of this JVM counts anew, while tasks of the last one may still run.
  private val scopes = new ConcurrentHashMap[TaskContext, TaskScope]()

  /** The scope of a running task; it goes away with the task. */
  def of(task: TaskContext): TaskScope =
    scopes.computeIfAbsent(
      task,
      running => {
        running.addTaskCompletionListener[Unit](_ => scopes.remove(running): Unit)
        new TaskScope(Meters.of(running))
      })
}
