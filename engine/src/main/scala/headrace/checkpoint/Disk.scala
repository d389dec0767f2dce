// SPDX-License-Identifier: Apache-2.0
package headrace.checkpoint

import java.io.IOException
import java.nio.channels.{ClosedByInterruptException, FileChannel}
import java.nio.file.{Files, FileAlreadyExistsException, FileSystemException, Path}
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.{READ, WRITE}

/** The calls to the operating system on which it depends what a crash leaves behind.
  *
  * A class, and handed to those who use it, so that a test can watch them and stop a JVM between two of them.
  */
private[headrace] class Disk {
  /** Returns when the content of a file, or the names in a folder, would survive a loss of power. */
  def sync(path: Path): Unit = {
    // A folder can be opened for reading only; a file is synced by whoever may write it.
    val channel = FileChannel.open(path, if (Files.isDirectory(path)) READ else WRITE)
    try channel.force(true)
    catch {
      // Spark stops a query by interrupting it, and knows it by this exception.
      case e: ClosedByInterruptException => throw e
      case e: IOException => throw new IOException(
          s"$path could not be made durable: ${e.getMessage}. What was committed before is untouched. If the file system " +
            "cannot do that, keep the checkpoint elsewhere, or let Spark's own file manager write it: set " +
            s"${CheckpointFiles.Setting} to ${CheckpointFiles.SparksOwn}.",
          e)
    } finally channel.close()
  }

  /** Gives a file a name that must not be taken yet; of several who try at once, one succeeds.
    *
    * Only where a file system has no hard links, it is looked first and moved then, as Spark does everywhere.
    */
  def publish(file: Path, name: Path): Unit = {
    def move(): Unit = if (Files.exists(name)) throw new FileAlreadyExistsException(name.toString) else replace(file, name)
    try Files.createLink(name, file): Unit
    catch {
      case _: UnsupportedOperationException => move()
      // Its subclasses say what was wrong with the names; the class itself, that the call is not possible here.
      case e: FileSystemException if e.getClass == classOf[FileSystemException] => move()
    }
  }

  /** Moves a file to a name in the same folder, over whatever has that name. */
  def replace(file: Path, name: Path): Unit = Files.move(file, name, ATOMIC_MOVE): Unit

  def remove(file: Path): Unit = Files.deleteIfExists(file): Unit

  /** Syncs the names of folders that did not exist before `make` was called. */
  def makingFolders[T](folder: Path)(make: => T): T = {
    val missing = Iterator.iterate(folder)(_.getParent).takeWhile(it => it != null && !Files.exists(it)).toList
    val made = make
    missing.foreach(it => sync(it.getParent))
    made
  }
}

private[headrace] object Disk extends Disk
