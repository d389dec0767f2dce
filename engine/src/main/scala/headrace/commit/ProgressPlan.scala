// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import java.net.InetAddress

import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.kafka.clients.consumer.OffsetAndMetadata

/** How the tasks of an epoch record progress inside it: as offsets of a consumer group that belongs to the query alone,
  * written in transactions, so that a task of an earlier run that is still alive can write nothing any more.
  *
  * @param id of the checkpoint
  * @param topicIds identities of the topics that are read: one of the same name may be another
  * @param earlierRuns those that have recorded something before this run began, if that is known
  */
private[headrace] final case class ProgressPlan(
    id: String,
    run: String,
    epoch: Long,
    intervalMs: Long,
    topicIds: Map[String, String],
    delivery: Delivery,
    isRealTime: Boolean,
    earlierRuns: Option[Set[String]]) {
  def isExactlyOnce: Boolean = delivery == Delivery.ExactlyOnce

  /** After which the brokers give up a transaction whose task is gone, and with it hold back no reader any more. That of a
    * micro-batch lasts as long as its task.
    */
  def timeoutMs: Long = if (isRealTime) 10000 + 2 * intervalMs else 300000

  def group: String = ProgressPlan.group(id)

  def transactionalId(task: Int): String = ProgressPlan.transactionalId(id, task)

  def stamp(topic: String): Stamp =
    Stamp(run, Try(InetAddress.getLocalHost.getHostName).getOrElse("unknown"), epoch, topicIds.getOrElse(topic, ""))
}

private[headrace] object ProgressPlan {
  def group(id: String): String = s"headrace-$id"

  def transactionalId(id: String, task: Int): String = s"headrace-$id-$task"
}

/** Who recorded an offset, and of what; travels beside it. */
private[headrace] final case class Stamp(run: String, host: String, epoch: Long, topicId: String) {
  def json: String = {
    val node = Stamp.mapper.createObjectNode()
    node.put("run", run).put("host", host).put("epoch", epoch).put("topic", topicId)
    node.toString
  }
}

private[headrace] object Stamp {
  private val mapper = new ObjectMapper

  def of(stored: OffsetAndMetadata): Option[Stamp] = Try {
    val node = mapper.readTree(stored.metadata())
    Stamp(node.get("run").asText, node.get("host").asText, node.get("epoch").asLong, node.get("topic").asText)
  }.toOption
}
