// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import java.nio.file.{Files, Path => LocalPath}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import headrace.checkpoint.{Disk, LocalCheckpoint}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/** A disk that tells before each call what is going to be done to which file. */
private[probe] abstract class NarratedDisk extends Disk {
  protected def next(step: String, file: LocalPath): Unit

  override def sync(path: LocalPath): Unit = {
    next(if (Files.isDirectory(path)) "sync folder" else "sync file", path)
    super.sync(path)
  }

  override def publish(file: LocalPath, name: LocalPath): Unit = {
    next("publish", file)
    super.publish(file, name)
  }

  override def replace(file: LocalPath, name: LocalPath): Unit = {
    next("replace", file)
    super.replace(file, name)
  }

  override def remove(file: LocalPath): Unit = {
    if (Files.exists(file)) next("remove", file)
    super.remove(file)
  }
}

/** A checkpoint that keeps what it did to the disk. */
final class WatchedCheckpoint private (path: Path, conf: Configuration, seen: ConcurrentLinkedQueue[String])
    extends LocalCheckpoint(
      path,
      conf,
      new NarratedDisk {
        override protected def next(step: String, file: LocalPath): Unit = seen.add(s"$step ${file.getFileName}"): Unit
      }) {
  def this(path: Path, conf: Configuration) = this(path, conf, new ConcurrentLinkedQueue[String]())

  /** One line a call: what was done, and to which file. */
  def steps(): Array[String] = seen.asScala.toArray
}

/** A checkpoint in a JVM that vanishes, as by kill -9, right before one step of writing one file.
  *
  * The settings `headrace.probe.crash.file`, a pattern for the path of the temporary file, and `headrace.probe.crash.step`.
  */
final class CrashingCheckpoint(path: Path, conf: Configuration)
    extends LocalCheckpoint(
      path,
      conf,
      new CrashingDisk(conf.get("headrace.probe.crash.file"), conf.get("headrace.probe.crash.step")))

private[probe] final class CrashingDisk(pattern: String, at: String) extends NarratedDisk {
  private val wanted = pattern.r
  // The folder's path does not tell for which file it is synced; the thread does.
  private val reached = ThreadLocal.withInitial[Boolean](() => false)

  override protected def next(step: String, file: LocalPath): Unit = {
    if (wanted.findFirstIn(file.toString).isDefined) reached.set(true)
    if (reached.get() && s"$step ${kind(file)}" == at) Runtime.getRuntime.halt(137)
  }

  private def kind(file: LocalPath): String =
    if (Files.isDirectory(file)) "folder" else if (file.toString.endsWith(".tmp.crc")) "sums" else "data"
}
