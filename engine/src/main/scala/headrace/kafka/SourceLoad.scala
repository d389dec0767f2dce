// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import scala.util.Using

import org.apache.kafka.clients.admin.AdminClientConfig
import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** How much a source of a real-time query has to read, as the brokers know it now.
  *
  * @param records that each partition holds
  * @param tasks that read them, all at once
  */
private[headrace] final case class SourceLoad(records: Map[TopicPartition, Long], tasks: Int)

private[headrace] object SourceLoad {
  /** Brokers that are not there should not hold up an answer for which they are not needed. */
  private val Patience = Map(
    AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG -> "5000",
    AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG -> "3000")

  /** Asks the brokers; they are all that can make it fail. */
  def of(raw: CaseInsensitiveStringMap): SourceLoad = {
    val options = SourceOptions.parse(raw)
    Using.resource(new Broker(options.copy(client = Patience ++ options.client))) { broker =>
      val partitions = broker.partitions()
      val first = broker.earliest(partitions)
      val records = broker.latest(partitions).map { case (partition, end) => partition -> (end - first.getOrElse(partition, end)) }
      SourceLoad(records, tasks(partitions.size, options.maxPartitions))
    }
  }

  /** The settings of the consumer that decide how long a record may wait at the broker. */
  def waits(raw: CaseInsensitiveStringMap): Map[String, String] =
    SourceOptions.parse(raw).consumer("", shared = false).filter { case (name, _) => name.startsWith("fetch.") }

  /** One task for each partition, or at most `limit`. */
  def tasks(partitions: Int, limit: Option[Int]): Int = math.max(1, math.min(partitions, limit.getOrElse(partitions)))
}
