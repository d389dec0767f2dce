// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.headrace

import _root_.headrace.shuffle.{Gathering, RowStamps, StampedIn, StampedOut}
import org.apache.spark.TaskContext
import org.apache.spark.scheduler.MapStatus
import org.apache.spark.shuffle.{BaseShuffleHandle, ShuffleHandle, ShuffleReadMetricsReporter, ShuffleReader, ShuffleWriteMetricsReporter, ShuffleWriter}
import org.apache.spark.shuffle.streaming.StreamingShuffleManager
import org.apache.spark.shuffle.streaming.headrace.Gathered
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.UnsafeRowSerializer
import org.apache.spark.util.MutablePair

/** Spark's shuffle of real-time queries, whose rows carry with them when their records were created and read, and do not
  * wait for company when their task has no further one at hand.
  *
  * Reaches into Spark: `StreamingShuffleManager` is extended, and `UnsafeRowSerializer` tells a shuffle of rows from others.
  * Spark makes what goes with its shuffle for that class alone; the serializer is the same on both sides.
  */
private[spark] final class StampedShuffle extends StreamingShuffleManager {
  override def getWriter[K, V](
      handle: ShuffleHandle,
      mapId: Long,
      context: TaskContext,
      metrics: ShuffleWriteMetricsReporter): ShuffleWriter[K, V] = {
    val spark = super.getWriter[K, V](handle, mapId, context, metrics)
    val prompt = new PromptWriter(spark, new Gathering(context, Gathered.sending(spark)))
    if (isStamped(handle)) new StampingWriter(prompt, new StampedOut(context)) else prompt
  }

  override def getReader[K, C](
      handle: ShuffleHandle,
      startMapIndex: Int,
      endMapIndex: Int,
      startPartition: Int,
      endPartition: Int,
      context: TaskContext,
      metrics: ShuffleReadMetricsReporter): ShuffleReader[K, C] = {
    val inbox = new Inbox(Gathering.sending(context))
    val prompt = new PromptReader[K, C](handle, context, inbox)
    if (isStamped(handle)) () => new StampedRows(prompt.read(), new StampedIn(context, () => inbox.fullness)) else prompt
  }

  private def isStamped(handle: ShuffleHandle): Boolean = handle match {
    case base: BaseShuffleHandle[_, _, _] =>
      RowStamps.areOn && base.dependency.serializer.isInstanceOf[UnsafeRowSerializer]
    case _ => false
  }
}

private final class PromptWriter[K, V](spark: ShuffleWriter[K, V], gathering: Gathering) extends ShuffleWriter[K, V] {
  override def write(records: Iterator[Product2[K, V]]): Unit = spark.write(records.map(gathering(_)))

  override def stop(success: Boolean): Option[MapStatus] = spark.stop(success)

  override def getPartitionLengths(): Array[Long] = spark.getPartitionLengths()
}

private final class StampingWriter[K, V](spark: ShuffleWriter[K, V], stamped: StampedOut) extends ShuffleWriter[K, V] {
  private val pair = new MutablePair[K, V]()

  override def write(records: Iterator[Product2[K, V]]): Unit = spark.write(records.map(record =>
    pair.update(record._1, stamped(record._2.asInstanceOf[UnsafeRow]).asInstanceOf[V])))

  override def stop(success: Boolean): Option[MapStatus] = spark.stop(success)

  override def getPartitionLengths(): Array[Long] = spark.getPartitionLengths()
}

private final class StampedRows[K, C](rows: Iterator[Product2[K, C]], stamped: StampedIn)
    extends Iterator[Product2[K, C]] {
  override def hasNext: Boolean = rows.hasNext || {
    stamped.end()
    false
  }

  override def next(): Product2[K, C] = {
    val record = rows.next()
    stamped(record._2.asInstanceOf[UnsafeRow])
    record
  }
}
