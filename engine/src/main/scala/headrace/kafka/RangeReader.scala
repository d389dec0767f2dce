// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.{HeadraceException, TaskScope}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader

/** Reads the records of one partition between two offsets. */
private[kafka] final class RangeReader(range: RangePartition) extends PartitionReader[InternalRow] {
  import RangeReader._

  private val task = TaskContext.get()
  // The tasks of a table beside a stream bear the marks of the stream's, and have nothing to do with its records.
  private val scope = Option.unless(range.isStatic)(TaskScope.of(task))
  private val trail = scope.fold(new Trail)(_.source)
  private val start = from
  private val consumer = ConsumerPool.acquire(range.settings.consumer, Seq(range.partition))
  private val cursor = consumer.cursors.head
  private val toRow = RecordRow.create(range.settings.includeHeaders)
  private var row: InternalRow = _
  private var complete = false
  private var ended = false

  consumer.startAt(Map(range.partition -> start))
  cursor.meter = scope.flatMap(_.meter).map(_.reading(range.partition)).orNull
  scope.foreach(_.sourceKnows(() => false, () => Map(range.partition -> (if (complete) range.until else cursor.next))))

  /** Where results and progress are committed together, an earlier attempt may have come to the end. */
  private def from: Long =
    scope.filter(_ => task.getLocalProperty(EpochPlanner.TransactedProperty) != null).fold(range.from) { shared =>
      val recorded = shared.awaitRecording().resume(Map(range.partition -> range.from))
      math.min(range.until, recorded(range.partition))
    }

  override def next(): Boolean = {
    if (!complete && (cursor.hasRecord || fetch()) && cursor.peek.offset < range.until) {
      val record = cursor.take()
      trail.set(cursor.origin(record, 0))
      row = toRow(record, cursor.topic)
      true
    } else {
      complete = true
      false
    }
  }

  /** Waits for the next record of the range; false when the rest of the range holds none. */
  private def fetch(): Boolean = {
    val deadline = System.nanoTime() + range.settings.pollTimeoutMs * 1000000L
    // The position also moves over offsets without a record: transaction marks, aborted and compacted records.
    while (!cursor.hasRecord && !ended && cursor.next < range.until && consumer.position(range.partition) < range.until) {
      if (System.nanoTime() > deadline) explainSilence() else consumer.poll(PollMs, range.settings.failOnDataLoss)
    }
    cursor.hasRecord
  }

  /** Nothing came in all the time allowed: the partition ends before its range does, or the brokers do not answer. */
  private def explainSilence(): Unit = {
    val end = consumer.end(range.partition)
    if (end > consumer.position(range.partition)) throw timedOut()
    DataLoss.report(
      range.settings.failOnDataLoss,
      s"Partition ${range.partition} ends at offset $end and gave no record for ${range.settings.pollTimeoutMs} ms, but is to be " +
        s"read up to ${range.until}: records were deleted, or the ending offset is too high.")
    ended = true
  }

  private def timedOut() = new HeadraceException(
    "KAFKA_READ_TIMEOUT",
    s"Partition ${range.partition} gave no record for ${range.settings.pollTimeoutMs} ms at offset ${cursor.next} of the " +
      s"range up to ${range.until}. Nothing of this batch is committed; it is read again at the next start. Check the " +
      "brokers, or raise the option kafkaConsumer.pollTimeoutMs.",
    Map("partition" -> range.partition.toString, "offset" -> cursor.next.toString))

  override def get(): InternalRow = row

  override def close(): Unit =
    if (complete) ConsumerPool.release(range.settings.consumer, consumer) else consumer.close()
}

private[kafka] object RangeReader {
  private val PollMs = 100L
}
