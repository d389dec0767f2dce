// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.record.TimestampType

/** Where and when a record entered: immutable, so it may wait in any queue beside its row.
  *
  * @param record as it was read, for whoever must give it back as it was
  * @param arrivedMs wall clock when the reader received it
  * @param arrivedNanos the same moment on this JVM's monotonic clock
  */
private[headrace] final class Position(
    val record: ConsumerRecord[Array[Byte], Array[Byte]],
    val arrivedMs: Long,
    val arrivedNanos: Long) {
  /** The record's own timestamp. */
  def createdMs: Long = record.timestamp

  /** Whether that timestamp is its producer's; false when the broker stamped it at arrival. */
  def createTime: Boolean = record.timestampType == TimestampType.CREATE_TIME

  override def toString: String = s"${record.topic}-${record.partition}@${record.offset}"
}

/** The positions of the rows that pass one point of a task, in the order of the rows.
  *
  * Between two such points rows are pulled one by one by one thread, so the position last set belongs to every row
  * (also to several, or none) that comes out until it is set again. An operator that reads ahead breaks exactly that,
  * and therefore ends one trail and begins the next (`TaskScope.readAhead`). The sink reads the last trail of its task.
  */
private[headrace] final class Trail {
  private var here: Position = _

  def set(position: Position): Unit = here = position

  /** None in a task that has no source of ours, such as one behind a shuffle. */
  def current: Option[Position] = Option(here)
}

/** Where an operator that reads ahead stands between two trails.
  *
  * Whoever pulls its input takes the position on `before` together with each row and queues both; whoever hands the row
  * on calls `follow` first.
  */
private[headrace] final case class ReadAhead(before: Trail, after: Trail) {
  def follow(position: Option[Position]): Unit = position.foreach(after.set)
}
