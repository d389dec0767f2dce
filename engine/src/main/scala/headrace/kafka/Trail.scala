// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.observe.{Origin, PartitionMeter}
import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.record.TimestampType

/** Where and when a record entered: immutable, so it may wait in any queue beside its row.
  *
  * @param record as it was read, for whoever must give it back as it was
  * @param arrivedMs wall clock when the reader received it
  * @param arrivedNanos the same moment on this JVM's monotonic clock
  * @param sequence its number among the records of its task
  * @param readMicros when it was handed on
  * @param partition counts the records of its partition, if anybody does
  */
private[headrace] final class Position(
    val record: ConsumerRecord[Array[Byte], Array[Byte]],
    val arrivedMs: Long,
    val arrivedNanos: Long,
    val sequence: Long,
    override val readMicros: Long,
    override val partition: PartitionMeter)
    extends Origin {
  override def creationMs: Long = if (createTime) record.timestamp else Origin.Unknown

  override def enteredMicros: Long = readMicros

  /** The record's own timestamp. */
  def createdMs: Long = record.timestamp

  /** Whether that timestamp is its producer's; false when the broker stamped it at arrival. */
  def createTime: Boolean = record.timestampType == TimestampType.CREATE_TIME

  override def toString: String = s"${record.topic}-${record.partition}@${record.offset}"
}

/** The origins of the rows that pass one point of a task, in the order of the rows.
  *
  * Between two such points rows are pulled one by one by one thread, so the origin last set belongs to every row
  * (also to several, or none) that comes out until it is set again. An operator that reads ahead breaks exactly that,
  * and therefore ends one trail and begins the next (`TaskScope.readAhead`). The sink reads the last trail of its task.
  */
private[headrace] final class Trail {
  private var here: Origin = _

  def set(origin: Origin): Unit = here = origin

  /** Null where nobody can tell. */
  def origin: Origin = here

  /** None in a task that has no source of ours, such as one behind a shuffle. */
  def current: Option[Position] = Position.of(here)
}

private[headrace] object Position {
  /** That of a row which was read in this task. */
  def of(origin: Origin): Option[Position] = origin match {
    case position: Position => Some(position)
    case _ => None
  }
}

/** Where an operator that reads ahead stands between two trails.
  *
  * Whoever pulls its input takes the origin on `before` together with each row and queues both; whoever hands the row
  * on calls `follow` first.
  */
private[headrace] final case class ReadAhead(before: Trail, after: Trail) {
  // One is written by the thread that pulls, the other by the one that hands on.
  @volatile private var pulled = 0L
  @volatile private var done = 0L

  /** A row was pulled. */
  def took(): Unit = pulled += 1

  /** A row and what came of it have gone all the way, or will not. */
  def finished(): Unit = done += 1

  /** Whether no row is on its way. Asked by the thread that pulls. */
  def isDrained: Boolean = done == pulled

  def follow(origin: Origin): Unit = after.set(origin)
}
