// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.{CrashPoint, TaskScope}
import headrace.commit.{ProgressPlan, Recording, TaskProgress}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.{BatchWrite, DataWriter, DataWriterFactory, PhysicalWriteInfo, WriterCommitMessage}
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.types.StructType

/** Sends each row at once and waits for the acknowledgements only at the end of the epoch: at least once. */
private[kafka] final class KafkaWriter(options: SinkOptions, schema: StructType, plan: Option[ProgressPlan] = None)
    extends DataWriter[InternalRow] {
  private val toRecord = new RowToRecord(schema, options.topic)
  private val task = Option(TaskContext.get())
  private val sending = new Sending(options.producer, task)
  private val recording = for {
    running <- task
    inside <- plan
  } yield {
    val progress = new TaskProgress(inside, options.producer, running)
    val made = new Recording(TaskScope.of(running), progress, progress.generations(sending.fail(_)))
    made.begin()
    made
  }

  override def write(row: InternalRow): Unit = {
    recording.foreach(_.rowComes())
    sending.send(toRecord(row))
  }

  override def commit(): WriterCommitMessage = {
    sending.finish()
    CrashPoint.reach("epoch-written")
    if (!task.exists(_.isInterrupted())) recording.foreach(_.finish())
    CrashPoint.reach("epoch-recorded")
    Written
  }

  override def abort(): Unit = ()

  override def close(): Unit = sending.close()
}

private[kafka] case object Written extends WriterCommitMessage

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

/** @param letters where records go that a function failed on, if anywhere */
private[headrace] final class KafkaStreamingWrite(
    options: SinkOptions,
    schema: StructType,
    val letters: Option[DeadLetters])
    extends StreamingWrite {
  private var plan: Option[ProgressPlan] = None

  def producer: Map[String, String] = options.producer

  def commitIntervalMs: Option[Long] = options.commitIntervalMs

  /** Lets the tasks of the epoch that is being planned record progress. */
  def recordProgress(inside: ProgressPlan): Unit = plan = Some(inside)

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
    KafkaWriterFactory(options, schema, plan)

  // Every task of an epoch writes; asking the driver for permission would only cost a round trip.
  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()
}

private[kafka] final class KafkaBatchWrite(options: SinkOptions, schema: StructType) extends BatchWrite {
  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = KafkaWriterFactory(options, schema)

  override def useCommitCoordinator(): Boolean = false

  override def commit(messages: Array[WriterCommitMessage]): Unit = ()

  override def abort(messages: Array[WriterCommitMessage]): Unit = ()
}
