// SPDX-License-Identifier: Apache-2.0
package headrace.checkpoint

import java.net.URI
import java.nio.file.{Path => LocalPath}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{LocalFileSystem, Path}

/** Hadoop's local file system, with its checksums, without the processes that it starts. */
final class LocalFiles extends LocalFileSystem(new RawLocalFiles) {

  /** Copies a file and waits until it is durable.
    *
    * This is how Spark brings the files of a snapshot of state into a checkpoint, past its file manager. What is written
    * next, the list of these files, is durable as soon as it is there; it must not name files that a loss of power undid.
    */
  override def copyFromLocalFile(delSrc: Boolean, src: Path, dst: Path): Unit = {
    val target = if (local(dst).toFile.isDirectory) new Path(dst, src.getName) else dst
    val folder = local(target).toAbsolutePath.getParent
    Disk.makingFolders(folder)(super.copyFromLocalFile(delSrc, src, dst))
    if (local(target).toFile.isFile) {
      Seq(local(target), local(getChecksumFile(target))).filter(_.toFile.isFile).foreach(Disk.sync)
      Disk.sync(folder)
    }
  }

  private def local(path: Path): LocalPath = pathToFile(path).toPath
}

private[headrace] object LocalFiles {
  val Root: URI = URI.create("file:///")

  def apply(conf: Configuration): LocalFiles = {
    val files = new LocalFiles
    files.initialize(Root, conf)
    files
  }
}
