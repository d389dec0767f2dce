// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.lang.{Long => JLong}

import headrace.{EpochSignal, TaskScope}
import headrace.guard.LateStart
import org.apache.kafka.common.errors.InterruptException
import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.{PartitionOffset, SupportsRealTimeRead}
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead.RecordStatus
import org.apache.spark.sql.execution.datasources.v2.LowLatencyClock
import org.slf4j.LoggerFactory

/** Hands on each record of its partitions the moment it is there, until the epoch ends.
  *
  * The reader ends the epoch itself: at its end ([[LateStart]]), or early when [[EpochSignal]] says so. Answering
  * "no record" always ends the task's epoch, so while the input is idle it waits, looking up now and then.
  *
  * Reaches into Spark: `LowLatencyClock`, which is what Spark tells the time by when it asks a reader.
  */
private[kafka] final class RealTimeReader(group: GroupPartition, task: TaskContext)
    extends SupportsRealTimeRead[InternalRow] {
  import RealTimeReader._

  private val scope = TaskScope.of(task)
  private val trail = scope.source
  private val settings = group.settings.consumer
  private val toRow = RecordRow.create(group.settings.includeHeaders)
  // No partitions: the topics are gone, or none matches yet. The task only waits for the epoch's end, as one that rests.
  private val consumer =
    if (group.rests || group.partitions.isEmpty) None else Some(ConsumerPool.acquire(settings, group.partitions))
  private val cursors = consumer.fold(Array.empty[PartitionCursor])(_.cursors)
  private var turn = 0
  private var row: InternalRow = _
  private var failed = false
  private var killed = false
  private var asked = false
  private var endNanos = 0L
  // The rows may be pulled by a thread of an operator that reads ahead, while the task's own thread closes the reader.
  private val lock = new Object
  private var closed = false

  private var handedOn = 0L
  // The sink is there before its source, unless the two are in different tasks.
  private val recording = scope.recording

  // Nobody closes a reader that was never there.
  try consumer.foreach(_.startAt(recording.fold(group.starts)(_.resume(group.starts))))
  catch {
    case e: Throwable =>
      consumer.foreach(_.close())
      throw e
  }
  cursors.foreach(cursor => cursor.meter = scope.meter.map(_.reading(cursor.partition)).orNull)
  scope.sourceKnows(() => cursors.exists(_.hasRecord), () => cursors.map(cursor => cursor.partition -> cursor.next).toMap)

  override def nextWithTimeout(nowMs: JLong, timeoutMs: JLong): RecordStatus = {
    if (!asked) {
      asked = true
      endNanos = System.nanoTime() + LateStart.lengthMs(timeoutMs, task) * 1000000L
      scope.meter.foreach(_.sourceIsReady())
    }
    recording.foreach(_.look(nowMs, handedOn))
    if (isOver) noRecord()
    else {
      val cursor = nextCursor()
      if (cursor != null) handOn(cursor) else waitForRecord()
    }
  }

  // Measured on the clock that nobody can set: an epoch during which the other is set back would not end.
  private def leftMs: Long = (endNanos - System.nanoTime()) / 1000000L

  private def isOver: Boolean = leftMs <= 0 || EpochSignal.ended(group.run, group.epoch)

  private def waitForRecord(): RecordStatus = {
    var cursor: PartitionCursor = null
    scope.sourceWaits()
    while (cursor == null && !killed && !isOver) {
      scope.throwIfSinkFailed()
      poll(math.max(1, math.min(leftMs, recording.fold(LookUpMs)(it => math.min(LookUpMs, it.patienceMs(clockMs, handedOn))))))
      recording.foreach(_.look(clockMs, handedOn))
      cursor = nextCursor()
    }
    if (cursor == null) noRecord() else handOn(cursor)
  }

  // The clock that Spark asks with.
  private def clockMs: Long = LowLatencyClock.getTimeMillis()

  /** A stopped query interrupts its tasks. Ending the epoch quietly is enough then: Spark discards what a killed task
    * reports, while an exception would fill the log of every orderly stop.
    */
  private def poll(timeoutMs: Long): Unit =
    try lock.synchronized {
        if (closed) killed = true
        else
          consumer match {
            case Some(kafka) => guarded(kafka.poll(timeoutMs, group.settings.failOnDataLoss))
            case None => Thread.sleep(timeoutMs)
          }
      }
    catch {
      case _: InterruptException | _: InterruptedException if task.isInterrupted() =>
        // Clears the flag: the rest of the task must be able to wind up.
        Thread.interrupted(): Unit
        killed = true
    }

  /** One record of each partition in turn, so that a busy partition cannot starve the others. */
  private def nextCursor(): PartitionCursor = {
    var tried = 0
    while (tried < cursors.length) {
      val cursor = cursors(turn)
      turn = if (turn + 1 == cursors.length) 0 else turn + 1
      if (cursor.hasRecord) return cursor
      tried += 1
    }
    null
  }

  private def handOn(cursor: PartitionCursor): RecordStatus = {
    val record = cursor.take()
    handedOn += 1
    trail.set(cursor.origin(record, handedOn))
    row = toRow(record, cursor.topic)
    HasRecord
  }

  private def noRecord(): RecordStatus = {
    scope.meter.foreach(_.sourceHasEnded())
    NoRecord
  }

  override def get(): InternalRow = row

  override def next(): Boolean =
    throw new UnsupportedOperationException("a real-time reader is asked with a timeout (nextWithTimeout)")

  override def getOffset(): PartitionOffset = {
    val executor = SparkEnv.get
    consumer.foreach(kafka => guarded(kafka.settle()))
    TaskEnd(
      cursors.iterator.map(cursor => cursor.partition -> cursor.next).toMap,
      System.currentTimeMillis(),
      executor.blockManager.blockManagerId.host,
      executor.executorId,
      scope.meter.map(_.all()))
  }

  /** A consumer that threw may be in any state; it is closed instead of kept. */
  private def guarded[T](work: => T): T =
    try work
    catch {
      case e: Throwable =>
        failed = true
        throw e
    }

  override def close(): Unit = lock.synchronized {
    closed = true
    consumer.foreach(giveBack)
  }

  private def giveBack(kafka: AssignedConsumer): Unit = {
    // Epoch 0 may be one that only loads initial state and asks nobody.
    if (!asked && group.epoch > 0 && !failed && !task.isInterrupted())
      log.warn(
        "The task for {} started after its epoch had ended and read nothing. The records stay where they are and are read " +
          "in a later epoch. Use longer epochs (the trigger's duration), or give the cluster more room.",
        group.partitions.mkString(", "))
    if (failed || task.isInterrupted() || task.isFailed()) kafka.close() else ConsumerPool.release(settings, kafka)
  }
}

private[kafka] object RealTimeReader {
  private val log = LoggerFactory.getLogger("headrace.kafka.RealTimeReader")

  /** How long an idle reader waits before it looks whether the epoch should end or the sink has failed. */
  private val LookUpMs = 100L

  // Spark ignores the arrival time in the status, so two constants serve all records.
  private val HasRecord = RecordStatus.newStatusWithoutArrivalTime(true)
  private val NoRecord = RecordStatus.newStatusWithoutArrivalTime(false)
}
