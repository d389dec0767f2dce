// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.{HeadraceException, TaskScope}
import org.apache.kafka.common.record.TimestampType
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader

/** Reads the records of one partition between two offsets. */
private[kafka] final class RangeReader(range: RangePartition) extends PartitionReader[InternalRow] {
  private val trail = TaskScope.of(TaskContext.get()).extend()
  private val consumer = ConsumerPool.acquire(range.settings.consumer, Seq(range.partition))
  private val cursor = consumer.cursors.head
  private val toRow = RecordRow.create(range.settings.includeHeaders)
  private var row: InternalRow = _
  private var complete = false
  private var arrivedMs = 0L
  private var arrivedNanos = 0L

  consumer.startAt(Map(range.partition -> range.from))

  override def next(): Boolean = {
    if (!complete && (cursor.hasRecord || fetch()) && cursor.peek.offset < range.until) {
      val record = cursor.take()
      trail.set(new Position(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.timestampType == TimestampType.CREATE_TIME,
        arrivedMs,
        arrivedNanos))
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
    while (!cursor.hasRecord && cursor.next < range.until && consumer.position(range.partition) < range.until) {
      if (System.nanoTime() > deadline) throw timedOut()
      consumer.poll(100, range.settings.failOnDataLoss)
    }
    arrivedMs = System.currentTimeMillis()
    arrivedNanos = System.nanoTime()
    cursor.hasRecord
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
