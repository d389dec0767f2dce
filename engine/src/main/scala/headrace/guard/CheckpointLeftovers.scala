// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.slf4j.LoggerFactory

/** Half-written log files of a run that was killed before its first commit.
  *
  * In real-time mode Spark then begins anew, but first demands that both logs be empty and counts such a file as an entry:
  * the checkpoint could never be used again. Nothing was committed, so nothing is lost with them.
  *
  * Reaches into Spark: `CheckpointFileManager`, whose temporary files begin with a dot and the entry's number and end in tmp.
  */
private[guard] object CheckpointLeftovers {
  private val log = LoggerFactory.getLogger("headrace.guard.CheckpointLeftovers")
  private val Temporary = """\.\d+\..+\.tmp""".r

  def remove(start: WriteToStreamStatement): Unit = CheckpointFormat.location(start).foreach { checkpoint =>
    val files = CheckpointFileManager.create(checkpoint, start.hadoopConf)
    def names(log: String): Seq[Path] = {
      val folder = new Path(checkpoint, log)
      if (files.exists(folder)) files.list(folder).map(_.getPath).toSeq else Nil
    }
    if (!names("commits").exists(_.getName.forall(_.isDigit)))
      for (path <- names("commits") ++ names("offsets") if Temporary.matches(path.getName)) {
        log.warn("Removing {}: it was being written when an earlier run was killed before its first commit.", path)
        files.delete(path)
      }
  }
}
