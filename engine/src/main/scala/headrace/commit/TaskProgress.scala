// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import java.time.Duration
import java.util.concurrent.atomic.AtomicReference
import java.util.concurrent.locks.LockSupport

import headrace.{CrashPoint, HeadraceException, TaskScope}
import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.RetriableException
import org.apache.spark.TaskContext
import org.apache.spark.headrace.TaskThread
import org.slf4j.LoggerFactory

/** Records how far a task has come, off the path of its records: at least once.
  *
  * The transactions carry offsets only. They are here for their fence: from the moment this is made, no earlier task of
  * the same number can record anything. The first one claims the partitions: it records where the task begins, and who
  * runs it, before a record is read. A run that stood still meanwhile finds that when it goes on; otherwise it would write
  * again all that came.
  *
  * @param failed told when a send of the task failed
  */
private[headrace] final class TaskProgress(
    plan: ProgressPlan,
    settings: Map[String, String],
    task: TaskContext,
    failed: Exception => Unit)
    extends Progress {
  import TaskProgress._

  private val scope = TaskScope.of(task)
  private val store = new OffsetStore(plan, settings, task)
  // None after a try that failed: Kafka goes on trying what it was told, even while it is told to abort.
  @volatile private var producer = Option.empty[OffsetStore.Producer]
  private val waiting = new AtomicReference[Cut]()
  private var recorded = Map.empty[TopicPartition, Long]
  // Nothing more will be done; what is being done goes on.
  @volatile private var finishing = false
  // The task is over, and everything is given up.
  @volatile private var closed = false

  /** The sends of the task. */
  val generations = new Generations(failed, due)

  private def due(cut: Cut): Unit = {
    waiting.set(cut)
    LockSupport.unpark(recorder)
  }

  private lazy val recorder: Thread = {
    val thread = new Thread(() => run(), s"headrace-progress-${task.taskAttemptId()}")
    thread.setDaemon(true)
    thread.start()
    thread
  }

  task.addTaskCompletionListener[Unit](_ => close())
  producer = Some(store.inheritance.getOrElse(begin()))

  override def resume(starts: Map[TopicPartition, Long]): Map[TopicPartition, Long] = {
    val begins = store.resume(starts)
    // Partitions that are this run's already are claimed for the epoch while records flow.
    if (store.continues(starts)) due(Cut(0, begins))
    else if (begins.nonEmpty) attempt {
      write(begins)
      recorded = begins
    }
    begins
  }

  // What is written cannot be fenced: a task whose place was taken must not go on with all that came meanwhile.
  override def stoodStill(): Unit = store.checkSuccessor()

  override def isReady: Boolean = true

  override def cut(now: Cut): Unit = generations.cut(now)

  override def hasCuts: Boolean = generations.hasCuts

  override def passed(sequence: Long): Unit = generations.passed(sequence)

  /** A producer whose earlier transactions, and whose predecessors, are over. */
  private def begin(): OffsetStore.Producer = {
    val made = store.create(Map(
      ProducerConfig.TRANSACTION_TIMEOUT_CONFIG -> TransactionTimeoutMs,
      ProducerConfig.MAX_BLOCK_MS_CONFIG -> CallMs))
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
    if (news.nonEmpty) attempt {
      CrashPoint.reach("progress-due")
      write(news, CrashPoint.reach("progress-sent"))
      CrashPoint.reach("progress-recorded")
      recorded ++= news
      scope.meter.foreach(_.commit())
    }
  }

  private def write(offsets: Map[TopicPartition, Long], sent: => Unit = ()): Unit = {
    val kafka = producer.getOrElse(begin())
    kafka.beginTransaction()
    store.put(kafka, offsets)
    sent
    persistently(kafka.commitTransaction())
  }

  private def attempt(work: => Unit): Unit =
    try work
    catch { case cause: Exception if !closed => notRecorded(cause) }

  /** What may pass does not end the query: brokers that were away, a transaction that they gave up meanwhile. */
  private def notRecorded(cause: Exception): Unit = cause match {
    case known: HeadraceException => end(known)
    case fenced if store.isFenced(fenced) && (finishing || store.hasSuccessor) => fail(fenced)
    case passing if passing.isInstanceOf[RetriableException] || store.isFenced(passing) =>
      log.warn("Progress could not be recorded and will be with the next records: {}", passing.getMessage)
      giveUp()
    case other => fail(other)
  }

  private def persistently[T](call: => T): T = store.persistently(finishing || closed)(call)

  private def fail(cause: Exception): Unit = end(store.failure(cause)(reason =>
    new HeadraceException(
      "PROGRESS_NOT_RECORDED",
      s"Progress of this query could not be recorded ($reason). Nothing is lost; records since the last record of progress " +
        "are read again at the next start. Check the brokers and the rights of the sink's user, and that no other run uses " +
        "the same checkpoint.",
      Map("group" -> plan.group),
      cause)))

  private def end(failure: HeadraceException): Unit = {
    finishing = true
    scope.sinkFailed(failure)
  }

  /** Everything that was sent is acknowledged. Where the offsets cannot be recorded now, Spark's own record of the epoch must
    * do: an offset of a topic that was deleted, for one, must not hold up the end of the epoch that says so.
    */
  override def finish(offsets: Map[TopicPartition, Long]): Unit = {
    endRecorder()
    scope.throwIfSinkFailed()
    if (producer.isDefined) record(offsets)
    scope.throwIfSinkFailed()
    producer.foreach(store.bequeath(_, recorded))
    producer = None
  }

  private def endRecorder(): Unit = {
    finishing = true
    LockSupport.unpark(recorder)
    TaskThread.join(recorder)
  }

  private def close(): Unit = {
    closed = true
    recorder.interrupt()
    endRecorder()
    giveUp()
  }

  private def giveUp(): Unit = {
    producer.foreach(OffsetStore.close(_, Duration.ZERO))
    producer = None
  }
}

private object TaskProgress {
  private val log = LoggerFactory.getLogger(classOf[TaskProgress])
  private val TransactionTimeoutMs = "10000"
  // What may pass is tried again; what will not must not keep an epoch from ending.
  private val CallMs = "3000"
}
