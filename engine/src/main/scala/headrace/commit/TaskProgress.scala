// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import java.time.Duration
import java.util.concurrent.ExecutionException
import java.util.concurrent.atomic.AtomicReference
import java.util.concurrent.locks.LockSupport

import scala.annotation.{nowarn, tailrec}
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Try, Using}

import headrace.{CrashPoint, HeadraceException, TaskScope}
import org.apache.kafka.clients.admin.{Admin, AdminClientConfig}
import org.apache.kafka.clients.consumer.{ConsumerGroupMetadata, OffsetAndMetadata}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerConfig}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{RetriableException, TimeoutException}
import org.apache.spark.TaskContext
import org.apache.spark.headrace.TaskThread
import org.slf4j.LoggerFactory

/** Records how far a task has come, off the path of its records: at least once.
  *
  * The transactions carry offsets only. They are here for their fence: from the moment this is made, no earlier task of
  * the same number can record anything.
  */
private[headrace] final class TaskProgress(plan: ProgressPlan, settings: Map[String, String], task: TaskContext) {
  import TaskProgress._

  private val scope = TaskScope.of(task)

  def intervalMs: Long = plan.intervalMs

  private def create() = {
    val own = Map(
      ProducerConfig.TRANSACTIONAL_ID_CONFIG -> plan.transactionalId(task.partitionId()),
      ProducerConfig.TRANSACTION_TIMEOUT_CONFIG -> TransactionTimeoutMs,
      ProducerConfig.MAX_BLOCK_MS_CONFIG -> CallMs,
      ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG -> "true",
      ProducerConfig.ACKS_CONFIG -> "all")
    new Producer((settings ++ own).asJava.asInstanceOf[java.util.Map[String, AnyRef]])
  }
  // Kafka would rather be told by a consumer of the group; this group has none.
  @nowarn("cat=deprecation") private val group = new ConsumerGroupMetadata(plan.group)
  // None after a try that failed: Kafka goes on trying what it was told, even while it is told to abort.
  @volatile private var producer = Option.empty[Producer]
  private val waiting = new AtomicReference[Cut]()
  private var recorded = Map.empty[TopicPartition, Long]
  // Nothing more will be done; what is being done goes on.
  @volatile private var finishing = false
  // The task is over, and everything is given up.
  @volatile private var closed = false

  /** @param failed told when a send of the task failed */
  def generations(failed: Exception => Unit): Generations = new Generations(
    failed,
    cut => {
      waiting.set(cut)
      LockSupport.unpark(recorder)
    })

  private lazy val recorder: Thread = {
    val thread = new Thread(() => run(), s"headrace-progress-${task.taskAttemptId()}")
    thread.setDaemon(true)
    thread.start()
    thread
  }

  task.addTaskCompletionListener[Unit](_ => close())
  begin(): Unit

  /** Where the task goes on; asked after the fence, by every attempt. */
  def resume(starts: Map[TopicPartition, Long]): Map[TopicPartition, Long] = {
    val admin = settings.filter { case (name, _) => AdminClientConfig.configNames().contains(name) }
    Using.resource(Admin.create(admin.asJava.asInstanceOf[java.util.Map[String, AnyRef]]))(client =>
      Resume.from(starts, persistently(Resume.recorded(client, plan.group)), plan.topicIds, plan.epoch))
  }

  /** A producer whose earlier transactions, and whose predecessors, are over. */
  private def begin(): Producer = {
    val made = create()
    producer = Some(made)
    persistently(made.initTransactions())
    made
  }

  private def run(): Unit =
    try while (!finishing) {
        val cut = waiting.getAndSet(null)
        if (cut == null) LockSupport.park(this) else record(cut.offsets)
      }
    // Interrupted wherever it was.
    catch { case _: Exception if closed => () }

  /** Records offsets for good. While the brokers are away it waits for them; records do not. */
  private def record(offsets: Map[TopicPartition, Long]): Unit = {
    val news = offsets.filter { case (partition, offset) => recorded.get(partition).forall(_ < offset) }
    if (news.nonEmpty)
      try {
        CrashPoint.reach("progress-due")
        val kafka = producer.getOrElse(begin())
        kafka.beginTransaction()
        send(kafka, news)
        CrashPoint.reach("progress-sent")
        persistently(kafka.commitTransaction())
        CrashPoint.reach("progress-recorded")
        recorded ++= news
      } catch {
        case passing: RetriableException if !closed =>
          log.warn("Progress could not be recorded and will be with the next records: {}", passing.getMessage)
          giveUp()
        case other: Exception if !closed => fail(other)
      }
  }

  private def send(kafka: Producer, offsets: Map[TopicPartition, Long]): Unit = kafka.sendOffsetsToTransaction(
    offsets.map { case (partition, offset) =>
      partition -> new OffsetAndMetadata(offset, plan.stamp(partition.topic).json)
    }.asJava,
    group)

  /** Waits for brokers that are away. After a timeout, a producer wants the same call again and no other. */
  @tailrec private def persistently[T](call: => T): T =
    Try(call) match {
      case Failure(cause) if isTimeout(cause) && !finishing && !closed && !task.isInterrupted() => persistently(call)
      case result => result.get
    }

  private def isTimeout(cause: Throwable): Boolean = cause match {
    case _: TimeoutException => true
    // As an admin tells it.
    case wrapped: ExecutionException => wrapped.getCause.isInstanceOf[TimeoutException]
    case _ => false
  }

  private def fail(cause: Exception): Unit = {
    finishing = true
    scope.sinkFailed(new HeadraceException(
      "PROGRESS_NOT_RECORDED",
      s"Progress of this query could not be recorded (${cause.getMessage}). If another run of the same checkpoint has " +
        "started, this one is over: stop one of the two. Nothing is lost; records since the last record of progress are " +
        "read again at the next start.",
      Map("group" -> plan.group),
      cause))
  }

  /** Records the offsets with which the task ends. Everything that was sent is acknowledged. Where that does not work now,
    * Spark's own record of the epoch must do: an offset of a topic that was deleted, for one, cannot be recorded, and must
    * not hold up the end of the epoch that says so.
    */
  def finish(offsets: Map[TopicPartition, Long]): Unit = {
    end()
    scope.throwIfSinkFailed()
    if (producer.isDefined) record(offsets)
    scope.throwIfSinkFailed()
  }

  private def end(): Unit = {
    finishing = true
    LockSupport.unpark(recorder)
    TaskThread.join(recorder)
  }

  private def close(): Unit = {
    closed = true
    recorder.interrupt()
    end()
    giveUp()
  }

  private def giveUp(): Unit = {
    // A killed task is interrupted, and Kafka would then close half of it.
    val interrupted = Thread.interrupted()
    producer.foreach(_.close(Duration.ZERO))
    producer = None
    if (interrupted) Thread.currentThread().interrupt()
  }
}

private object TaskProgress {
  private type Producer = KafkaProducer[Array[Byte], Array[Byte]]
  private val log = LoggerFactory.getLogger(classOf[TaskProgress])
  private val TransactionTimeoutMs = "10000"
  // What may pass is tried again; what will not must not keep an epoch from ending.
  private val CallMs = "3000"
}
