// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.HeadraceException
import org.apache.spark.{SparkConf, SparkEnv}
import org.apache.spark.sql.internal.SQLConf

/** Settings of the whole application that Spark's Kafka guide names and this connector does not have. One that would be
  * ignored in silence could leave connections without the login their owner counts on.
  */
private[kafka] object ApplicationSettings {
  private val TokenPrefix = "spark.kafka.clusters."
  private val TokenSwitch = "spark.security.credentials.kafka.enabled"
  private val FetchedData = "fetched records are kept with their consumer; use spark.kafka.consumer.cache.timeout."

  private val Refused = Seq(
    "spark.kafka.consumer.fetchedData.cache.timeout" -> FetchedData,
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval" -> FetchedData)

  private val RefusedWhenTrue = Seq(
    "spark.kafka.consumer.cache.jmx.enable" ->
      "the pool registers no JMX beans; Kafka's own clients do, under kafka.consumer.",
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching" -> "offsets are asked for with Kafka's admin client only.")

  /** Refuses what was set. Only on the driver. */
  def check(): Unit = {
    val conf = SparkEnv.get.conf
    Refused.foreach { case (name, reason) => if (conf.contains(name)) throw refusal(name, reason) }
    RefusedWhenTrue.foreach { case (name, reason) => if (isTrue(conf, name)) throw refusal(name, reason) }
    if (conf.getBoolean(TokenSwitch, defaultValue = true))
      conf.getAllWithPrefix(TokenPrefix).headOption.foreach { case (name, _) =>
        throw refusal(
          TokenPrefix + name,
          "delegation tokens are not obtained here; log in with the option kafka.sasl.jaas.config or a JAAS file " +
            s"(java.security.auth.login.config), or set $TokenSwitch to false.")
      }
  }

  /** Settings of Spark SQL's can also be set while the application runs. */
  private def isTrue(conf: SparkConf, name: String): Boolean =
    SQLConf.get.getConfString(name, conf.get(name, "false")).equalsIgnoreCase("true")

  private def refusal(name: String, reason: String) = new HeadraceException(
    "KAFKA_OPTION_REFUSED",
    s"The setting '$name' cannot be used here: $reason Nothing was read or written. Take it out and start again.",
    Map("option" -> name))
}
