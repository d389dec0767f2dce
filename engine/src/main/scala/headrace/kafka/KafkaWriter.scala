// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.{EpochSignal, HeadraceException, TaskScope}
import org.apache.kafka.clients.producer.{Callback, RecordMetadata}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.{BatchWrite, DataWriter, DataWriterFactory, PhysicalWriteInfo, WriterCommitMessage}
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.types.StructType

/** Sends each row at once and waits for the acknowledgements only at the end of the epoch: at least once. */
private[kafka] final class KafkaWriter(options: SinkOptions, schema: StructType) extends DataWriter[InternalRow] {
  private val task = Option(TaskContext.get())
  private val scope = task.map(TaskScope.of)
  private val toRecord = new RowToRecord(schema, options.topic)
  private val settings = options.producer
  private val producer = ProducerPool.acquire(settings)
  @volatile private var failure: Throwable = _

  private val sent: Callback = (_: RecordMetadata, cause: Exception) => if (cause != null && failure == null) fail(cause)

  override def write(row: InternalRow): Unit = {
    if (failure != null) throw failure
    producer.send(toRecord(row), sent): Unit
  }

  /** Called on the producer's thread. The task is told wherever it waits: its own reader through the scope, and the readers
    * before a shuffle by ending the epoch, so that it does not take another record to notice.
    */
  private def fail(cause: Throwable): Unit = {
    failure = new HeadraceException(
      "KAFKA_WRITE_FAILED",
      s"A record could not be written to Kafka (${cause.getMessage}). The epoch fails; it is not committed, and its " +
        "records are read again at the next start. Check the brokers, the topic and the kafka.* options of the sink.",
      Map("cause" -> cause.getClass.getName),
      cause)
    scope.foreach(_.sinkFailed(failure))
    for {
      running <- task
      run <- Option(running.getLocalProperty(EpochPlanner.RunProperty))
      epoch <- Option(running.getLocalProperty(EpochPlanner.EpochProperty)).flatMap(_.toLongOption)
    } EpochSignal.end(run, epoch)
  }

  override def commit(): WriterCommitMessage = {
    // Spark discards what a killed task commits, so a stop need not wait for the brokers.
    if (!task.exists(_.isInterrupted())) producer.flush()
    if (failure != null) throw failure
    Written
  }

  override def abort(): Unit = ()

  override def close(): Unit = ProducerPool.release(settings, producer, failed = failure != null)
}

private[kafka] case object Written extends WriterCommitMessage

private[kafka] final case class KafkaWriterFactory(options: SinkOptions, schema: StructType)
    extends DataWriterFactory
    with StreamingDataWriterFactory {
  override def createWriter(partition: Int, task: Long): DataWriter[InternalRow] = new KafkaWriter(options, schema)

  override def createWriter(partition: Int, task: Long, epoch: Long): DataWriter[InternalRow] =
    new KafkaWriter(options, schema)
}

private[kafka] final class KafkaStreamingWrite(options: SinkOptions, schema: StructType) extends StreamingWrite {
  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
    KafkaWriterFactory(options, schema)

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
