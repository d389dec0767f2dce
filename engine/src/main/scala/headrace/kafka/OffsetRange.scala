// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import org.apache.kafka.common.TopicPartition

/** The offsets [from, until) of a partition. */
private[kafka] final case class OffsetRange(partition: TopicPartition, from: Long, until: Long) {
  def size: Long = until - from

  /** Cuts into about equal, non-empty pieces. */
  def split(pieces: Long): Seq[OffsetRange] = {
    val count = math.max(1, math.min(pieces, size))
    (0L until count).map(i => OffsetRange(partition, from + size * i / count, from + size * (i + 1) / count))
  }
}

private[kafka] object OffsetRange {
  /** Which ranges become tasks: pieces of at most `maxRecords`, then more pieces of the large ones until there are about
    * `minPartitions`. Empty ranges need no task.
    */
  def divide(ranges: Seq[OffsetRange], minPartitions: Option[Int], maxRecords: Option[Long]): Seq[OffsetRange] = {
    val filled = ranges.filter(_.size > 0)
    val capped = maxRecords.fold(filled)(max => filled.flatMap(range => range.split((range.size + max - 1) / max)))
    minPartitions match {
      case Some(wanted) if wanted > capped.size =>
        val total = capped.map(_.size).sum.toDouble
        capped.flatMap(range => range.split(math.round(wanted * range.size / total)))
      case _ => capped
    }
  }

  /** Moves each end towards its start so that at most about `limit` records remain, shared out by what is waiting. */
  def limit(start: Map[TopicPartition, Long], end: Map[TopicPartition, Long], limit: Long): Map[TopicPartition, Long] = {
    val waiting = end.map { case (tp, until) => tp -> math.max(0L, until - start.getOrElse(tp, until)) }
    val total = waiting.values.sum
    if (total <= limit) end
    else end.map { case (tp, until) =>
      // Rounded up: a partition with little waiting is never passed over for good.
      val share = math.ceil(limit.toDouble * waiting(tp) / total).toLong
      tp -> math.min(until, start.getOrElse(tp, until) + share)
    }
  }
}
