// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.io.{InputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import headrace.HeadraceException
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog

/** The first offsets of a query, kept in its checkpoint, because until the first commit a restart asks for them again.
  *
  * Reaches into Spark: `HDFSMetadataLog`, because the file must be written by Spark's own checkpoint file manager and be
  * found where Spark's connector looks for it. The form is that connector's: a zero byte, `v1`, the offsets' JSON.
  */
private[kafka] final class InitialOffsets(session: SparkSession, path: String)
    extends HDFSMetadataLog[KafkaOffset](session, path) {

  override def serialize(offset: KafkaOffset, out: OutputStream): Unit = {
    out.write(0)
    out.write(s"v1\n${offset.json}".getBytes(UTF_8))
  }

  override def deserialize(in: InputStream): KafkaOffset = {
    val bytes = in.readAllBytes()
    val text = new String(bytes, math.min(1, bytes.length), math.max(0, bytes.length - 1), UTF_8)
    text.split("\n", 2) match {
      case Array("v1", json) => KafkaOffset(OffsetJson.readOffsets(json))
      case _ => throw new HeadraceException(
          "CHECKPOINT_UNREADABLE",
          s"The first offsets in the checkpoint ($path) are not in a form this version knows. Nothing was read. Start " +
            "from a checkpoint of Spark 2.2 or newer.",
          Map("path" -> path))
    }
  }
}
