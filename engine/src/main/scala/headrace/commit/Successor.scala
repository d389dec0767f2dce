// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import headrace.HeadraceException
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.TopicPartition

/** Another run of the same checkpoint that has taken over: it has recorded something since this one began, and be it only
  * where it begins itself.
  */
private[commit] object Successor {
  /** Who that is, if somebody has.
    *
    * @param before what stood there when this run, or a task of it, began
    */
  def among(
      recorded: Map[TopicPartition, OffsetAndMetadata],
      before: Map[TopicPartition, OffsetAndMetadata],
      plan: ProgressPlan): Option[Stamp] = recorded.iterator
    .filterNot { case (partition, offset) => before.get(partition).contains(offset) }
    .flatMap { case (_, offset) => Stamp.of(offset) }
    .find(stamp => stamp.run != plan.run && !plan.earlierRuns.exists(_(stamp.run)))

  def takenOver(by: Stamp, cause: Throwable = null) = new HeadraceException(
    "CHECKPOINT_TAKEN_OVER",
    s"Run ${by.run} on ${by.host} has taken over the checkpoint of this query, so this run is over. Nothing is lost: the " +
      "other goes on behind what was recorded. Stop one of the two, or give each a checkpoint of its own.",
    Map("run" -> by.run, "host" -> by.host),
    cause)
}
