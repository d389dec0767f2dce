// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, ListConsumerGroupOffsetsOptions, ListConsumerGroupOffsetsSpec}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

/** Where a query goes on: at the later of Spark's offset and the recorded one, for each partition.
  *
  * A recorded offset counts unless it is of another topic with the same name, or of a much later epoch than the checkpoint
  * knows: then the checkpoint is an older one that was put back, and going on at the recorded offset would skip what its
  * owner wants to read again. One epoch later is no reason: Spark writes its logs in the background. All of it is said.
  */
private[headrace] object Resume {
  private val log = LoggerFactory.getLogger("headrace.commit.Resume")

  /** What a group has recorded; if it is to be stable, waits for transactions that are still open. */
  def recorded(admin: Admin, group: String, stable: Boolean = true): Map[TopicPartition, OffsetAndMetadata] = {
    val all = Map(group -> new ListConsumerGroupOffsetsSpec()).asJava
    admin.listConsumerGroupOffsets(all, new ListConsumerGroupOffsetsOptions().requireStable(stable))
      .partitionsToOffsetAndMetadata(group).get().asScala.filter(_._2 != null).toMap
  }

  def from(
      starts: Map[TopicPartition, Long],
      recorded: Map[TopicPartition, OffsetAndMetadata],
      topicIds: Map[String, String],
      epoch: Long): Map[TopicPartition, Long] = starts.map { case (partition, start) =>
    val usable = recorded.get(partition).filter(stored => stored.offset > start && isOurs(partition, stored, topicIds, epoch))
    usable.foreach(stored => log.info("{} goes on at {}, recorded inside epoch {}", partition, stored.offset, epoch))
    partition -> usable.fold(start)(_.offset)
  }

  private def isOurs(
      partition: TopicPartition,
      stored: OffsetAndMetadata,
      topicIds: Map[String, String],
      epoch: Long): Boolean = Stamp.of(stored) match {
    case None => ignored(partition, stored, "it was not written by this engine")
    case Some(stamp) if topicIds.get(partition.topic).exists(_ != stamp.topicId) =>
      ignored(partition, stored, "it belongs to an earlier topic of the same name, which was deleted")
    case Some(stamp) if stamp.epoch > epoch + 1 =>
      ignored(
        partition, stored,
        s"it was recorded in epoch ${stamp.epoch} by run ${stamp.run} on ${stamp.host}, and this checkpoint is at epoch " +
          s"$epoch: an older checkpoint was put back")
    case Some(stamp) if stamp.epoch == epoch + 1 =>
      log.warn(
        "The offset {} that is recorded for {} is of epoch {}, one later than the checkpoint's: that was written late, or it " +
          "is an older one that was put back. The query goes on at the recorded offset.",
        stored.offset, partition, stamp.epoch)
      true
    case Some(_) => true
  }

  private def ignored(partition: TopicPartition, stored: OffsetAndMetadata, why: String): Boolean = {
    log.warn(
      "The offset {} that is recorded for {} is not used: {}. The query goes on at its checkpoint's offset.",
      stored.offset, partition, why)
    false
  }
}
