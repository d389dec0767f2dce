// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.concurrent.{ExecutionException, TimeUnit}

import scala.jdk.CollectionConverters._

import headrace.HeadraceException
import org.apache.kafka.clients.CommonClientConfigs
import org.apache.kafka.clients.admin.{Admin, AdminClientConfig, ListOffsetsOptions, OffsetSpec, TopicDescription}
import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.common.{IsolationLevel, KafkaException, TopicPartition, Uuid}
import org.apache.kafka.common.errors.{AuthenticationException, AuthorizationException, InvalidTopicException, RetriableException, TimeoutException, UnknownTopicOrPartitionException}

/** What the driver asks the brokers: which partitions there are, and their offsets. */
private[kafka] final class Broker(options: SourceOptions) extends AutoCloseable {
  import Broker._

  private val isolation = options.client.get(ConsumerConfig.ISOLATION_LEVEL_CONFIG)
    .filter(_.equalsIgnoreCase("read_committed"))
    .fold(IsolationLevel.READ_UNCOMMITTED)(_ => IsolationLevel.READ_COMMITTED)

  private var opened = false

  private def adminSettings: Map[String, String] =
    AdminDefaults ++ options.client.filter { case (name, _) => AdminClientConfig.configNames().contains(name) }

  private lazy val admin: Admin = {
    val created = Admin.create(adminSettings.asJava.asInstanceOf[java.util.Map[String, AnyRef]])
    opened = true
    created
  }

  /** Asks what no method here asks. */
  def ask[T](question: Admin => T): T = asking(question(admin))

  /** The partitions that exist now, with the identity of their topic; missing topics are left out if `lenient`. */
  def topics(lenient: Boolean = false): Map[String, Topic] = asking {
    val names = options.subscription match {
      case Subscription.Topics(names) => names
      case Subscription.Assigned(partitions) => partitions.map(_.topic)
      // Anywhere in the name, as Spark's connector does it; Kafka's own consumer wants the whole name to match.
      case Subscription.Matching(pattern) =>
        admin.listTopics().names().get().asScala.filter(name => pattern.matcher(name).find()).toSet
    }
    val answers = admin.describeTopics(names.asJavaCollection).topicNameValues().asScala
    answers.flatMap { case (name, answer) =>
      try Some(name -> topic(answer.get(), lenient))
      catch {
        case e: ExecutionException if isMissing(e.getCause) =>
          // A topic that matched a pattern a moment ago and is gone now is no error.
          if (lenient || options.subscription.isInstanceOf[Subscription.Matching]) None
          else throw topicNotFound(name)
      }
    }.toMap
  }

  private def isMissing(cause: Throwable): Boolean = cause match {
    // The second is what brokers say of a name that no topic can have.
    case _: UnknownTopicOrPartitionException | _: InvalidTopicException => true
    case _ => false
  }

  private def topic(description: TopicDescription, lenient: Boolean): Topic = {
    val existing = description.partitions().asScala.map(p => new TopicPartition(description.name(), p.partition())).toSet
    val wanted = options.subscription match {
      case Subscription.Assigned(partitions) => partitions.filter(_.topic == description.name())
      case _ => existing
    }
    if (!lenient) (wanted -- existing).headOption.foreach(missing => throw partitionNotFound(missing))
    Topic(description.topicId(), wanted.intersect(existing))
  }

  def partitions(): Set[TopicPartition] = Broker.partitions(topics())

  /** What was `seen`, if `expected` is part of it. Right after a broker's restart a topic can seem to be missing, so a
    * loss is believed only when it stays so.
    */
  def confirm(expected: Set[TopicPartition], seen: Map[String, Topic]): Map[String, Topic] = {
    def complete(topics: Map[String, Topic]) = (expected -- Broker.partitions(topics)).isEmpty
    var topics = seen
    var attempt = 0
    while (!complete(topics) && attempt < ConfirmTimes) {
      TimeUnit.MILLISECONDS.sleep(ConfirmEveryMs)
      topics = this.topics(lenient = true)
      attempt += 1
    }
    topics
  }

  def earliest(partitions: Set[TopicPartition]): Map[TopicPartition, Long] = list(partitions, _ => OffsetSpec.earliest())

  def latest(partitions: Set[TopicPartition]): Map[TopicPartition, Long] = list(partitions, _ => OffsetSpec.latest())

  /** Turns what the user wrote into offsets; `starting` decides what a timestamp without a record means. */
  def resolve(bound: Bound, starting: Boolean): Map[TopicPartition, Long] = {
    val existing = partitions()
    bound match {
      case Bound.Earliest => earliest(existing)
      case Bound.Latest => latest(existing)
      case Bound.Offsets(asked) =>
        checkComplete(asked.keySet, existing)
        val marked = asked.filter { case (_, offset) => offset < 0 }.keySet
        val (fromEarliest, fromLatest) = marked.partition(asked(_) == Bound.FromEarliest)
        asked ++ earliest(fromEarliest) ++ latest(fromLatest)
      case Bound.Timestamps(asked, latestIfNone) =>
        checkComplete(asked.keySet, existing)
        atTime(asked, latestIfNone || !starting)
      case Bound.Timestamp(time, latestIfNone) =>
        atTime(existing.map(_ -> time).toMap, latestIfNone || !starting)
    }
  }

  private def atTime(times: Map[TopicPartition, Long], latestIfNone: Boolean): Map[TopicPartition, Long] = {
    val found = list(times.keySet, tp => OffsetSpec.forTimestamp(times(tp)))
    val (none, some) = found.partition { case (_, offset) => offset < 0 }
    if (none.nonEmpty && !latestIfNone) {
      val (tp, _) = none.head
      throw new HeadraceException(
        "KAFKA_NO_RECORD_AT_TIMESTAMP",
        s"Partition $tp has no record at or after timestamp ${times(tp)}. Nothing was read. Use an earlier timestamp, or " +
          "option startingOffsetsByTimestampStrategy=latest to begin at the end there.",
        Map("partition" -> tp.toString, "timestamp" -> times(tp).toString))
    }
    some ++ latest(none.keySet)
  }

  private def checkComplete(asked: Set[TopicPartition], existing: Set[TopicPartition]): Unit =
    if (asked != existing) {
      val missing = (existing -- asked).map(_.toString).toSeq.sorted
      val unknown = (asked -- existing).map(_.toString).toSeq.sorted
      throw new HeadraceException(
        "KAFKA_OFFSETS_INCOMPLETE",
        "Offsets by partition must name exactly the partitions that are read. " +
          s"Missing: ${missing.mkString("[", ", ", "]")}; not read: ${unknown.mkString("[", ", ", "]")}. Nothing was read. " +
          "Name each partition; use -2 for its earliest and -1 for its latest offset.")
    }

  /** The answer for those partitions that are still there when it comes.
    *
    * A partition that is deleted at this moment never has one, and Kafka's client would go on asking for it until its
    * time is over and call that a timeout. So it is asked in short attempts, and between them what is gone is left out.
    */
  private def list(partitions: Set[TopicPartition], spec: TopicPartition => OffsetSpec): Map[TopicPartition, Long] = {
    val deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(apiTimeoutMs)
    var left = partitions
    var answer: Option[Map[TopicPartition, Long]] = None
    while (answer.isEmpty)
      try answer = Some(if (left.isEmpty) Map.empty else listOnce(left, spec))
      catch {
        case e: HeadraceException if e.getCondition == "KAFKA_UNREACHABLE" && System.nanoTime() < deadline =>
          left = left.intersect(Broker.partitions(topics(lenient = true)))
      }
    answer.get
  }

  private def listOnce(partitions: Set[TopicPartition], spec: TopicPartition => OffsetSpec): Map[TopicPartition, Long] =
    asking {
      val query = partitions.map(tp => tp -> spec(tp)).toMap.asJava
      val attempt = new ListOffsetsOptions(isolation).timeoutMs(math.min(apiTimeoutMs, AttemptMs))
      admin.listOffsets(query, attempt).all().get().asScala.map { case (tp, info) => tp -> info.offset() }.toMap
    }

  private def apiTimeoutMs: Int = adminSettings(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG).toInt

  /** Retries what may pass, and says clearly what will not. */
  private def asking[T](question: => T): T = {
    var attempt = 1
    while (true) {
      try return question
      catch {
        case e: ExecutionException => e.getCause match {
            case timeout: TimeoutException => throw unreachable(timeout)
            case denied @ (_: AuthenticationException | _: AuthorizationException) => throw refused(denied)
            case _: RetriableException if attempt < options.offsetRetries =>
              attempt += 1
              TimeUnit.MILLISECONDS.sleep(options.offsetRetryMs)
            case cause => throw unreachable(cause)
          }
        case e: KafkaException if !e.isInstanceOf[RetriableException] => throw unreachable(e)
      }
    }
    throw new IllegalStateException("unreachable: the loop above returns or throws")
  }

  private def servers: String = options.client.getOrElse(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, "")

  private def topicNotFound(name: String) = new HeadraceException(
    "KAFKA_TOPIC_NOT_FOUND",
    s"Topic '$name' does not exist on $servers. Nothing was read. Create it (headrace topics create $name) or correct " +
      "the option 'subscribe' or 'assign'.",
    Map("topic" -> name, "servers" -> servers))

  private def partitionNotFound(tp: TopicPartition) = new HeadraceException(
    "KAFKA_PARTITION_NOT_FOUND",
    s"Topic '${tp.topic}' has no partition ${tp.partition} on $servers. Nothing was read. Correct the option 'assign'.",
    Map("topic" -> tp.topic, "partition" -> tp.partition.toString))

  private def unreachable(cause: Throwable) = new HeadraceException(
    "KAFKA_UNREACHABLE",
    s"The Kafka brokers at $servers did not answer (${cause.getMessage}). Nothing was read; progress in the checkpoint is " +
      "untouched. Check that they run and that kafka.bootstrap.servers and the security options are right, then start again.",
    Map("servers" -> servers),
    cause)

  private def refused(cause: Throwable) = new HeadraceException(
    "KAFKA_ACCESS_DENIED",
    s"The Kafka brokers at $servers refused access (${cause.getMessage}). Nothing was read. Check the kafka.sasl.*, " +
      "kafka.ssl.* options and the rights of this user.",
    Map("servers" -> servers),
    cause)

  override def close(): Unit = if (opened) admin.close(java.time.Duration.ofSeconds(1))
}

private[kafka] object Broker {
  final case class Topic(id: Uuid, partitions: Set[TopicPartition])

  def partitions(topics: Map[String, Topic]): Set[TopicPartition] = topics.values.flatMap(_.partitions).toSet

  private val AttemptMs = 3000
  private val ConfirmTimes = 5
  private val ConfirmEveryMs = 500L

  /** Kafka would wait a minute for brokers that are not there; nobody wants that before the first error. */
  private val AdminDefaults = Map(
    AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG -> "15000",
    AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG -> "10000")
}
