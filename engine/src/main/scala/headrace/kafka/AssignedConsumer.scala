// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.time.Duration
import java.util.{Collections, List => JList}

import scala.jdk.CollectionConverters._

import headrace.observe.PartitionMeter
import org.apache.kafka.clients.consumer.{ConsumerRecord, KafkaConsumer, OffsetOutOfRangeException}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.TimeoutException
import org.apache.spark.unsafe.types.UTF8String

/** What one partition has fetched but not yet handed on. */
private[kafka] final class PartitionCursor(val partition: TopicPartition) {
  val topic: UTF8String = UTF8String.fromString(partition.topic)
  /** The offset after the last record handed on; Long.MinValue until a reader says where to start. */
  var next: Long = Long.MinValue
  /** When what is fetched was received; it may be handed on in a later epoch. */
  var arrivedMs = 0L
  var arrivedNanos = 0L
  /** Counts what is handed on; null if nobody wants to know. */
  var meter: PartitionMeter = _
  private var fetched: JList[ConsumerRecord[Array[Byte], Array[Byte]]] = Collections.emptyList()
  private var index = 0

  /** How many records wait to be handed on. */
  def waiting: Int = fetched.size - index

  def hasRecord: Boolean = index < fetched.size

  def peek: ConsumerRecord[Array[Byte], Array[Byte]] = fetched.get(index)

  def take(): ConsumerRecord[Array[Byte], Array[Byte]] = {
    val record = fetched.get(index)
    index += 1
    next = record.offset + 1
    record
  }

  /** Of a record that is being handed on. */
  def origin(record: ConsumerRecord[Array[Byte], Array[Byte]], sequence: Long): Position =
    new Position(record, arrivedMs, arrivedNanos, sequence, if (meter == null) 0 else meter.read(record), meter)

  def fill(records: JList[ConsumerRecord[Array[Byte], Array[Byte]]]): Unit = {
    arrivedMs = System.currentTimeMillis()
    arrivedNanos = System.nanoTime()
    fetched = records
    index = 0
  }

  def clear(): Unit = fill(Collections.emptyList())
}

/** A consumer with a fixed set of partitions. It keeps what it has fetched between epochs, so that the next epoch goes
  * on where this one stopped without a seek or a fetch. Used by one task at a time.
  */
private[kafka] final class AssignedConsumer(settings: Map[String, String], val partitions: Seq[TopicPartition])
    extends AutoCloseable {
  private val consumer =
    new KafkaConsumer[Array[Byte], Array[Byte]](settings.asJava.asInstanceOf[java.util.Map[String, AnyRef]])
  consumer.assign(partitions.asJava)

  val cursors: Array[PartitionCursor] = partitions.map(new PartitionCursor(_)).toArray

  private var toldNanos = 0L

  /** Places every cursor; one that stands there already keeps what it has fetched. */
  def startAt(offsets: Map[TopicPartition, Long]): Unit =
    cursors.foreach { cursor =>
      val offset = offsets(cursor.partition)
      if (cursor.next != offset) seek(cursor, offset)
    }

  private def seek(cursor: PartitionCursor, offset: Long): Unit = {
    cursor.clear()
    cursor.next = offset
    consumer.seek(cursor.partition, offset)
  }

  /** Fetches what is there, waiting at most `timeoutMs` for a first record. Only when every cursor is empty. */
  def poll(timeoutMs: Long, failOnDataLoss: Boolean): Unit =
    try {
      val records = consumer.poll(Duration.ofMillis(timeoutMs))
      if (!records.isEmpty) cursors.foreach(cursor => cursor.fill(records.records(cursor.partition)))
      tellLag()
    } catch {
      case e: OffsetOutOfRangeException =>
        e.offsetOutOfRangePartitions().asScala.foreach { case (partition, offset) => skip(partition, offset, failOnDataLoss) }
    }

  /** The answer to a fetch says where the partition ends, and the consumer remembers. */
  private def tellLag(): Unit = {
    val now = System.nanoTime()
    if (now - toldNanos > AssignedConsumer.TellNanos) {
      toldNanos = now
      cursors.filter(_.meter != null).foreach { cursor =>
        consumer.currentLag(cursor.partition).ifPresent(unfetched => cursor.meter.isBehind(unfetched + cursor.waiting))
      }
    }
  }

  private def skip(partition: TopicPartition, offset: Long, failOnDataLoss: Boolean): Unit = {
    val earliest = consumer.beginningOffsets(Collections.singleton(partition)).get(partition).longValue
    DataLoss.report(
      failOnDataLoss,
      s"Partition $partition no longer holds offset $offset; its earliest record now is at $earliest: records in between " +
        "were deleted by retention, or the topic was created anew.")
    cursors.find(_.partition == partition).foreach(seek(_, earliest))
  }

  /** How far the partition was read, also past offsets that hold no record (transaction marks, compacted records). */
  def position(partition: TopicPartition): Long = consumer.position(partition)

  /** The offset that the partition's next record will get. */
  def end(partition: TopicPartition): Long = consumer.endOffsets(Collections.singleton(partition)).get(partition).longValue

  /** Moves cursors with nothing left to hand on past offsets that hold no record, as far as the consumer has come. */
  def settle(): Unit = cursors.foreach { cursor =>
    if (!cursor.hasRecord)
      // Never waits: while the brokers are away a position may be in doubt, and then the last record's is as good.
      try cursor.next = math.max(cursor.next, consumer.position(cursor.partition, Duration.ZERO))
      catch { case _: TimeoutException => () }
  }

  override def close(): Unit = consumer.close(
    org.apache.kafka.clients.consumer.CloseOptions.timeout(Duration.ZERO))
}

private object AssignedConsumer {
  // Asking takes a lock of the client for each partition: not with each record.
  private val TellNanos = 200L * 1000 * 1000
}
