// SPDX-License-Identifier: Apache-2.0
package headrace.python

import java.util.concurrent.{ArrayBlockingQueue, TimeUnit}

import headrace.kafka.{Position, ReadAhead}
import headrace.observe.Origin
import org.apache.spark.TaskContext
import org.apache.spark.headrace.TaskThread
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A row on its way through Python, with the origin that belongs to it. */
private[python] final case class Fed(row: UnsafeRow, origin: Origin) {
  def position: Option[Position] = Position.of(origin)
}

/** Rows of a task, for whoever must know whether there is one now.
  *
  * An iterator that waits for the next record cannot say that there is none; this can.
  */
private[python] trait Feed {
  /** Waits until there is a row, or the end; false at the end. */
  def await(): Boolean

  /** Waits so long for a row or the end; whether either came. */
  def await(longestMs: Long): Boolean

  /** Whether a row is there now. */
  def isReady: Boolean

  def take(): Fed
}

/** Rows pulled by a thread of their own, so many ahead and no more.
  *
  * @param stand where the operator stands
  */
private[python] final class ThreadFeed(rows: Iterator[InternalRow], stand: ReadAhead, task: TaskContext) extends Feed {
  import ThreadFeed._

  private val queue = new ArrayBlockingQueue[Entry](Capacity)
  private var head: Entry = _
  private val thread = TaskThread.start(s"headrace-feed-${task.taskAttemptId()}", task)(pull())

  // Registered after those of the operators below, so it runs before them: when a state store is aborted, nobody uses it
  // any more. A reader is made by this very thread, later, and takes care of itself.
  task.addTaskCompletionListener[Unit] { _ =>
    thread.interrupt()
    TaskThread.join(thread)
  }

  private def pull(): Unit =
    try {
      rows.foreach { row =>
        stand.took()
        queue.put(Row(Fed(row.copy().asInstanceOf[UnsafeRow], stand.before.origin)))
      }
      queue.put(End)
    } catch {
      case _: InterruptedException => ()
      // The thread ends here; whoever takes the rows throws it.
      case cause: Throwable => if (!task.isCompleted()) queue.put(Failed(cause))
    }

  override def await(): Boolean = {
    if (head == null) head = queue.take()
    !hasEnded
  }

  override def await(longestMs: Long): Boolean = {
    if (head == null) head = queue.poll(longestMs, TimeUnit.MILLISECONDS)
    head != null
  }

  private def hasEnded: Boolean = head match {
    case Failed(cause) => throw cause
    case entry => entry == End
  }

  override def isReady: Boolean = {
    if (head == null) head = queue.poll()
    head.isInstanceOf[Row]
  }

  override def take(): Fed = head match {
    case Row(fed) =>
      head = null
      fed
    case _ => throw new NoSuchElementException("no row is there")
  }
}

private[python] object ThreadFeed {
  // Back-pressure: with more than this between the source and Python, latency is the queue.
  private val Capacity = 4096

  private sealed trait Entry
  private final case class Row(fed: Fed) extends Entry
  private final case class Failed(cause: Throwable) extends Entry
  private case object End extends Entry
}
