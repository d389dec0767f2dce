// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.concurrent.TimeUnit

import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.connector.read.streaming.{CompositeReadLimit, ReadAllAvailable, ReadLimit, ReadMaxRows, ReadMinRows}

/** Which offsets a micro-batch covers. */
private[kafka] final class BatchPlanner(options: SourceOptions, broker: Broker) {
  private val maxTriggerDelayMs = options.maxTriggerDelayMs.getOrElse(TimeUnit.MINUTES.toMillis(15))
  private var fixed: Option[Map[TopicPartition, Long]] = None
  private var fixWanted = false
  private var lastBatchMs = 0L
  private var known: Map[TopicPartition, Long] = Map.empty
  private var listed: Set[TopicPartition] = Set.empty
  private var listedNanos = 0L

  /** Available-now: what is there at the first look is all there will be. */
  def fixEnd(): Unit = fixWanted = true

  def newest: Map[TopicPartition, Long] = known

  def readLimit: ReadLimit = {
    val min = options.minOffsetsPerTrigger.map(ReadLimit.minRows(_, maxTriggerDelayMs))
    val max = options.maxOffsetsPerTrigger.map(ReadLimit.maxRows)
    (min.toSeq ++ max) match {
      case Seq() => ReadLimit.allAvailable()
      case Seq(one) => one
      case both => ReadLimit.compositeLimit(both.toArray)
    }
  }

  /** The end of the next batch; None when there is no partition to read. */
  def latest(start: Map[TopicPartition, Long], limit: ReadLimit): Option[Map[TopicPartition, Long]] = {
    known = fixed.getOrElse(fetchLatest(start))
    if (fixWanted && fixed.isEmpty) fixed = Some(known)
    val limits = limit match {
      case several: CompositeReadLimit => several.getReadLimits.toSeq
      case one => Seq(one)
    }
    val begin = start ++ broker.earliest(known.keySet -- start.keySet)
    val end =
      if (limits.exists(_.isInstanceOf[ReadAllAvailable])) known
      else if (!fixWanted && limits.exists { case min: ReadMinRows => tooFew(begin, min.minRows); case _ => false }) start
      else limits.collectFirst { case max: ReadMaxRows => OffsetRange.limit(begin, known, max.maxRows) }.getOrElse(known)
    if (end ne start) lastBatchMs = System.currentTimeMillis()
    // Even when every topic is gone there is a next batch: the one that says so.
    Option.when(end.nonEmpty || start.nonEmpty)(end)
  }

  private def tooFew(begin: Map[TopicPartition, Long], minRows: Long): Boolean =
    System.currentTimeMillis() - lastBatchMs < maxTriggerDelayMs &&
      known.map { case (tp, until) => until - begin.getOrElse(tp, until) }.sum < minRows

  /** A broker that has just become leader may answer with too old an end (KAFKA-7703); asking again is enough then. */
  private def fetchLatest(start: Map[TopicPartition, Long]): Map[TopicPartition, Long] = {
    val partitions = existing(start.keySet)
    def wentBack(latest: Map[TopicPartition, Long]) = latest.exists { case (tp, end) => start.get(tp).exists(_ > end) }
    val answers = Iterator.continually(broker.latest(partitions)).take(options.offsetRetries)
    var answer = answers.next()
    while (wentBack(answer) && answers.hasNext) {
      TimeUnit.MILLISECONDS.sleep(options.offsetRetryMs)
      answer = answers.next()
    }
    answer
  }

  /** The partitions that are there, asked anew only when the answer is older than `partition.metadata.cache.ttl.ms`. */
  private def existing(expected: Set[TopicPartition]): Set[TopicPartition] = {
    val now = System.nanoTime()
    val fresh = options.partitionRefreshMs.exists(ms => now - listedNanos < TimeUnit.MILLISECONDS.toNanos(ms))
    if (listed.isEmpty || !fresh) {
      listed = Broker.partitions(broker.confirm(expected, broker.topics(lenient = true)))
      listedNanos = now
    }
    listed
  }

  def ranges(start: Map[TopicPartition, Long], end: Map[TopicPartition, Long]): Seq[OffsetRange] = {
    val gone = start.keySet -- end.keySet
    if (gone.nonEmpty) DataLoss.report(options.failOnDataLoss, s"Partitions ${gone.mkString(", ")} are gone with unread records, if any.")
    val begin = start ++ Added.earliest(broker, options, end.keySet -- start.keySet)
    val ranges = end.toSeq.sortBy { case (tp, _) => (tp.topic, tp.partition) }.map { case (tp, until) =>
      // One that was deleted since its end was asked for has no beginning any more; the next batch says so.
      val from = begin.getOrElse(tp, until)
      if (until < from)
        DataLoss.report(
          options.failOnDataLoss,
          s"Partition $tp ends at offset $until, before offset $from that was read already: its topic was created anew, or " +
            "its log was cut.")
      OffsetRange(tp, from, until)
    }
    OffsetRange.divide(ranges, options.minPartitions, options.maxRecordsPerPartition)
  }
}

/** Partitions that appear while a query lives are read from their first record. */
private[kafka] object Added {
  def earliest(broker: Broker, options: SourceOptions, added: Set[TopicPartition]): Map[TopicPartition, Long] = {
    val offsets = broker.earliest(added)
    offsets.foreachEntry { (tp, offset) =>
      if (offset != 0)
        DataLoss.report(options.failOnDataLoss, s"The new partition $tp begins at offset $offset instead of 0.")
    }
    offsets
  }
}
