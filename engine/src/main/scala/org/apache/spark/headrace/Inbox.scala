// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.headrace

import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.internal.config.STREAMING_SHUFFLE_READER_MAX_MEMORY
import org.apache.spark.network.shuffle.streaming.{DataMessage, StreamingShuffleMessage}
import org.apache.spark.shuffle.ShuffleHandle
import org.apache.spark.shuffle.streaming.StreamingShuffleReader

/** The rows that have come to a task through a shuffle and wait for it. When they take more than the task's share of
  * `spark.shuffle.streaming.readerMaxMemory`, Spark lets no more come, and the stage before waits.
  *
  * @param beforeWaiting called by the task when there is none, before it waits for one
  */
private[headrace] final class Inbox(beforeWaiting: () => Unit) extends LinkedBlockingQueue[StreamingShuffleMessage] {
  private val most = SparkEnv.get.conf.get(STREAMING_SHUFFLE_READER_MAX_MEMORY).toDouble

  override def poll(timeout: Long, unit: TimeUnit): StreamingShuffleMessage = {
    val there = poll()
    if (there != null) there
    else {
      beforeWaiting()
      super.poll(timeout, unit)
    }
  }

  /** How full it is, from 0 to 1. */
  def fullness: Double = math.min(1.0, this.asScala.map(bytes).sum / most)

  private def bytes(message: StreamingShuffleMessage): Double = message match {
    case rows: DataMessage => rows.dataSize.toDouble
    case _ => 0.0
  }
}

/** Spark's reader of a shuffle, with an inbox of ours.
  *
  * Reaches into Spark: `StreamingShuffleReader.messageQueue` is what its threads fill and its task polls. It is a parameter
  * here, because Spark's part of the reader starts the first of these threads before ours is set up.
  */
private[headrace] final class PromptReader[K, C](
    handle: ShuffleHandle,
    task: TaskContext,
    override private[spark] val messageQueue: Inbox)
    extends StreamingShuffleReader[K, C](handle, task)
