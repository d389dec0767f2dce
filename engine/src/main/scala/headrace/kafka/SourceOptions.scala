// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.UUID
import java.util.regex.{Pattern, PatternSyntaxException}

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.common.serialization.ByteArrayDeserializer
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.slf4j.LoggerFactory

/** A reader's options, checked when the DataFrame is made, so that mistakes show before anything runs. */
private[kafka] final case class SourceOptions(
    subscription: Subscription,
    client: Map[String, String],
    groupIdPrefix: Option[String],
    includeHeaders: Boolean,
    failOnDataLoss: Boolean,
    pollTimeoutMs: Option[Long],
    offsetRetries: Int,
    offsetRetryMs: Long,
    partitionRefreshMs: Option[Long],
    minPartitions: Option[Int],
    maxPartitions: Option[Int],
    maxRecordsPerPartition: Option[Long],
    maxOffsetsPerTrigger: Option[Long],
    minOffsetsPerTrigger: Option[Long],
    maxTriggerDelayMs: Option[Long],
    starting: Option[Bound],
    ending: Option[Bound]) {

  /** The consumer's settings on the executors; what Spark owns cannot be set by the user (checked in `parse`).
    *
    * @param shared whether the consumer reads several partitions
    */
  def consumer(groupId: String, shared: Boolean = false): Map[String, String] =
    (if (shared) SourceOptions.SharedDefaults else SourceOptions.SingleDefaults) ++ client ++ Map(
      ConsumerConfig.GROUP_ID_CONFIG -> client.getOrElse(ConsumerConfig.GROUP_ID_CONFIG, groupId),
      ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG -> classOf[ByteArrayDeserializer].getName,
      ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG -> classOf[ByteArrayDeserializer].getName,
      // An offset that is gone must be reported, never silently replaced by another.
      ConsumerConfig.AUTO_OFFSET_RESET_CONFIG -> "none",
      ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG -> "false",
      ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG -> "false")

  def groupId(default: String): String = s"${groupIdPrefix.getOrElse(default)}-${UUID.randomUUID()}"

  // The client's settings hold secrets.
  override def toString: String = s"SourceOptions($subscription)"
}

