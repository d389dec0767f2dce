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
  private val Folder = "spark.python.unix.domain.socket.dir"
  // Spark refuses longer ones, but looks only at those that are set.
  private val LongestFolder = 61

  /** A folder for them, if there is one. */
  lazy val folder: Option[Path] = Seq(System.getProperty("java.io.tmpdir"), "/tmp").map(Paths.get(_))
    .find(path => path.toString.length <= LongestFolder && Files.isWritable(path))

  /** Names the folder to Spark where its own choice would be too long. Without one, workers talk over TCP. */
  def settle(conf: SparkConf): Unit =
    if (conf.getBoolean(Enabled, defaultValue = false) && !conf.contains(Folder)) folder match {
      case Some(path) => conf.set(Folder, path.toString): Unit
      case None =>
        log.warn(
          "Neither {} nor /tmp can hold a local socket: the name is too long, or nothing may be written there. Python " +
            "functions work over TCP, and each epoch begins and ends up to 40 ms later.",
          System.getProperty("java.io.tmpdir"))
        conf.set(Enabled, "false"): Unit
    }
}
