// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.{CrashPoint, TaskScope}
import headrace.commit.{Delivery, Generations, Progress, ProgressPlan, Recording, TaskProgress, Transactions}
import headrace.observe.{EpochLatency, Parts, Tail}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.{BatchWrite, DataWriter, DataWriterFactory, PhysicalWriteInfo, WriterCommitMessage}
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.types.StructType

/** Sends each row at once. Acknowledgements are waited for at the end of the epoch, or when the task's progress is recorded
  * inside it: nobody waits for them.
  */
private[kafka] final class KafkaWriter(options: SinkOptions, schema: StructType, plan: Option[ProgressPlan] = None)
    extends DataWriter[InternalRow] {
  private val toRecord = new RowToRecord(schema, options.topic)
  private val task = Option(TaskContext.get())
  private val outlet = plan.filter(_.isExactlyOnce).fold[Outlet](atLeastOnce())(exactlyOnce)
  private val recording = task.flatMap(TaskScope.of(_).recording)
  private val scope = task.map(TaskScope.of).orNull
  private val meter = task.flatMap(TaskScope.of(_).meter).orNull

  private def exactlyOnce(inside: ProgressPlan): Outlet = {
    val transactions = new Transactions(inside, options.producer, task.get)
    // All at the same moment: the oldest open transaction holds back the readers of all.
    record(inside, transactions, None, Some(transactions), phaseMs = 0)
    transactions
  }

  private def atLeastOnce(): Outlet = {
    val sending = new Sending(options.producer, task)
    try for {
        running <- task
        inside <- plan
      } {
        val progress = new TaskProgress(inside, options.producer, running, sending.fail(_))
        record(
          inside, progress, Some(progress.generations), None, Recording.spreadMs(inside.intervalMs, running.partitionId()))
      }
    catch {
      // Nobody closes a writer that was never there.
      case e: Throwable =>
        sending.release()
        throw e
    }
    sending
  }

  private def record(
      inside: ProgressPlan,
      progress: Progress,
      generations: Option[Generations],
      outlet: Option[Outlet],
      phaseMs: Long): Unit = {
    val scope = TaskScope.of(task.get)
    scope.record(new Recording(scope, progress, inside.intervalMs, phaseMs), generations, outlet)
  }

  override def write(row: InternalRow): Unit = {
    recording.foreach(_.rowComes())
    if (meter == null) outlet.send(toRecord(row), null)
    else {
      val sent = meter.arrive(scope.last.origin)
      val record = toRecord(row)
      Tail.offer(meter.id.run, record, sent.micros)
      outlet.send(record, sent)
    }
  }

  override def commit(): WriterCommitMessage = {
    outlet.settle()
    CrashPoint.reach("epoch-written")
    if (!task.exists(_.isInterrupted())) recording.foreach(_.finish())
    CrashPoint.reach("epoch-recorded")
    Written(Option(meter).map(_.all()))
  }

  override def abort(): Unit = ()

  override def close(): Unit = outlet.release()
}

/** @param latency of the task's rows, if it was measured */
private[kafka] final case class Written(latency: Option[Parts]) extends WriterCommitMessage

private[kafka] final case class KafkaWriterFactory(
    options: SinkOptions,
    schema: StructType,
    plan: Option[ProgressPlan] = None)
    extends DataWriterFactory
    with StreamingDataWriterFactory {
  override def createWriter(partition: Int, task: Long): DataWriter[InternalRow] = new KafkaWriter(options, schema, plan)

  override def createWriter(partition: Int, task: Long, epoch: Long): DataWriter[InternalRow] =
    new KafkaWriter(options, schema, plan)
}

/** @param letters where records go that a function failed on, if anywhere
  * @param latency what is known of the last epoch
  */
private[headrace] final class KafkaStreamingWrite(
    options: SinkOptions,
    schema: StructType,
    val letters: Option[DeadLetters],
    latency: EpochLatency)
    extends StreamingWrite {
  private var plan: Option[ProgressPlan] = None
  private var isEmpty = false

  def producer: Map[String, String] = options.producer

  def commitIntervalMs: Long = options.commitIntervalMs

  def delivery: Delivery = options.delivery

  def isExactlyOnce: Boolean = options.isExactlyOnce

  /** The epoch that is being planned reads nothing. */
  def skip(): Unit = isEmpty = true

  /** Lets the tasks of the epoch that is being planned record progress. */
  def recordProgress(inside: ProgressPlan): Unit = plan = Some(inside)

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = {
    // The plan is made by a rule of ours; nobody may believe in a promise that no rule has looked at.
    if (isExactlyOnce && plan.isEmpty && !isEmpty) throw Delivery.refusal("the session has the engine's extension not at work")
    KafkaWriterFactory(options, schema, plan)
  }

  // Every task of an epoch writes; asking the driver for permission would only cost a round trip.
  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    latency.take(messages.toSeq.collect { case written: Written => written.latency }.flatten)

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()
}

private[kafka] final class KafkaBatchWrite(options: SinkOptions, schema: StructType) extends BatchWrite {
  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = KafkaWriterFactory(options, schema)

  override def useCommitCoordinator(): Boolean = false

  override def commit(messages: Array[WriterCommitMessage]): Unit = ()

  override def abort(messages: Array[WriterCommitMessage]): Unit = ()
}
