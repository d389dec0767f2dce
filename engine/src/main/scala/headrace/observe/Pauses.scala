// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import java.lang.management.ManagementFactory

import scala.jdk.CollectionConverters._

import com.sun.management.{GarbageCollectorMXBean => Collector}

/** How long the garbage collector holds this JVM up. Of collections that run beside the program, the JVM tells the same
  * way; those of G1 are pauses all.
  */
private[headrace] object Pauses {
  private val collectors = ManagementFactory.getGarbageCollectorMXBeans.asScala.collect { case one: Collector => one }.toSeq
  private var seen = Map.empty[String, Long]

  /** Called twice a second: of several collections in between, the last one's length is known and the others' sum. */
  def news(): JvmNews = synchronized {
    val longest = collectors.flatMap { collector =>
      Option(collector.getLastGcInfo).filterNot(last => seen.get(collector.getName).contains(last.getId)).map { last =>
        seen += collector.getName -> last.getId
        last.getDuration.toDouble
      }
    }.maxOption.getOrElse(0.0)
    val heap = ManagementFactory.getMemoryMXBean.getHeapMemoryUsage
    JvmNews(collectors.map(_.getCollectionTime).sum, longest, heap.getUsed, heap.getMax)
  }
}
