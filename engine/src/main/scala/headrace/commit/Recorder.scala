// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import java.util.concurrent.ExecutionException

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try, Using}

import org.apache.kafka.clients.admin.{Admin, AdminClientConfig, DescribeClusterOptions, DescribeFeaturesOptions, FenceProducersOptions}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.AuthorizationException
import org.apache.spark.sql.classic.SparkSession
import org.slf4j.LoggerFactory

/** What the driver does for progress inside epochs, for one run of a query.
  *
  * @param checkpoint the folder of the whole query
  */
private[headrace] final class Recorder(checkpoint: String) {
  import Recorder._

  private var announced = Set.empty[String]
  private var refused: Option[String] = None
  private var checked = false
  private var before: Option[Map[TopicPartition, OffsetAndMetadata]] = None
  private var unknown = false

  def announce(message: String): Unit = if (!announced(message)) {
    announced += message
    log.info(message)
  }

  /** What an earlier run has recorded beside this checkpoint. Whoever may still record is stopped first, unless the
    * checkpoint is a copy: then it is somebody else's.
    */
  def recordedBefore(admin: Admin): Map[TopicPartition, OffsetAndMetadata] = before.getOrElse {
    val found = ProgressLog.lastOf(SparkSession.active, checkpoint).fold(NoOffsets)(recordedBefore(admin, _))
    before = Some(found)
    found
  }

  private def recordedBefore(admin: Admin, note: ProgressNote): Map[TopicPartition, OffsetAndMetadata] =
    try {
      if (note.location == checkpoint) fence(admin, note)
      Resume.recorded(admin, ProgressPlan.group(note.id))
    } catch {
      // The source may have another user than the sink, whose tasks fence and ask again.
      case denied: ExecutionException if denied.getCause.isInstanceOf[AuthorizationException] =>
        unknown = true
        log.warn(
          "The user of the source may not see what an earlier run has recorded ({}). Tasks that record progress ask " +
            "themselves; others go on at the checkpoint's offsets, and may repeat what was recorded since.",
          denied.getCause.getMessage)
        NoOffsets
    }

  /** The runs that have recorded something before this one began, if that is known. Any other run is a later one. */
  def earlierRuns: Option[Set[String]] =
    if (unknown) None else before.map(_.values.flatMap(Stamp.of).map(_.run).toSet)

  /** Refuses to end an epoch beside another run that has taken over; brokers that do not answer cannot tell. */
  def checkSuccessor(admin: Admin, plan: ProgressPlan): Unit = for {
    before <- before if !unknown
    recorded <- Try(Resume.recorded(admin, plan.group, stable = false)).toOption
    stamp <- Successor.among(recorded, before, plan)
  } throw Successor.takenOver(stamp)

  private def fence(admin: Admin, note: ProgressNote): Unit =
    if (note.tasks > 0)
      admin.fenceProducers(note.transactionalIds.asJava, new FenceProducersOptions().timeoutMs(AskMs)).all().get(): Unit

  /** The note under which so many tasks record; none, and why, if they cannot. */
  def noteFor(
      tasks: Int,
      source: Admin,
      sink: Map[String, String],
      delivery: Delivery): Either[String, ProgressNote] = {
    val notes = new ProgressLog(SparkSession.active, checkpoint)
    val note = notes.forTasks(tasks)
    if (!checked) {
      refused = Using.resource(adminOf(sink))(against(note, source, _, delivery))
      checked = true
    }
    // Kept only where it counts: the next start would look for what was never recorded.
    refused.toLeft(notes.keep(note))
  }

  private def against(note: ProgressNote, source: Admin, sink: Admin, delivery: Delivery): Option[String] = {
    def cluster(admin: Admin) = admin.describeCluster(new DescribeClusterOptions().timeoutMs(AskMs)).clusterId().get()
    Try {
      if (cluster(source) != cluster(sink)) Some("the records are read from one cluster and written to another")
      else {
        fence(sink, note)
        if (delivery == Delivery.ExactlyOnce) unsafe(sink) else None
      }
    } match {
      case Success(reason) => reason
      case Failure(failed) => failed.getCause match {
          case denied: AuthorizationException =>
            Some(s"the user of the sink may not use the transactional ids headrace-* (${denied.getMessage})")
          case cause => Some(s"the brokers of the sink do not serve transactions ($cause)")
        }
    }
  }

  /** Before KIP-890, a send that was late could end up in a transaction that was over, or in the next one. */
  private def unsafe(admin: Admin): Option[String] = {
    val features = admin.describeFeatures(new DescribeFeaturesOptions().timeoutMs(AskMs)).featureMetadata().get().finalizedFeatures().asScala
    val version = features.get(TransactionVersion).fold(0)(_.maxVersionLevel().toInt)
    Option.when(version < SafeVersion)(
      s"the brokers have $TransactionVersion $version, and transactions are safe from $SafeVersion on (Kafka 4.0 or later, " +
        s"kafka-features.sh upgrade --feature $TransactionVersion=$SafeVersion)")
  }
}

private object Recorder {
  private val NoOffsets = Map.empty[TopicPartition, OffsetAndMetadata]
  private val TransactionVersion = "transaction.version"
  private val SafeVersion = 2
  private val AskMs = 10000
  private val log = LoggerFactory.getLogger("headrace.commit")

  private def adminOf(settings: Map[String, String]): Admin = Admin.create(
    settings.filter { case (name, _) => AdminClientConfig.configNames().contains(name) }
      .asJava.asInstanceOf[java.util.Map[String, AnyRef]])
}
