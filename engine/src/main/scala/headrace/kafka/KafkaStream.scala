// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.{Map => JMap, Optional}

import scala.jdk.CollectionConverters._

import headrace.EpochSignal
import headrace.commit.{Delivery, ProgressPlan, Recorder, Recording, Resume}
import headrace.guard.{RealTimeDefaults, SlotLedger}
import headrace.observe.{Board, EpochLatency}
import org.apache.kafka.common.TopicPartition
import org.apache.spark.SparkEnv
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming._

/** The source of a streaming query: micro-batch, available-now and real-time mode on the same offsets. */
private[headrace] final class KafkaStream private[kafka] (options: SourceOptions, checkpoint: String)
    extends MicroBatchStream
    with SupportsTriggerAvailableNow
    with SupportsRealTimeMode
    with ReportsSourceMetrics {

  private val broker = new Broker(options)
  private val groupId = options.groupId("headrace-source")
  private val settings = ReaderSettings(
    options.consumer(groupId),
    options.includeHeaders,
    options.failOnDataLoss,
    options.pollTimeoutMs.getOrElse(SparkEnv.get.conf.getTimeAsMs("spark.network.timeout", "120s")))
  private val batches = new BatchPlanner(options, broker)
  private lazy val epochs = new EpochPlanner(options, broker, settings)
  private var realTime = false
  // In micro-batch mode.
  private var run = Option.empty[String]
  // Spark gives each source a folder of its own, two levels below the query's; the last of that name: folders above it
  // may be called so too.
  private val recorder = new Recorder(checkpoint.substring(0, checkpoint.lastIndexOf("/sources/")))
  // While progress is recorded.
  private var recording = Option.empty[ProgressPlan]
  // Of this run, in which progress is recorded.
  private var firstEpoch = Option.empty[Long]
  private val latency = new EpochLatency

  override def prepareForRealTimeMode(): Unit = {
    SourceOptions.checkRealTime(options)
    RealTimeDefaults.apply(SparkSession.active)
    realTime = true
  }

  override def prepareForTriggerAvailableNow(): Unit = batches.fixEnd()

  override def initialOffset(): Offset = {
    val log = new InitialOffsets(SparkSession.active, checkpoint)
    log.get(0L).getOrElse {
      val first = KafkaOffset(broker.resolve(options.starting.getOrElse(Bound.Latest), starting = true))
      log.add(0L, first)
      first
    }
  }

  override def getDefaultReadLimit: ReadLimit = batches.readLimit

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("Spark asks a source with admission control for latestOffset(start, limit)")

  override def latestOffset(start: Offset, limit: ReadLimit): Offset =
    // The end of an epoch is known when it has ended; asking for it now would cost a round trip between two epochs. A query
    // that is drained has no further batch.
    if (realTime || isDrained) start
    else batches.latest(KafkaOffset.of(start).offsets, limit).map(KafkaOffset(_)).orNull

  private def isDrained: Boolean = {
    run = EpochPlanner.currentRun()
    run.exists(EpochSignal.isDrained)
  }

  override def reportLatestOffset(): Offset = {
    val newest = if (realTime) epochs.latest else batches.newest
    if (newest.isEmpty) null else KafkaOffset(newest)
  }

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    batches.ranges(resumed(start, KafkaOffset.of(end).offsets), KafkaOffset.of(end).offsets)
      .map(range => RangePartition(range.partition, range.from, range.until, settings, isStatic = false): InputPartition)
      .toArray

  override def planInputPartitions(start: Offset): Array[InputPartition] =
    epochs.groups(resumed(start)).toArray

  /** Where to go on: not before what an earlier run has recorded, nor behind where a batch ends. */
  private def resumed(start: Offset, ends: Map[TopicPartition, Long] = Map.empty): Map[TopicPartition, Long] = {
    val starts = KafkaOffset.of(start).offsets
    val before = broker.ask(recorder.recordedBefore(_))
    if (!starts.exists { case (partition, at) => before.get(partition).exists(_.offset > at) }) starts
    else {
      Resume.from(starts, before, namedIds(), EpochPlanner.currentEpoch()._2).map { case (partition, offset) =>
        partition -> math.min(offset, ends.getOrElse(partition, Long.MaxValue))
      }
    }
  }

  /** Lets the tasks of the epoch that was just planned record progress, if that is possible here. */
  def recordProgress(
      sink: KafkaStreamingWrite,
      partitions: Seq[InputPartition],
      intervalMs: Long,
      isRealTime: Boolean): Unit = {
    val divided = partitions.collect { case range: RangePartition => range.partition }
    val found =
      if (divided.distinct.size < divided.size) Left("a partition is divided among tasks (minPartitions, maxRecordsPerPartition)")
      else broker.ask(recorder.noteFor(partitions.size, _, sink.producer, sink.delivery))
    recording = None
    found match {
      case Left(reason) if sink.isExactlyOnce => throw Delivery.refusal(reason)
      case Left(reason) => recorder.announce(s"Progress is committed at the end of each epoch: $reason.")
      case Right(note) =>
        val (run, epoch) = EpochPlanner.currentEpoch()
        firstEpoch = firstEpoch.orElse(Some(epoch))
        if (isRealTime) recorder.announce(
          s"${if (sink.isExactlyOnce) "Progress and results are" else "Progress is"} committed every $intervalMs ms, while " +
            "records flow.")
        if (isRealTime) Board.commitsEvery(run, intervalMs)
        val plan = ProgressPlan(
          note.id, run, epoch, intervalMs, topicIds(isRealTime), sink.delivery, isRealTime, recorder.earlierRuns)
        recording = Some(plan)
        sink.recordProgress(plan)
    }
  }

  private def topicIds(isRealTime: Boolean): Map[String, String] = if (isRealTime) epochs.topicIds else namedIds()

  private def namedIds() = broker.topics(lenient = true).map { case (name, topic) => name -> topic.id.toString }

  def recordsProgress: Boolean = recording.isDefined

  /** Whether the epoch that is being planned is the first one of its run. */
  def isInFirstEpoch: Boolean = firstEpoch.contains(EpochPlanner.currentEpoch()._2)

  def announce(message: String): Unit = {
    recording = None
    recorder.announce(message)
  }

  override def mergeOffsets(ends: Array[PartitionOffset]): Offset = {
    val told = ends.toSeq.collect { case end: TaskEnd => end }
    // What a run that stood still writes into Spark's log now would be in the way of its successor, and end it.
    if (told.exists(System.currentTimeMillis() - _.timeMs > Recording.StillMs))
      recording.foreach(plan => broker.ask(recorder.checkSuccessor(_, plan)))
    latency.take(told.flatMap(_.latency))
    KafkaOffset(epochs.merge(told))
  }

  override def createReaderFactory(): PartitionReaderFactory = ReaderFactory

  override def deserializeOffset(json: String): Offset = KafkaOffset(OffsetJson.readOffsets(json))

  override def commit(end: Offset): Unit = ()

  override def metrics(consumed: Optional[Offset]): JMap[String, String] = {
    val newest = if (realTime) epochs.latest else batches.newest
    val behind = for {
      offset <- Option(consumed.orElse(null)).toSeq
      (partition, at) <- KafkaOffset.of(offset).offsets
      latest <- newest.get(partition)
    } yield math.max(0L, latest - at)
    val lag =
      if (behind.isEmpty) Map.empty[String, String]
      else Map(
        "minOffsetsBehindLatest" -> behind.min.toString,
        "maxOffsetsBehindLatest" -> behind.max.toString,
        "avgOffsetsBehindLatest" -> (behind.sum.toDouble / behind.size).toString)
    (lag ++ latency.ofSource).asJava
  }

  override def stop(): Unit = {
    if (realTime) {
      epochs.close()
      run = epochs.run
      run.foreach(SlotLedger.release)
    }
    run.foreach(EpochSignal.forget)
    // In local mode the executor's consumers live here too; elsewhere they are closed when they have been idle.
    ConsumerPool.closeGroup(settings.consumer("group.id"))
    broker.close()
  }

  override def toString: String = s"Kafka[${options.subscription}]"
}
