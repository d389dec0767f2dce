// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.headrace

import scala.jdk.CollectionConverters._

import _root_.headrace.shuffle.{Gathering, RowStamps, StampedIn, StampedOut}
import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.internal.config.STREAMING_SHUFFLE_READER_MAX_MEMORY
import org.apache.spark.network.shuffle.streaming.{DataMessage, StreamingShuffleMessage}
import org.apache.spark.scheduler.MapStatus
import org.apache.spark.shuffle.{BaseShuffleHandle, ShuffleHandle, ShuffleReadMetricsReporter, ShuffleReader, ShuffleWriteMetricsReporter, ShuffleWriter}
import org.apache.spark.shuffle.streaming.{StreamingShuffleManager, StreamingShuffleReader}
import org.apache.spark.shuffle.streaming.headrace.Gathered
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.UnsafeRowSerializer
import org.apache.spark.util.MutablePair

/** Spark's shuffle of real-time queries, whose rows carry with them when their records were created and read, and do not
  * wait for company when their source has no further one.
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
    val spark =
      super.getReader[K, C](handle, startMapIndex, endMapIndex, startPartition, endPartition, context, metrics)
    if (isStamped(handle)) () => new StampedRows(spark.read(), new StampedIn(context, Inbox.fullness(spark))) else spark
  }

  private def isStamped(handle: ShuffleHandle): Boolean = handle match {
    case base: BaseShuffleHandle[_, _, _] =>
      RowStamps.areOn && base.dependency.serializer.isInstanceOf[UnsafeRowSerializer]
    case _ => false
  }
}

/** The rows that have come to a task and wait for it.
  *
  * Reaches into Spark: `StreamingShuffleReader.messageQueue` holds them. When they take more than the task's share of
  * `spark.shuffle.streaming.readerMaxMemory`, Spark lets no more come, and the stage before waits.
  */
private object Inbox {
  def fullness(reader: ShuffleReader[_, _]): () => Double = reader match {
    case streaming: StreamingShuffleReader[_, _] =>
      val most = SparkEnv.get.conf.get(STREAMING_SHUFFLE_READER_MAX_MEMORY).toDouble
      () => math.min(1.0, streaming.messageQueue.asScala.map(bytes).sum / most)
    case _ => () => 0.0
  }

  private def bytes(message: StreamingShuffleMessage): Double = message match {
    case rows: DataMessage => rows.dataSize.toDouble
    case _ => 0.0
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
