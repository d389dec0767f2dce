// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.{List => JList, Map => JMap, TreeMap}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.core.`type`.TypeReference
import com.fasterxml.jackson.databind.ObjectMapper
import headrace.HeadraceException
import org.apache.kafka.common.TopicPartition

/** The JSON that users write in options and Spark keeps in checkpoints. */
private[kafka] object OffsetJson {
  private val mapper = new ObjectMapper()

  /** `{"topicA":{"0":23,"1":-1}}`: offsets, or timestamps, of partitions. */
  def readOffsets(json: String, option: String = "offsets"): Map[TopicPartition, Long] = {
    val parsed = read(json, option, """{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}""")(
      mapper.readValue(_, new TypeReference[JMap[String, JMap[Integer, java.lang.Long]]] {}))
    for ((topic, offsets) <- parsed.asScala.toMap; (partition, offset) <- offsets.asScala)
      yield new TopicPartition(topic, partition) -> offset.longValue
  }

  /** `{"topicA":[0,1]}`: partitions without offsets. */
  def readPartitions(json: String, option: String): Set[TopicPartition] = {
    val parsed = read(json, option, """{"topicA":[0,1],"topicB":[2,4]}""")(
      mapper.readValue(_, new TypeReference[JMap[String, JList[Integer]]] {}))
    val partitions =
      for ((topic, numbers) <- parsed.asScala.toSet; number <- numbers.asScala) yield new TopicPartition(topic, number)
    if (partitions.isEmpty) throw malformed(json, option, """{"topicA":[0,1],"topicB":[2,4]}""", null)
    partitions
  }

  def writeOffsets(offsets: Map[TopicPartition, Long]): String = {
    // Sorted, because Spark compares the offsets of two epochs as text to see whether anything was read.
    val topics = new TreeMap[String, TreeMap[Integer, java.lang.Long]]()
    offsets.foreachEntry { (tp, offset) =>
      topics.computeIfAbsent(tp.topic, _ => new TreeMap[Integer, java.lang.Long]()).put(tp.partition, offset)
    }
    mapper.writeValueAsString(topics)
  }

  private def read[T](json: String, option: String, example: String)(parse: String => T): T =
    try {
      val parsed = parse(json)
      if (parsed == null) throw malformed(json, option, example, null)
      parsed
    } catch { case cause: JsonProcessingException => throw malformed(json, option, example, cause) }

  private def malformed(json: String, option: String, example: String, cause: Throwable) =
    new HeadraceException(
      "KAFKA_OPTION_INVALID",
      s"The Kafka option '$option' is not valid JSON of this form: expected e.g. $example, got $json. Nothing was read. " +
        s"Correct '$option' and start again.",
      Map("option" -> option, "value" -> json),
      cause)
}
