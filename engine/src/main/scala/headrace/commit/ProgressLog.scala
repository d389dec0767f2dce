// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import java.io.{InputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.annotation.tailrec

import com.fasterxml.jackson.databind.ObjectMapper
import headrace.HeadraceException
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog
import org.slf4j.LoggerFactory

/** What a checkpoint knows of the progress recorded beside it.
  *
  * @param id in the names of the group and of the transactions
  * @param location of the checkpoint when this was written: a copy of it must not use the same names
  * @param tasks the highest number of tasks there ever were: each has its own transactions
  */
private[headrace] final case class ProgressNote(id: String, location: String, tasks: Int) {
  def transactionalIds: Seq[String] = (0 until tasks).map(ProgressPlan.transactionalId(id, _))
}

/** The notes of a checkpoint, in its folder `headrace`; the last one counts.
  *
  * Reaches into Spark: `HDFSMetadataLog`, so that the notes are written by the checkpoint's own file manager.
  */
private[headrace] final class ProgressLog(session: SparkSession, checkpoint: String)
    extends HDFSMetadataLog[ProgressNote](session, s"$checkpoint/${ProgressLog.Folder}") {
  import ProgressLog._

  override def serialize(note: ProgressNote, out: OutputStream): Unit = {
    val node = mapper.createObjectNode()
    node.put("id", note.id).put("location", note.location).put("tasks", note.tasks)
    out.write(s"v1\n$node".getBytes(UTF_8))
  }

  override def deserialize(in: InputStream): ProgressNote =
    new String(in.readAllBytes(), UTF_8).split("\n", 2) match {
      case Array("v1", json) =>
        val node = mapper.readTree(json)
        ProgressNote(node.get("id").asText, node.get("location").asText, node.get("tasks").asInt)
      case _ => throw new HeadraceException(
          "CHECKPOINT_UNREADABLE",
          s"What the checkpoint ($checkpoint) says of progress inside epochs is not in a form this version knows. Nothing " +
            "was read. Use the version that wrote it, or a newer one.",
          Map("path" -> checkpoint))
    }

  /** The note for so many tasks. A checkpoint that was copied or moved gets a new identity: what was recorded under the old
    * one may still be going on elsewhere.
    */
  def forTasks(tasks: Int): ProgressNote = {
    val same = getLatest().map(_._2).filter(_.location == checkpoint)
    ProgressNote(same.fold(UUID.randomUUID().toString)(_.id), checkpoint, math.max(tasks, same.fold(0)(_.tasks)))
  }

  /** Writes a note if it is news; returns the one that counts. */
  @tailrec def keep(note: ProgressNote): ProgressNote = {
    val known = getLatest()
    if (known.exists(_._2 == note)) note
    else {
      known.map(_._2.location).filter(_ != checkpoint).foreach(location =>
        news.warn(
          "The checkpoint {} was copied or moved from {}. It goes on by itself from here; what was recorded inside the " +
            "last epoch there is used once.",
          checkpoint, location))
      // Another run may have been faster: then its note counts.
      if (add(known.fold(0L)(_._1 + 1), note)) note else keep(forTasks(note.tasks))
    }
  }
}

private[commit] object ProgressLog {
  /** The last note of a checkpoint. One without notes is left as it is: to look with a log would make its folder. */
  def lastOf(session: SparkSession, checkpoint: String): Option[ProgressNote] = {
    val folder = new Path(checkpoint, Folder)
    val exists = folder.getFileSystem(session.sessionState.newHadoopConf()).exists(folder)
    if (exists) new ProgressLog(session, checkpoint).getLatest().map(_._2) else None
  }

  private val Folder = "headrace"
  private val mapper = new ObjectMapper
  // The name log is taken: Spark's own.
  private val news = LoggerFactory.getLogger("headrace.commit.ProgressLog")
}
