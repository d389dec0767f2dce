// SPDX-License-Identifier: Apache-2.0
package headrace.checkpoint

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{Path => LocalPath}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FSDataInputStream, Path, PathFilter}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream

/** A checkpoint on a local disk: the same files as Spark's own, checksums included, without a process for each of them.
  *
  * Unlike Spark's, a file that was closed survives a loss of power, and two writers of one file can never both succeed.
  */
private[headrace] class LocalCheckpoint(root: Path, conf: Configuration, disk: Disk = Disk)
    extends CheckpointFileManager {
  // One of our own, not the one that the JVM shares: that one may be somebody else's.
  private val files = LocalFiles(conf)

  override def createAtomic(path: Path, overwriteIfPossible: Boolean): CancellableFSDataOutputStream =
    AtomicFile.create(files, path, overwriteIfPossible, disk)

  /** Hadoop's checksums are not compared, because Spark's own file manager does not: it reads checkpoints whose entries were
    * edited or taken out by hand. Those of state have a checksum of Spark's, which is.
    */
  override def open(path: Path): FSDataInputStream = files.getRawFileSystem.open(path)

  override def list(path: Path, filter: PathFilter): Array[FileStatus] = files.listStatus(path, filter)

  override def mkdirs(path: Path): Unit =
    if (!disk.makingFolders(local(path))(files.mkdirs(path, FsPermission.getDirDefault)))
      throw new IOException(s"The folder $path could not be made.")

  override def exists(path: Path): Boolean = files.exists(path)

  override def delete(path: Path): Unit =
    try files.delete(path, true): Unit
    catch { case _: FileNotFoundException => () }

  override def isLocal: Boolean = true

  override def createCheckpointDirectory(): Path = {
    val qualified = files.makeQualified(root)
    mkdirs(qualified)
    qualified
  }

  private def local(path: Path): LocalPath = files.pathToFile(path).toPath
}
