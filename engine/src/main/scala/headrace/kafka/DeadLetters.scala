// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import headrace.TaskScope
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.spark.TaskContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.LongAccumulator
import org.slf4j.LoggerFactory

/** Where records go that a function failed on, by the option `deadLetterTopic` of the sink.
  *
  * @param producer settings of the sink's own producer: in the sink's task letters travel with its records
  * @param count how many there were since the query started
  */
private[headrace] final case class DeadLetters(topic: String, producer: Map[String, String], count: LongAccumulator) {
  // The client's settings hold secrets.
  override def toString: String = s"DeadLetters($topic)"

  @transient lazy val warnOfMicroBatches: Unit = DeadLetters.log.warn(
    "Dead letters (the option 'deadLetterTopic') are for real-time mode. In this query, a Python function that fails stops " +
      "the query.")
}

private[headrace] object DeadLetters {
  private[kafka] val log = LoggerFactory.getLogger("headrace.kafka.DeadLetters")

  def of(options: SinkOptions): Option[DeadLetters] = options.deadLetterTopic.map(topic =>
    DeadLetters(topic, options.producer, SparkSession.active.sparkContext.longAccumulator("dead letters")))
}

/** Sends the dead letters of one operator of a task. They keep the promise of the sink: the task does not end before they
  * are acknowledged.
  *
  * @param functions those that failed, for the reader of the letter
  */
private[headrace] final class LetterWriter(letters: DeadLetters, functions: String, task: TaskContext) {
  private lazy val outlet = {
    val made = Outlet.of(letters.producer, task)
    task.addTaskCompletionListener[Unit](_ => made.release())
    made
  }
  private var hasSent = false

  /** @param row the function's input as JSON, for a row whose record is not known */
  def send(position: Option[Position], row: => String, error: String): Unit = {
    if (!hasSent) DeadLetters.log.warn(
      "{} failed on {}. The record goes to the topic {}; further ones of this task go there without a word.\n{}",
      functions, position.fold("a row")(_.toString), letters.topic, error)
    hasSent = true
    outlet.sendLetter(position.fold(ofRow(row, error))(of(_, error)), position.fold(0L)(_.sequence))
    letters.count.add(1)
    TaskScope.of(task).meter.foreach(_.letter())
  }

  def finish(): Unit = if (hasSent) outlet.settle()

  private def of(position: Position, error: String) = {
    val record = position.record
    val origin = Seq(
      header("topic", record.topic), header("partition", record.partition.toString), header("offset", record.offset.toString))
    letter(record.key, record.value, record.headers.asScala.toSeq ++ origin, error)
  }

  private def ofRow(row: String, error: String) = letter(null, row.getBytes(UTF_8), Nil, error)

  private def letter(key: Array[Byte], value: Array[Byte], headers: Seq[Header], error: String) =
    new ProducerRecord[Array[Byte], Array[Byte]](
      letters.topic,
      null,
      key,
      value,
      (headers ++ Seq(header("function", functions), header("error", error))).asJava)

  private def header(name: String, value: String): Header = new RecordHeader(s"headrace.$name", value.getBytes(UTF_8))
}
