// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.time.Duration
import java.util.concurrent.TimeUnit

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.KafkaProducer
import org.apache.spark.SparkConf

/** The producers of this JVM, one for each set of settings, shared by all tasks that use it and kept between epochs. */
private[headrace] object ProducerPool {
  type Producer = KafkaProducer[Array[Byte], Array[Byte]]

  private final class Entry(val producer: Producer) {
    var users = 0
    var idleSince = 0L
  }

  private val entries = mutable.HashMap.empty[Map[String, String], Entry]
  private val retired = mutable.HashSet.empty[Entry]
  private var idleNanos = TimeUnit.MINUTES.toNanos(10)

  def configure(conf: SparkConf): Unit = synchronized {
    idleNanos = TimeUnit.MILLISECONDS.toNanos(conf.getTimeAsMs("spark.kafka.producer.cache.timeout", "10m"))
  }

  def acquire(settings: Map[String, String]): Producer = synchronized {
    val entry = entries.getOrElseUpdate(
      settings, new Entry(new KafkaProducer(settings.asJava.asInstanceOf[java.util.Map[String, AnyRef]])))
    entry.users += 1
    entry.producer
  }

  /** Gives a producer back. One with a failed send is not lent again, because some failures are for good; it is closed when
    * its last user is done.
    */
  def release(settings: Map[String, String], producer: Producer, failed: Boolean): Unit = {
    val isFinished = synchronized {
      val entry = (retired.iterator ++ entries.get(settings)).find(_.producer eq producer)
      entry.foreach { used =>
        used.users -= 1
        used.idleSince = System.nanoTime()
        if (failed && entries.get(settings).contains(used)) {
          entries -= settings
          retired += used
        }
      }
      entry.exists(used => used.users == 0 && retired.remove(used))
    }
    if (isFinished) producer.close(Duration.ZERO)
  }

  /** Closes what nobody has used longer than `spark.kafka.producer.cache.timeout`. */
  def evict(): Unit = {
    val now = System.nanoTime()
    val expired = synchronized {
      val old = entries.filter { case (_, entry) => entry.users == 0 && now - entry.idleSince > idleNanos }
      entries --= old.keys
      old.values.map(_.producer).toSeq
    }
    expired.foreach(_.close(Duration.ZERO))
  }

  def closeAll(): Unit = synchronized {
    (entries.values ++ retired).foreach(_.producer.close(Duration.ZERO))
    entries.clear()
    retired.clear()
  }

  def size: Int = synchronized(entries.size)
}
