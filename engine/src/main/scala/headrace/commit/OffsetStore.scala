// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import java.time.Duration
import java.util.concurrent.ExecutionException

import scala.annotation.{nowarn, tailrec}
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Try, Using}

import headrace.HeadraceException
import org.apache.kafka.clients.admin.{Admin, AdminClientConfig}
import org.apache.kafka.clients.consumer.{ConsumerGroupMetadata, OffsetAndMetadata}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerConfig}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{InvalidProducerEpochException, InvalidTxnStateException, ProducerFencedException, TimeoutException}
import org.apache.spark.TaskContext
import org.slf4j.LoggerFactory

/** What a task has recorded, in Kafka: offsets of a group that belongs to its query alone, written in transactions. From
  * the moment it has a producer, no earlier task of the same number can write anything in one, but through the same.
  *
  * @param settings of the sink's producer
  */
private[commit] final class OffsetStore(plan: ProgressPlan, settings: Map[String, String], task: TaskContext) {
  import OffsetStore._

  // Kafka would rather be told by a consumer of the group; this group has none.
  @nowarn("cat=deprecation") private val group = new ConsumerGroupMetadata(plan.group)
  // What stood there when the task began: partitions to which nothing came bear the stamps of earlier runs.
  @volatile private var before = Map.empty[TopicPartition, OffsetAndMetadata]
  private val transactionalId = plan.transactionalId(task.partitionId())
  // Only a first attempt: before another one somebody else may have had the place, and have recorded something.
  private val inherited =
    if (task.attemptNumber() > 0 || task.stageAttemptNumber() > 0) None
    else Relay.take(Relay.Key(transactionalId, plan.run, plan.epoch))
  private var hasBegun = inherited.isDefined
  @volatile private var usedNanos = inherited.fold(System.nanoTime())(_.usedNanos)
  inherited.foreach(accept)

  /** After a while between two epochs in which another run may have taken over, that is asked first. */
  private def accept(baton: Relay.Baton): Unit = {
    before = baton.before
    if (baton.ageMs > Recording.StillMs)
      try checkSuccessor()
      catch {
        case e: Throwable =>
          close(baton.producer, Duration.ZERO)
          throw e
      }
  }

  /** The producer of the task that ended where this one begins, ready for a transaction. */
  def inheritance: Option[Producer] = inherited.map(_.producer)

  /** Leaves a producer without a transaction to the next epoch, if there will be one. Not one that was idle for long: the
    * brokers forget it after a week, by default.
    */
  def bequeath(producer: Producer, offsets: Map[TopicPartition, Long]): Unit =
    if (task.isInterrupted() || System.nanoTime() - usedNanos > LongestIdleNanos) close(producer, Duration.ZERO)
    else Relay.pass(Relay.Key(transactionalId, plan.run, plan.epoch), Relay.Baton(producer, offsets, before, usedNanos))

  /** A new producer: its transactions are still to be initialised, and that will shut out whoever has the place. A run that
    * was replaced, in a task that is tried again or after it stood still, must not: the other has every right to be there.
    */
  def create(own: Map[String, String]): Producer = {
    if (hasBegun || plan.earlierRuns.isDefined) checkSuccessor()
    hasBegun = true
    log.info("Opening a producer for {}", transactionalId)
    val needed = Map(
      ProducerConfig.TRANSACTIONAL_ID_CONFIG -> transactionalId,
      ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG -> "true",
      ProducerConfig.ACKS_CONFIG -> "all")
    new Producer((Prompt ++ settings ++ own ++ needed).asJava.asInstanceOf[java.util.Map[String, AnyRef]])
  }

  /** Adds offsets to the producer's transaction. */
  def put(producer: Producer, offsets: Map[TopicPartition, Long]): Unit = {
    usedNanos = System.nanoTime()
    producer.sendOffsetsToTransaction(
      offsets.map { case (partition, offset) =>
        partition -> new OffsetAndMetadata(offset, plan.stamp(partition.topic).json)
      }.asJava,
      group)
  }

  /** Whether the task begins where the one before it, whose producer it has, recorded its end. */
  def continues(starts: Map[TopicPartition, Long]): Boolean = inherited.exists(_.offsets == starts)

  /** Where the task goes on; to be asked after the fence, by every attempt. */
  def resume(starts: Map[TopicPartition, Long]): Map[TopicPartition, Long] = if (continues(starts)) starts else {
    val recorded = persistently(false)(read())
    before = recorded
    val later = recorded.values.flatMap(Stamp.of).find(stamp => stamp.run == plan.run && stamp.epoch > plan.epoch)
    later.foreach(stamp => throw tooLate(stamp))
    Resume.from(starts, recorded, plan.topicIds, plan.epoch)
  }

  /** An attempt that Spark has given up long ago must not go on beside those who have its partitions now. */
  private def tooLate(stamp: Stamp) = new HeadraceException(
    "PROGRESS_NOT_RECORDED",
    s"This task belongs to epoch ${plan.epoch}, and epoch ${stamp.epoch} of the same run has recorded progress already. It " +
      "reads and writes nothing.",
    Map("group" -> plan.group))

  private def read(stable: Boolean = true): Map[TopicPartition, OffsetAndMetadata] = {
    val admin = (Prompt ++ settings).filter { case (name, _) => AdminClientConfig.configNames().contains(name) }
    Using.resource(Admin.create(admin.asJava.asInstanceOf[java.util.Map[String, AnyRef]]))(
      Resume.recorded(_, plan.group, stable))
  }

  /** What to say of a transaction that failed: who has taken over, if somebody has.
    *
    * @param otherwise the error if nobody has, from the reason
    */
  def failure(cause: Throwable)(otherwise: String => HeadraceException): HeadraceException =
    if (!isFenced(cause)) otherwise(cause.getMessage)
    else knownSuccessor.map(Successor.takenOver(_, cause)).getOrElse(otherwise(
      "the brokers have ended the transaction: they heard nothing of this task for too long, or another run has started and " +
        "recorded nothing yet"))

  /** Refuses to go on beside another run. */
  def checkSuccessor(): Unit = persistently(false)(successor()).foreach(stamp => throw Successor.takenOver(stamp))

  /** Whether another run is known to have taken over; brokers that are away cannot tell. */
  def hasSuccessor: Boolean = knownSuccessor.isDefined

  private def knownSuccessor: Option[Stamp] = Try(successor()).toOption.flatten

  /** Whether the brokers know of a later producer: of another run, or only because they gave up a transaction of ours. */
  def isFenced(cause: Throwable): Boolean = Iterator.iterate(cause)(_.getCause).takeWhile(_ != null).exists {
    // The last one is what a producer is told that is just one behind.
    case _: ProducerFencedException | _: InvalidProducerEpochException | _: InvalidTxnStateException => true
    case _ => false
  }

  private def successor(): Option[Stamp] = Successor.among(read(stable = false), before, plan)

  /** Waits for brokers that are away. After a timeout, a producer wants the same call again and no other. */
  @tailrec def persistently[T](over: => Boolean)(call: => T): T =
    Try(call) match {
      case Failure(cause) if isTimeout(cause) && !over && !task.isInterrupted() => persistently(over)(call)
      case result => result.get
    }

  private def isTimeout(cause: Throwable): Boolean = cause match {
    case _: TimeoutException => true
    // As an admin tells it.
    case wrapped: ExecutionException => wrapped.getCause.isInstanceOf[TimeoutException]
    case _ => false
  }
}

private[commit] object OffsetStore {
  type Producer = KafkaProducer[Array[Byte], Array[Byte]]

  private val log = LoggerFactory.getLogger("headrace.commit.OffsetStore")
  private val LongestIdleNanos = Duration.ofDays(1).toNanos
  // What comes next may have to wait for the marks of the last transaction: for milliseconds, not Kafka's hundred. No
  // record of the epoch is read before.
  private val Prompt = Map(ProducerConfig.RETRY_BACKOFF_MS_CONFIG -> "5")

  /** Closes a producer also in a task that is being killed: it is interrupted, and Kafka would then close half of it. */
  def close(producer: Producer, wait: Duration): Unit = {
    val interrupted = Thread.interrupted()
    producer.close(wait)
    if (interrupted) Thread.currentThread().interrupt()
  }
}
