// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.concurrent.TimeUnit

import scala.collection.mutable

import org.apache.kafka.common.TopicPartition
import org.apache.spark.SparkConf
import org.slf4j.LoggerFactory

/** The consumers of this JVM that wait for their next epoch.
  *
  * A consumer belongs to at most one task. What sits idle longer than `spark.kafka.consumer.cache.timeout`, and the
  * oldest beyond `spark.kafka.consumer.cache.capacity`, is closed.
  */
private[headrace] object ConsumerPool {
  private final case class Key(settings: Map[String, String], partitions: Seq[TopicPartition])
  private final case class Idle(key: Key, consumer: AssignedConsumer, sinceNanos: Long)

  private val log = LoggerFactory.getLogger("headrace.kafka.ConsumerPool")
  // Oldest first.
  private val idle = mutable.ArrayDeque.empty[Idle]
  private var idleNanos = TimeUnit.MINUTES.toNanos(5)
  private var capacity = 64

  def configure(conf: SparkConf): Unit = synchronized {
    idleNanos = TimeUnit.MILLISECONDS.toNanos(conf.getTimeAsMs("spark.kafka.consumer.cache.timeout", "5m"))
    capacity = conf.getInt("spark.kafka.consumer.cache.capacity", 64)
  }

  def acquire(settings: Map[String, String], partitions: Seq[TopicPartition]): AssignedConsumer = {
    val key = Key(settings, partitions)
    val found = synchronized {
      val at = idle.lastIndexWhere(_.key == key)
      if (at >= 0) Some(idle.remove(at).consumer) else None
    }
    found.getOrElse {
      log.info("Opening a consumer for {}", partitions.mkString(", "))
      new AssignedConsumer(settings, partitions)
    }
  }

  /** Gives a consumer back after a task that went well; one whose task failed must be closed instead. */
  def release(settings: Map[String, String], consumer: AssignedConsumer): Unit = {
    synchronized(idle.append(Idle(Key(settings, consumer.partitions), consumer, System.nanoTime())))
    evict()
  }

  def evict(): Unit = {
    val now = System.nanoTime()
    val surplus = synchronized {
      val expired = idle.takeWhile(entry => now - entry.sinceNanos > idleNanos).size
      (0 until math.max(expired, idle.size - capacity)).map(_ => idle.removeHead().consumer)
    }
    surplus.foreach(_.close())
  }

  /** Closes what waits for a query that has ended; its group id names the query's run. */
  def closeGroup(groupId: String): Unit = {
    val ended = synchronized {
      val (mine, others) = idle.partition(_.key.settings.get("group.id").contains(groupId))
      idle.clear()
      idle ++= others
      mine.map(_.consumer)
    }
    ended.foreach(_.close())
  }

  def closeAll(): Unit = synchronized {
    idle.foreach(_.consumer.close())
    idle.clear()
  }

  def size: Int = synchronized(idle.size)
}
