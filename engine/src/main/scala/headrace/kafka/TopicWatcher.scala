// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.HeadraceException
import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

/** Looks at the topics of a real-time query from a thread of its own, so that the calls between epochs ask nobody.
  *
  * It notices partitions that appear, topics that vanish or are created anew, and keeps the newest offsets for the lag
  * in the query's progress.
  */
private[kafka] final class TopicWatcher(broker: Broker, everyMs: Long, changed: () => Unit) extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[TopicWatcher])
  @volatile private var seen: Map[String, Broker.Topic] = broker.topics(lenient = true)
  @volatile private var newest: Map[TopicPartition, Long] = Map.empty
  @volatile private var stopped = false
  private var reachable = true

  private val thread = new Thread(() => watch(), "headrace-topic-watcher")
  thread.setDaemon(true)
  thread.start()

  def topics: Map[String, Broker.Topic] = seen

  def latest: Map[TopicPartition, Long] = newest

  private def watch(): Unit =
    try
      while (!stopped) {
        look()
        Thread.sleep(everyMs)
      }
    catch { case _: InterruptedException => () }

  private def look(): Unit =
    try {
      val now = broker.topics(lenient = true)
      // First what cannot wait: the newest offsets of a partition without a leader may be long in coming.
      if (now != seen) {
        log.info("The topics changed: {} partitions now", now.values.map(_.partitions.size).sum)
        seen = now
        changed()
      }
      newest = broker.latest(Broker.partitions(now))
      if (!reachable) log.info("The brokers answer again.")
      reachable = true
    } catch {
      // The readers have their own connections and go on by themselves; said once, not every time.
      case e: HeadraceException if !stopped =>
        if (reachable) log.warn("Cannot look for new partitions at the moment; trying again.", e)
        reachable = false
      case _: HeadraceException => ()
    }

  override def close(): Unit = {
    stopped = true
    thread.interrupt()
    thread.join(2000)
  }
}
