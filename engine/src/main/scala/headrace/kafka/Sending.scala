// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.{HeadraceException, TaskScope}
import headrace.observe.Sent
import org.apache.kafka.clients.producer.{Callback, ProducerRecord, RecordMetadata}
import org.apache.spark.TaskContext

/** Records on their way to the brokers: each is sent at once; the acknowledgements are waited for at the end of the epoch.
  *
  * @param task none where rows are written outside of one
  */
private[kafka] final class Sending(settings: Map[String, String], task: Option[TaskContext]) extends Outlet {
  private val scope = task.map(TaskScope.of)
  private val producer = ProducerPool.acquire(settings)
  @volatile private var failure: Throwable = _

  private val noted: Callback = (_: RecordMetadata, cause: Exception) => if (cause != null) fail(cause)

  override def send(record: ProducerRecord[Array[Byte], Array[Byte]], sent: Sent): Unit = {
    if (failure != null) throw failure
    producer.send(record, if (sent == null) callback else sent.before(callback)): Unit
  }

  override def sendLetter(letter: ProducerRecord[Array[Byte], Array[Byte]], sequence: Long): Unit = send(letter, null)

  // Where progress is recorded inside the epoch, each send counts.
  private def callback: Callback = scope.flatMap(_.generations).fold(noted)(_.sending())

  /** Called on the producer's thread. The task is told wherever it waits: its own reader through the scope, and the readers
    * before a shuffle by ending the epoch, so that it does not take another record to notice.
    */
  def fail(cause: Throwable): Unit = if (failure == null) {
    failure = new HeadraceException(
      "KAFKA_WRITE_FAILED",
      s"A record could not be written to Kafka (${cause.getMessage}). The epoch fails; it is not committed, and its " +
        "records are read again at the next start. Check the brokers, the topic and the kafka.* options of the sink.",
      Map("cause" -> cause.getClass.getName),
      cause)
    scope.foreach(_.sinkFailed(failure))
    task.foreach(EpochPlanner.endEpochOf)
  }

  /** Waits until all that was sent is acknowledged. */
  override def settle(): Unit = {
    // Spark discards what a killed task commits, so a stop need not wait for the brokers.
    if (!task.exists(_.isInterrupted())) producer.flush()
    if (failure != null) throw failure
  }

  override def release(): Unit = ProducerPool.release(settings, producer, failed = failure != null)
}
