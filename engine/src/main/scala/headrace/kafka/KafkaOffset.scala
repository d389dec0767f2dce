// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.observe.Parts
import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.connector.read.streaming.{Offset, PartitionOffset}

/** The next offset to read of every partition, in the JSON form of Spark's own connector. */
private[kafka] final case class KafkaOffset(offsets: Map[TopicPartition, Long]) extends Offset {
  override val json: String = OffsetJson.writeOffsets(offsets)
}

private[kafka] object KafkaOffset {
  def of(offset: Offset): KafkaOffset = offset match {
    case kafka: KafkaOffset => kafka
    // After a restart Spark hands back the checkpoint's text.
    case other => KafkaOffset(OffsetJson.readOffsets(other.json()))
  }
}

/** Where and when one task stopped, and on which executor: its next epoch finds a warm consumer there. */
private[kafka] final case class TaskEnd(
    offsets: Map[TopicPartition, Long],
    timeMs: Long,
    host: String,
    executorId: String,
    latency: Option[Parts])
    extends PartitionOffset
