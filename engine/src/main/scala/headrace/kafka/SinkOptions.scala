// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.concurrent.TimeUnit

import scala.util.Try

import headrace.commit.Delivery
import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.serialization.ByteArraySerializer
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.catalyst.util.IntervalUtils
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A writer's options.
  *
  * Reaches into Spark: `IntervalUtils.fromIntervalString`, with which Spark reads the times of triggers.
  */
private[kafka] final case class SinkOptions(
    topic: Option[String],
    deadLetterTopic: Option[String],
    delivery: Delivery,
    chosenIntervalMs: Option[Long],
    client: Map[String, String]) {

  def producer: Map[String, String] = SinkOptions.LatencyDefaults ++ client ++ Map(
    ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG -> classOf[ByteArraySerializer].getName,
    ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG -> classOf[ByteArraySerializer].getName)

  def isExactlyOnce: Boolean = delivery == Delivery.ExactlyOnce

  def commitIntervalMs: Long = chosenIntervalMs.getOrElse(delivery.defaultIntervalMs)

  // The client's settings hold secrets.
  override def toString: String = s"SinkOptions(${topic.getOrElse("by topic column")})"
}

private[kafka] object SinkOptions {
  // Kafka's 4.x clients wait 5 ms for company by default; under load records are grouped without waiting.
  private val LatencyDefaults = Map(ProducerConfig.LINGER_MS_CONFIG -> "0")

  private val LeastCommitIntervalMs = 20L

  /** A time as settings have it (`200ms`), or as triggers have it (`200 milliseconds`). */
  private def commitInterval(text: String): Long =
    Try(JavaUtils.timeStringAs(text, TimeUnit.MILLISECONDS))
      .orElse(Try(IntervalUtils.getDuration(IntervalUtils.fromIntervalString(text), TimeUnit.MILLISECONDS)))
      .toOption.filter(_ >= LeastCommitIntervalMs)
      .getOrElse(throw Options.invalid(
        "commitInterval", text, s"a time such as 1s or 1 second, of at least $LeastCommitIntervalMs ms"))

  private def deliveryOf(text: String): Delivery = Delivery.All.find(_.name == text)
    .getOrElse(throw Options.invalid("delivery", text, Delivery.All.map(_.name).mkString(" or ")))

  /** A transaction needs these; the client would not say so before its first one, on an executor. */
  private def checkTransactions(options: Options): Unit = {
    options.get("kafka.acks").filterNot(Set("all", "-1"))
      .foreach(acks => throw Options.invalid("kafka.acks", acks, "all for exactly-once delivery"))
    options.get("kafka.enable.idempotence").filterNot(_ == "true")
      .foreach(text => throw Options.invalid("kafka.enable.idempotence", text, "true for exactly-once delivery"))
    // Spark's checkpoint would then be behind by any number of batches, and look like an older one that was put back.
    if (options.boolean("asyncProgressTrackingEnabled", default = false))
      throw Options.invalid("asyncProgressTrackingEnabled", "true", "false for exactly-once delivery")
  }

  def parse(raw: CaseInsensitiveStringMap): SinkOptions = {
    ApplicationSettings.check()
    val options = new Options(raw)
    options.refuse("kafka.key.serializer", "keys are written as bytes; use DataFrame operations to encode them.")
    options.refuse("kafka.value.serializer", "values are written as bytes; use DataFrame operations to encode them.")
    options.refuse("kafka.transactional.id", "it belongs to the delivery guarantee of the sink.")
    options.checkClient(ProducerConfig.configDef())
    // A column 'headers' is written with or without it, as Spark's connector does; a wrong value is still a mistake.
    options.boolean("includeHeaders", default = false): Unit
    val delivery = options.get("delivery").fold[Delivery](Delivery.AtLeastOnce)(deliveryOf)
    if (delivery == Delivery.ExactlyOnce) checkTransactions(options)
    SinkOptions(
      options.get("topic").filter(_.nonEmpty),
      options.get("deadLetterTopic").filter(_.nonEmpty),
      delivery,
      options.get("commitInterval").map(commitInterval),
      options.client)
  }
}