private[kafka] object SourceOptions {
  /** The broker answers a fetch as soon as one record is there, so for a single partition the wait costs no latency. */
  private val SingleDefaults = Map(
    ConsumerConfig.FETCH_MIN_BYTES_CONFIG -> "1",
    ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG -> "100")

  /** Kafka's consumer has one fetch under way per broker: while it waits for an idle partition, new records of a busy one
    * stay at the broker, and a large fetch of a busy one goes before the others. Short waits and small pieces bound both.
    */
  private val SharedDefaults = SingleDefaults ++ Map(
    ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG -> "10",
    ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG -> "65536")

  private val log = LoggerFactory.getLogger("headrace.kafka.SourceOptions")

  val Strategies = Seq("subscribe", "subscribePattern", "assign")

  private val OwnedByUs = Seq(
    "auto.offset.reset" -> "where to start is set with 'startingOffsets', and progress is kept in the checkpoint.",
    "enable.auto.commit" -> "progress is kept in the checkpoint.",
    "key.deserializer" -> "keys arrive as bytes; use DataFrame operations to decode them.",
    "value.deserializer" -> "values arrive as bytes; use DataFrame operations to decode them.",
    "interceptor.classes" -> "an interceptor could change records behind Spark's back.")

  def parse(raw: CaseInsensitiveStringMap): SourceOptions = {
    ApplicationSettings.check()
    val options = new Options(raw)
    OwnedByUs.foreach { case (name, reason) => options.refuse(s"kafka.$name", reason) }
    options.checkClient(ConsumerConfig.configDef())
    val minOffsets = options.positive("minOffsetsPerTrigger")
    val maxOffsets = options.positive("maxOffsetsPerTrigger")
    for (min <- minOffsets; max <- maxOffsets if min > max)
      throw Options.invalid("minOffsetsPerTrigger", min.toString, s"at most maxOffsetsPerTrigger ($max)")
    SourceOptions(
      subscription = subscription(options),
      client = options.client,
      groupIdPrefix = options.get("groupIdPrefix"),
      includeHeaders = options.boolean("includeHeaders", default = false),
      failOnDataLoss = options.boolean("failOnDataLoss", default = true),
      pollTimeoutMs = options.positive("kafkaConsumer.pollTimeoutMs"),
      offsetRetries = options.positiveInt("fetchOffset.numRetries").getOrElse(3),
      offsetRetryMs = options.long("fetchOffset.retryIntervalMs").map { ms =>
        if (ms >= 0) ms else throw Options.invalid("fetchOffset.retryIntervalMs", ms.toString, "milliseconds, not negative")
      }.getOrElse(10L),
      partitionRefreshMs = options.long("partition.metadata.cache.ttl.ms").filter(_ != -1).map { ms =>
        if (ms > 0) ms
        else throw Options.invalid("partition.metadata.cache.ttl.ms", ms.toString, "positive milliseconds, or -1")
      },
      minPartitions = options.positiveInt("minPartitions"),
      maxPartitions = options.positiveInt("maxPartitions"),
      maxRecordsPerPartition = options.positive("maxRecordsPerPartition"),
      maxOffsetsPerTrigger = maxOffsets,
      minOffsetsPerTrigger = minOffsets,
      maxTriggerDelayMs = options.get("maxTriggerDelay").map(duration("maxTriggerDelay", _)),
      starting = bound(options, "starting"),
      ending = bound(options, "ending"))
  }

  private def subscription(options: Options): Subscription = Strategies.filter(options.contains) match {
    case Seq("subscribe") =>
      val text = options.require("subscribe")
      val topics = text.split(",").map(_.trim).filter(_.nonEmpty).toSet
      if (topics.isEmpty) throw Options.invalid("subscribe", text, "a comma-separated list of topics")
      Subscription.Topics(topics)
    case Seq("subscribePattern") =>
      val text = options.require("subscribePattern")
      try Subscription.Matching(Pattern.compile(text))
      catch {
        case e: PatternSyntaxException =>
          throw Options.invalid("subscribePattern", text, s"a Java regular expression (${e.getDescription})")
      }
    case Seq("assign") => Subscription.Assigned(OffsetJson.readPartitions(options.require("assign"), "assign"))
    case Seq() => throw Options.invalid("subscribe", "", s"set: one of ${Strategies.mkString(", ")} says what to read")
    case several => throw Options.invalid(several.last, "set", s"left out, because '${several.head}' is set as well")
  }

  /** Precedence as in Spark's guide: one timestamp for all, then timestamps by partition, then offsets. */
  private def bound(options: Options, side: String): Option[Bound] = {
    val latestIfNone = options.get("startingOffsetsByTimestampStrategy").map(_.toLowerCase) match {
      case None | Some("error") => false
      case Some("latest") => true
      case Some(other) => throw Options.invalid("startingOffsetsByTimestampStrategy", other, "error or latest")
    }
    val byTimestamp = s"${side}OffsetsByTimestamp"
    options.long(s"${side}Timestamp").map(Bound.Timestamp(_, latestIfNone))
      .orElse(options.get(byTimestamp)
        .map(json => Bound.Timestamps(OffsetJson.readOffsets(json, byTimestamp), latestIfNone)))
      .orElse(options.get(s"${side}Offsets").map { text =>
        text.toLowerCase match {
          case "earliest" => Bound.Earliest
          case "latest" => Bound.Latest
          case _ => Bound.Offsets(OffsetJson.readOffsets(text, s"${side}Offsets"))
        }
      })
  }

  private def duration(name: String, text: String): Long =
    try JavaUtils.timeStringAsMs(text)
    catch { case _: NumberFormatException => throw Options.invalid(name, text, "a time with its unit, e.g. 15m") }

  /** What a streaming query cannot have. */
  def checkStreaming(options: SourceOptions): SourceOptions = {
    options.ending.foreach { bound =>
      val name = bound match {
        case _: Bound.Timestamp => "endingTimestamp"
        case _: Bound.Timestamps => "endingOffsetsByTimestamp"
        case _ => "endingOffsets"
      }
      throw Options.invalid(name, "set", "left out: a streaming query has no end; use availableNow instead")
    }
    options
  }

  /** What a batch read cannot have: it needs a fixed beginning and end. */
  def checkBatch(options: SourceOptions): SourceOptions = {
    val pace = Seq(
      "maxOffsetsPerTrigger" -> options.maxOffsetsPerTrigger,
      "minOffsetsPerTrigger" -> options.minOffsetsPerTrigger,
      "maxTriggerDelay" -> options.maxTriggerDelayMs)
    pace.foreach { case (name, value) =>
      // As Spark's connector does: the same options often serve a stream and a batch read of the same topic.
      if (value.isDefined) log.warn("The option {} has no meaning for a batch read and is ignored.", name)
    }
    options.starting.foreach {
      case Bound.Latest => throw Options.invalid("startingOffsets", "latest", "earliest or offsets for a batch read")
      case Bound.Offsets(offsets) if offsets.values.exists(_ == Bound.FromLatest) =>
        throw Options.invalid("startingOffsets", "-1 (latest)", "an offset or -2 (earliest) for a batch read")
      case _ =>
    }
    options.ending.foreach {
      case Bound.Earliest => throw Options.invalid("endingOffsets", "earliest", "latest or offsets for a batch read")
      case Bound.Offsets(offsets) if offsets.values.exists(_ == Bound.FromEarliest) =>
        throw Options.invalid("endingOffsets", "-2 (earliest)", "an offset or -1 (latest) for a batch read")
      case _ =>
    }
    options
  }

  /** What real-time mode cannot honour: an epoch ends by time, not by offsets, and a partition is never split. */
  def checkRealTime(options: SourceOptions): Unit = {
    def refuse(name: String, set: Boolean, instead: String): Unit =
      if (set) throw Options.invalid(name, "set", s"left out in real-time mode: $instead")
    refuse("maxOffsetsPerTrigger", options.maxOffsetsPerTrigger.isDefined, "an epoch is ended by its duration")
    refuse("minOffsetsPerTrigger", options.minOffsetsPerTrigger.isDefined, "records are not waited for in groups")
    refuse("maxTriggerDelay", options.maxTriggerDelayMs.isDefined, "records are not waited for in groups")
    refuse("minPartitions", options.minPartitions.isDefined, "a partition is read by one task; see maxPartitions")
    refuse("maxRecordsPerPartition", options.maxRecordsPerPartition.isDefined, "a partition is read by one task")
  }
}
