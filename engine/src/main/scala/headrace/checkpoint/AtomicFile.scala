// SPDX-License-Identifier: Apache-2.0
package headrace.checkpoint

import java.io.{IOException, OutputStream}
import java.nio.file.{FileAlreadyExistsException => NameTakenException, Files, NoSuchFileException}
import java.util.UUID

import scala.util.control.NonFatal

import headrace.HeadraceException
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.slf4j.LoggerFactory

/** A file that appears under its name when it is closed, whole and durable, or not at all.
  *
  * It consists of two: its data, and the checksums that Hadoop keeps beside them in a hidden file. Hadoop's tools read data
  * without checksums, but not with wrong ones, so at no moment may those of another content lie beside the data: old
  * checksums go before the data come, the new ones come after them.
  *
  * Reaches into Spark: `CheckpointFileManager.CancellableFSDataOutputStream`, the form in which Spark wants such a file.
  */
private[headrace] final class AtomicFile private (
    files: LocalFiles,
    target: Path,
    temporary: Path,
    overwrite: Boolean,
    disk: Disk,
    stream: OutputStream)
    extends CancellableFSDataOutputStream(stream) {
  private val log = LoggerFactory.getLogger(classOf[AtomicFile])
  private val data = files.pathToFile(temporary).toPath
  private val sums = files.pathToFile(files.getChecksumFile(temporary)).toPath
  private val name = files.pathToFile(target).toPath
  private val nameOfSums = files.pathToFile(files.getChecksumFile(target)).toPath
  private var ended = false

  override def close(): Unit = synchronized {
    if (!ended) {
      ended = true
      try {
        stream.close()
        disk.sync(data)
        disk.sync(sums)
        if (overwrite) takeName() else takeFreeName()
        disk.replace(sums, nameOfSums)
        disk.remove(data)
        disk.sync(name.getParent)
      } catch { case e: NoSuchFileException if Files.exists(name.getParent) => throw takenOver(e) }
      finally discard()
    }
  }

  override def cancel(): Unit = synchronized {
    if (!ended) {
      ended = true
      try stream.close()
      catch { case NonFatal(e) => log.debug("Could not write the rest of {}, which is not wanted any more.", temporary, e) }
      finally discard()
    }
  }

  private def takeName(): Unit = {
    disk.remove(nameOfSums)
    disk.replace(data, name)
  }

  private def takeFreeName(): Unit = {
    // Checksums without data: somebody took out an entry of a log by hand, and did not see the hidden file. In this order,
    // for those of a faster writer come after its data.
    if (Files.exists(nameOfSums) && !Files.exists(name)) disk.remove(nameOfSums)
    try disk.publish(data, name)
    catch {
      case e: NameTakenException =>
        // By this class Spark knows that another query writes to the same checkpoint.
        val taken = new FileAlreadyExistsException(s"$target exists already; another writer was faster.")
        taken.initCause(e)
        throw taken
    }
  }

  /** A run that begins removes what an earlier one left half written; this one only stood still. */
  private def takenOver(cause: NoSuchFileException) = new HeadraceException(
    "CHECKPOINT_TAKEN_OVER",
    s"Another run has taken over the checkpoint of this query, and has removed ${cause.getFile} before this run could finish it, " +
      "so this run is over. Nothing is lost: the other goes on behind what was recorded. Stop one of the two, or give each a " +
      "checkpoint of its own.",
    Map("file" -> cause.getFile),
    cause)

  /** Removes what is left of the temporary files: nothing after a success. */
  private def discard(): Unit = for (file <- Seq(data, sums))
    try disk.remove(file)
    catch { case e: IOException => log.warn("Could not remove the temporary file {}.", file, e) }
}

private[headrace] object AtomicFile {
  /** Begins to write a file whose folder exists. */
  def create(files: LocalFiles, target: Path, overwrite: Boolean, disk: Disk): AtomicFile = {
    val temporary = new Path(target.getParent, temporaryName(target))
    val stream = files.createNonRecursive(
      temporary,
      null,
      true,
      files.getConf.getInt("io.file.buffer.size", 4096),
      files.getDefaultReplication(temporary),
      files.getDefaultBlockSize(temporary),
      null)
    new AtomicFile(files, target, temporary, overwrite, disk, stream)
  }

  /** As Spark names them: whoever cleans up after a kill knows them by it. */
  private def temporaryName(target: Path): String = {
    val task = Option(TaskContext.get()).fold("")(it => s".TID${it.taskAttemptId()}")
    s".${target.getName}.${UUID.randomUUID()}$task.tmp"
  }
}
