// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.Locale

import scala.jdk.CollectionConverters._

import headrace.HeadraceException
import org.apache.kafka.clients.CommonClientConfigs
import org.apache.kafka.common.config.ConfigDef
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The user's options with clear errors: names as in Spark's Kafka guide, case ignored. */
private[kafka] final class Options(raw: CaseInsensitiveStringMap) {
  private val values: Map[String, String] =
    raw.asCaseSensitiveMap().asScala.map { case (name, value) => name.toLowerCase(Locale.ROOT) -> value }.toMap

  def contains(name: String): Boolean = values.contains(name.toLowerCase(Locale.ROOT))

  def get(name: String): Option[String] = values.get(name.toLowerCase(Locale.ROOT)).map(_.trim)

  def boolean(name: String, default: Boolean): Boolean = get(name).map(_.toLowerCase(Locale.ROOT)) match {
    case None => default
    case Some("true") => true
    case Some("false") => false
    case Some(other) => throw Options.invalid(name, other, "true or false")
  }

  def long(name: String): Option[Long] =
    get(name).map(text => text.toLongOption.getOrElse(throw Options.invalid(name, text, "a whole number")))

  def positive(name: String): Option[Long] =
    long(name).map(value => if (value > 0) value else throw Options.invalid(name, value.toString, "a positive number"))

  def positiveInt(name: String): Option[Int] = positive(name).map(value =>
    if (value.isValidInt) value.toInt else throw Options.invalid(name, value.toString, s"at most ${Int.MaxValue}"))

  /** The `kafka.*` options without the prefix, as the Kafka client wants them. Never log these: they hold secrets. */
  def client: Map[String, String] =
    raw.asCaseSensitiveMap().asScala.collect {
      case (name, value) if name.toLowerCase(Locale.ROOT).startsWith("kafka.") => name.substring(6) -> value
    }.toMap

  /** Refuses values that the Kafka client would refuse later, on an executor. */
  def checkClient(definition: ConfigDef): Unit = {
    val servers = require(Options.Servers)
    if (!servers.split(",").forall(_.trim.matches(".+:\\d+")))
      throw Options.invalid(Options.Servers, servers, "a comma-separated list of host:port")
    val settings = client
    definition.validate(settings.asJava).asScala
      .find(value => settings.contains(value.name) && !value.errorMessages.isEmpty)
      .foreach { value =>
        val isSecret = definition.configKeys().get(value.name).`type` == ConfigDef.Type.PASSWORD
        val why = if (isSecret) "its value is kept out of this message" else value.errorMessages.asScala.mkString("; ")
        throw new HeadraceException(
          "KAFKA_OPTION_INVALID",
          s"The option 'kafka.${value.name}' is not one that Kafka's client accepts: $why. Nothing was read or written. " +
            "Correct it and start again.",
          Map("option" -> s"kafka.${value.name}"))
      }
  }

  def refuse(name: String, reason: String): Unit =
    if (contains(name)) {
      throw new HeadraceException(
        "KAFKA_OPTION_REFUSED",
        s"The option '$name' cannot be used here: $reason Nothing was read or written. Take it out and start again.",
        Map("option" -> name))
    }

  def require(name: String): String = get(name).filter(_.nonEmpty).getOrElse(
    throw new HeadraceException(
      "KAFKA_OPTION_MISSING",
      s"The option '$name' is missing. Nothing was read or written. Set it with .option(\"$name\", ...).",
      Map("option" -> name)))
}

private[kafka] object Options {
  private val Servers = s"kafka.${CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG}"

  def invalid(name: String, value: String, expected: String): HeadraceException =
    new HeadraceException(
      "KAFKA_OPTION_INVALID",
      s"The option '$name' must be $expected, not '$value'. Nothing was read or written. Correct it and start again.",
      Map("option" -> name, "value" -> value, "expected" -> expected))
}
