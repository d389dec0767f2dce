// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.annotation.tailrec

import org.apache.kafka.clients.producer.{Callback, RecordMetadata}

/** The sends of a task between two cuts. Itself the callback of each of them: nothing is allocated for a record.
  *
  * @param failed told when a send failed; the generation then never ends
  */
private[headrace] final class Generation(owner: Generations, failed: Exception => Unit) extends Callback {
  private val outstanding = new AtomicInteger
  @volatile private[commit] var end: Option[Cut] = None

  private[commit] def add(): Unit = outstanding.incrementAndGet(): Unit

  private[commit] def remove(): Unit = if (outstanding.decrementAndGet() == 0 && end.isDefined) owner.advance()

  override def onCompletion(metadata: RecordMetadata, cause: Exception): Unit =
    if (cause != null) failed(cause) else remove()

  private[commit] def isDone: Boolean = end.isDefined && outstanding.get() == 0
}

/** Groups the sends of a task into generations, so that the offsets behind them can be recorded without a wait.
  *
  * The source cuts its input now and then. A cut has passed when every row of every record before it was handed to the
  * producer; the generation of sends ends there. Its offsets are done once all its sends, and all earlier ones, are
  * acknowledged. Four threads meet here: the source's, the task's, the producer's and the one that records.
  *
  * @param failed told when a send failed
  * @param done called with offsets that may be recorded, each later than the one before
  */
private[headrace] final class Generations(failed: Exception => Unit, done: Cut => Unit) {
  private val cuts = new ConcurrentLinkedQueue[Cut]()
  private val open = new ConcurrentLinkedQueue[Generation]()
  @volatile private var latest = begin()

  private def begin(): Generation = {
    val generation = new Generation(this, failed)
    open.add(generation)
    generation
  }

  /** The callback for a send. */
  @tailrec def sending(): Callback = {
    val generation = latest
    generation.add()
    if (generation eq latest) generation
    else {
      // It ended at this very moment, and nobody would wait for this send.
      generation.remove()
      sending()
    }
  }

  /** Called by the source's thread: all records so far belong before the cut. */
  def cut(now: Cut): Unit = cuts.add(now): Unit

  /** Whether a cut waits to be passed: asked for each row, so it must cost nothing. */
  def hasCuts: Boolean = !cuts.isEmpty

  /** All rows of records before this one have been handed to the producer. */
  def passed(sequence: Long): Unit = synchronized {
    var cut = cuts.peek()
    while (cut != null && cut.sequence < sequence) {
      val ended = latest
      // New sends must not join a generation that has ended.
      latest = begin()
      ended.end = Some(cuts.poll())
      cut = cuts.peek()
    }
    advance()
  }

  private[commit] def advance(): Unit = synchronized {
    var generation = open.peek()
    var last: Option[Cut] = None
    while (generation != null && generation.isDone) {
      last = generation.end
      open.poll()
      generation = open.peek()
    }
    last.foreach(done)
  }
}
