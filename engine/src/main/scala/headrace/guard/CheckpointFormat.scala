// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import java.io.{BufferedReader, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8

import headrace.HeadraceException
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.internal.SQLConf

/** Which commit log a checkpoint was begun with.
  *
  * Spark refuses version 1 in real-time mode altogether, because state that was written under it could be read back wrong
  * after a failed epoch. Without state there is nothing to read back, so only stateful queries are refused here.
  *
  * Reaches into Spark: `CheckpointFileManager`, because a checkpoint must be read through what wrote it.
  */
private[guard] object CheckpointFormat {
  def check(start: WriteToStreamStatement, stateful: Boolean): Unit =
    if (stateful) {
      val conf = SQLConf.get
      if (conf.stateStoreCheckpointFormatVersion < 2)
        throw refusal(s"the setting ${SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION.key} is 1", "Set it to 2, or leave it out.")
      location(start).filter(isVersion1(_, start)).foreach { path =>
        throw refusal(
          s"its checkpoint $path was begun in format 1",
          "Keep this query in micro-batch mode, or start it from a new checkpoint location (Headrace writes format 2 under " +
            "every trigger).")
      }
    }

  private def refusal(why: String, instead: String) = new HeadraceException(
    "CHECKPOINT_FORMAT_1",
    s"This stateful query cannot run in real-time mode, because $why: after a failed epoch its state could be restored " +
      s"wrong. The query did not start and the checkpoint is untouched. $instead")

  private[guard] def location(start: WriteToStreamStatement): Option[Path] =
    start.userSpecifiedCheckpointLocation.map(new Path(_)).orElse(
      for (root <- SQLConf.get.checkpointLocation; name <- start.userSpecifiedName) yield new Path(root, name))

  private def isVersion1(checkpoint: Path, start: WriteToStreamStatement): Boolean = {
    val commits = new Path(checkpoint, "commits")
    val files = CheckpointFileManager.create(commits, start.hadoopConf)
    if (!files.exists(commits)) false
    else {
      val newest = files.list(commits).map(_.getPath).filter(_.getName.forall(_.isDigit)).sortBy(_.getName.toLong).lastOption
      newest.exists { path =>
        val reader = new BufferedReader(new InputStreamReader(files.open(path), UTF_8))
        try reader.readLine() == "v1"
        finally reader.close()
      }
    }
  }
}
