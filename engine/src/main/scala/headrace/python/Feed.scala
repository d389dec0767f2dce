// SPDX-License-Identifier: Apache-2.0
package headrace.python

import java.util.concurrent.{ArrayBlockingQueue, TimeUnit}

import headrace.kafka.{Position, Trail}
import org.apache.spark.TaskContext
import org.apache.spark.headrace.TaskThread
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A row on its way through Python, with the position that belongs to it. */
private[python] final case class Fed(row: UnsafeRow, position: Option[Position])

/** Rows of a task, pulled by a thread of their own from operators that wait for input, so many ahead and no more.
  *
  * An iterator that waits for the next record cannot say that there is none now. This can, and so whoever takes the rows
  * knows when to send what it has.
  *
  * @param before the trail of the rows that are pulled
  */
private[python] final class Feed(rows: Iterator[InternalRow], before: Trail, task: TaskContext) {
  import Feed._

  private val queue = new ArrayBlockingQueue[Entry](Capacity)
  private var head: Entry = _
  private val thread = TaskThread.start(s"headrace-feed-${task.taskAttemptId()}", task)(pull())

  // Registered after those of the operators below, so it runs before them: when a state store is aborted, nobody uses it
  // any more. A reader is made by this very thread, later, and takes care of itself.
  task.addTaskCompletionListener[Unit] { _ =>
    thread.interrupt()
    thread.join()
  }

  private def pull(): Unit =
    try {
      rows.foreach(row => queue.put(Row(Fed(row.copy().asInstanceOf[UnsafeRow], before.current))))
      queue.put(End)
    } catch {
      case _: InterruptedException => ()
      // The thread ends here; whoever takes the rows throws it.
      case cause: Throwable => if (!task.isCompleted()) queue.put(Failed(cause))
    }

  /** Waits until there is a row, or the end; false at the end. */
  def await(): Boolean = {
    if (head == null) head = queue.take()
    !hasEnded
  }

  /** Waits so long for a row or the end; whether either came. */
  def await(longestMs: Long): Boolean = {
    if (head == null) head = queue.poll(longestMs, TimeUnit.MILLISECONDS)
    head != null
  }

  private def hasEnded: Boolean = head match {
    case Failed(cause) => throw cause
    case entry => entry == End
  }

  /** Whether a row is there now. */
  def isReady: Boolean = {
    if (head == null) head = queue.poll()
    head.isInstanceOf[Row]
  }

  def take(): Fed = head match {
    case Row(fed) =>
      head = null
      fed
    case _ => throw new NoSuchElementException("no row is there")
  }
}

private[python] object Feed {
  // Back-pressure: with more than this between the source and Python, latency is the queue.
  private val Capacity = 4096

  private sealed trait Entry
  private final case class Row(fed: Fed) extends Entry
  private final case class Failed(cause: Throwable) extends Entry
  private case object End extends Entry
}
