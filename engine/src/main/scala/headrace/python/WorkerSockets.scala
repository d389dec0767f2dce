// SPDX-License-Identifier: Apache-2.0
package headrace.python

import java.nio.file.{Files, Path, Paths}

import org.apache.spark.SparkConf
import org.slf4j.LoggerFactory

/** Where the sockets are through which a JVM and its Python workers talk.
  *
  * Their names have at most 103 bytes (107 on Linux), and the folder for temporary files of a YARN container leaves too
  * little of that.
  *
  * Reaches into Spark: `spark.python.unix.domain.socket.dir`, which it does not document.
  */
object WorkerSockets {
  private val log = LoggerFactory.getLogger("headrace.python.WorkerSockets")
  private val Enabled = "spark.python.unix.domain.socket.enabled"
  private val Named = "spark.python.unix.domain.socket.dir"
  // Spark refuses longer ones, but looks only at those that are set.
  private val LongestFolder = 61

  // Spark's own choice, and one that is there nearly everywhere.
  private val ownChoice = Paths.get(System.getProperty("java.io.tmpdir"))
  private val candidates = Seq(ownChoice, Paths.get("/tmp"))

  /** A folder for them, if there is one. */
  lazy val folder: Option[Path] = candidates.find(isUsable)

  /** Sees to it that Spark's choice is one that works in this process. A name that is set is the user's, or comes from the
    * driver, which may be on another kind of machine.
    */
  def settle(conf: SparkConf): Unit = if (conf.getBoolean(Enabled, defaultValue = false)) {
    val chosen = conf.getOption(Named).map(Paths.get(_)).getOrElse(ownChoice)
    if (!isUsable(chosen)) {
      val why = s"$chosen cannot hold a local socket: its name is too long, or nothing may be written there"
      folder match {
        case Some(other) =>
          log.info("{}. Those of Python workers are in {}.", why, other: Any)
          conf.set(Named, other.toString)
        case None =>
          log.warn("{}, nor can /tmp. Python functions work over TCP, and their epochs begin and end later.", why)
          conf.set(Enabled, "false")
      }
    }
  }

  private def isUsable(folder: Path): Boolean =
    folder.toString.length <= LongestFolder && Files.isDirectory(folder) && Files.isWritable(folder)
}
