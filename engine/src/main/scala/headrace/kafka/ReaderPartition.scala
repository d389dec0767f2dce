// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import org.apache.kafka.common.TopicPartition
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

/** What every reader of a query needs. Travels to the executors. */
private[kafka] final case class ReaderSettings(
    consumer: Map[String, String],
    includeHeaders: Boolean,
    failOnDataLoss: Boolean,
    pollTimeoutMs: Long) {
  // The consumer's settings hold secrets.
  override def toString: String = s"ReaderSettings(includeHeaders=$includeHeaders, failOnDataLoss=$failOnDataLoss)"
}

/** A bounded piece of one partition: micro-batch and batch.
  *
  * @param isStatic whether it belongs to a table, perhaps one beside a stream, and not to a stream
  */
private[kafka] final case class RangePartition(
    partition: TopicPartition,
    from: Long,
    until: Long,
    settings: ReaderSettings,
    isStatic: Boolean)
    extends InputPartition

/** Partitions that one task reads for a whole epoch: real-time mode.
  *
  * @param rests whether it reads nothing in this epoch ([[headrace.EpochSignal]])
  */
private[kafka] final case class GroupPartition(
    starts: Map[TopicPartition, Long],
    run: String,
    epoch: Long,
    rests: Boolean,
    place: Option[String],
    settings: ReaderSettings)
    extends InputPartition {
  override def preferredLocations(): Array[String] = place.toArray

  val partitions: Seq[TopicPartition] = starts.keys.toSeq.sortBy(tp => (tp.topic, tp.partition))
}

private[kafka] object ReaderFactory extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case range: RangePartition => new RangeReader(range)
    case group: GroupPartition => new RealTimeReader(group, TaskContext.get())
    case other => throw new IllegalArgumentException(s"not a partition of this source: $other")
  }
}
