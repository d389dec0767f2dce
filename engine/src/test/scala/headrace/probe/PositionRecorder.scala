// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}

import scala.jdk.CollectionConverters._

import headrace.TaskScope
import org.apache.spark.TaskContext
import org.apache.spark.sql.{ForeachWriter, Row}

/** A sink that notes for each row what the row says of its origin and what the task's trail says.
  *
  * Rows have the columns topic, partition, offset and created (milliseconds).
  */
final class PositionRecorder extends ForeachWriter[Row] {
  override def open(partition: Long, epoch: Long): Boolean = true

  override def process(row: Row): Unit = {
    PositionRecorder.gate.await()
    val told = TaskScope.of(TaskContext.get()).last.current
    val own = (row.getAs[String]("topic"), row.getAs[Int]("partition"), row.getAs[Long]("offset"), row.getAs[Long]("created"))
    val same = told.exists(at => (at.record.topic, at.record.partition, at.record.offset, at.createdMs) == own)
    val arrived = told.exists(at => at.arrivedMs >= at.createdMs && at.arrivedMs <= System.currentTimeMillis())
    PositionRecorder.seen.add(s"$own\t${told.getOrElse("none")}\t$same\t$arrived"): Unit
  }

  override def close(cause: Throwable): Unit = ()
}

/** What the tasks of this JVM noted; a local master has no other. */
object PositionRecorder {
  private val seen = new ConcurrentLinkedQueue[String]()
  @volatile private var gate = new CountDownLatch(0)

  def reset(): Unit = {
    seen.clear()
    ReadAheadRows.reset()
  }

  /** Holds every row at the sink until `release` is called, so that a read-ahead gets as far as it can. */
  def hold(): Unit = gate = new CountDownLatch(1)

  def release(): Unit = gate.countDown()

  def count(): Int = seen.size

  def furthestAhead(): Int = ReadAheadRows.furthestAhead

  /** Lines of: the row's own origin, the trail's, whether they are the same, whether the arrival time makes sense. */
  def lines(): Array[String] = seen.asScala.toArray
}
