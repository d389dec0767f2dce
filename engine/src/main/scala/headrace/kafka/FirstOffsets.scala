// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.{Collections, LinkedHashMap, Map => JMap}

import scala.ref.WeakReference

import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.connector.read.InputPartition

/** Where the first epoch of each run of a real-time query began, for whoever reports on a restart. */
private[headrace] object FirstOffsets {
  private final case class Begin(starts: Map[TopicPartition, Long], streams: Seq[WeakReference[KafkaStream]])

  private val Kept = 100
  private val begins: JMap[String, Begin] = Collections.synchronizedMap(new LinkedHashMap[String, Begin]() {
    override def removeEldestEntry(eldest: JMap.Entry[String, Begin]): Boolean = size > Kept
  })

  /** Called when an epoch of a run has been planned; the first one counts. */
  def note(run: String, streams: Seq[KafkaStream], partitions: Seq[InputPartition]): Unit = {
    val starts = partitions.collect { case group: GroupPartition => group.starts }.flatten.toMap
    begins.putIfAbsent(run, Begin(starts, streams.map(new WeakReference(_)))): Unit
  }

  /** The offsets at which a run began, as JSON; null before its first epoch. */
  def of(run: String): String = Option(begins.get(run)).map(begin => OffsetJson.writeOffsets(begin.starts)).orNull

  /** The ends of what a run reads, as far as they are known by now, as JSON. */
  def ends(run: String): String = {
    val known = for {
      begin <- Option(begins.get(run)).toSeq
      stream <- begin.streams.flatMap(_.get)
      newest <- Option(stream.reportLatestOffset()).toSeq
      end <- KafkaOffset.of(newest).offsets
    } yield end
    OffsetJson.writeOffsets(known.toMap)
  }
}
