// SPDX-License-Identifier: Apache-2.0
package headrace.checkpoint

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, FSDataInputStream, Path, PathFilter}
import org.apache.hadoop.fs.local.LocalFs
import org.apache.spark.sql.execution.streaming.checkpointing.{
  CheckpointFileManager,
  FileContextBasedCheckpointFileManager
}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream

/** The files of a checkpoint: ours on a local disk, those of Spark's own file manager everywhere else.
  *
  * Without its native library, which the PySpark wheel does not have, Hadoop starts `chmod` and `ls` for the files that it
  * makes on a local disk. A query with state waits for them at the end of every epoch, while no record is processed.
  *
  * Reaches into Spark: `CheckpointFileManager`, and `spark.sql.streaming.checkpointFileManagerClass`, by which Spark finds
  * this one.
  */
final class CheckpointFiles(path: Path, conf: Configuration) extends CheckpointFileManager {
  private val files: CheckpointFileManager =
    if (CheckpointFiles.isLocal(path, conf)) new LocalCheckpoint(path, conf) else CheckpointFiles.ofSpark(path, conf)

  override def createAtomic(path: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream =
    files.createAtomic(path, overwriteIfPossible)

  override def open(path: Path): FSDataInputStream = files.open(path)
  override def list(path: Path, filter: PathFilter): Array[FileStatus] = files.list(path, filter)
  override def mkdirs(path: Path): Unit = files.mkdirs(path)
  override def exists(path: Path): Boolean = files.exists(path)
  override def delete(path: Path): Unit = files.delete(path)
  override def isLocal: Boolean = files.isLocal
  override def createCheckpointDirectory(): Path = files.createCheckpointDirectory()
  override def close(): Unit = files.close()
}

private[headrace] object CheckpointFiles {
  val Setting = "spark.sql.streaming.checkpointFileManagerClass"

  /** What Spark takes for a local disk when nobody says otherwise. */
  val SparksOwn: String = classOf[FileContextBasedCheckpointFileManager].getName

  private val LocalFiles = "fs.AbstractFileSystem.file.impl"

  /** Somebody who has replaced the local file system that Spark's own file manager uses wants checkpoints to go there. */
  private def isLocal(path: Path, conf: Configuration): Boolean = {
    val scheme = Option(path.toUri.getScheme).getOrElse(FileSystem.getDefaultUri(conf).getScheme)
    scheme == "file" && conf.get(LocalFiles, classOf[LocalFs].getName) == classOf[LocalFs].getName
  }

  /** What Spark would have chosen without us. */
  private def ofSpark(path: Path, conf: Configuration): CheckpointFileManager = {
    val without = new Configuration(conf)
    without.unset(Setting)
    CheckpointFileManager.create(path, without)
  }
}
