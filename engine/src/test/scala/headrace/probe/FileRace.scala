// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import java.util.concurrent.{Callable, CyclicBarrier, Executors}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/** Writers that all write the same file and close it at the same moment. */
object FileRace {
  /** What became of each: its own number if it was the one that wrote the file, or the class of its error. */
  def run(files: CheckpointFileManager, path: Path, writers: Int): Array[String] = {
    val start = new CyclicBarrier(writers)
    val threads = Executors.newFixedThreadPool(writers)
    def write(number: Int): String = {
      val file = files.createAtomic(path, overwriteIfPossible = false)
      file.writeBytes(number.toString)
      start.await(): Unit
      Try(file.close()) match {
        case Success(_) => number.toString
        case Failure(error) =>
          file.cancel()
          error.getClass.getName
      }
    }
    val outcomes = threads.invokeAll((0 until writers).map(n => (() => write(n)): Callable[String]).asJava)
    threads.shutdown()
    outcomes.asScala.map(_.get()).toArray
  }
}
