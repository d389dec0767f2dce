// SPDX-License-Identifier: Apache-2.0
package headrace.python

import java.util.concurrent.{ConcurrentLinkedQueue, Semaphore, TimeUnit}

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import headrace.kafka.Position
import headrace.observe.{Origin, WorkerMeter}
import org.apache.spark.sql.catalyst.InternalRow

/** Rows for Python in batches that never wait for company: a batch is what is there when Python can take it.
  *
  * Under a light load that is one row; under load, rows gather while Python works on the batches before, so batches grow
  * by themselves. One thread sends, another receives.
  *
  * @param arguments makes the row of a function's arguments
  * @param inStep whether each row gives one result, in order, so that results find their rows again
  * @param tickMs an empty batch is sent when nothing came for so long; 0 for never
  * @param worker told of each batch that is sent and answered
  * @param sending told of each row that is sent
  * @param leastWaitMs how long a batch waits at least for Python to answer those before it, if it may never do so: a
  *   function may take several batches before its first answer, or answer only some. `Batches.Answered` where each is
  *   answered for sure
  * @param most how large a batch may become
  */
private[python] final class Batches(
    feed: Feed,
    arguments: InternalRow => InternalRow,
    inStep: Boolean,
    leastWaitMs: Long,
    worker: WorkerMeter,
    tickMs: Long = 0,
    sending: Fed => Unit = Batches.Forgotten,
    most: Most = Most())
    extends Iterator[Iterator[InternalRow]] {
  import Batches._

  private val withPython = new ConcurrentLinkedQueue[Fed]()
  private val sent = new ConcurrentLinkedQueue[Sent]()
  private val room = new Semaphore(MostInFlight)
  private var admitted = false
  @volatile private var answerNanos = 0L
  @volatile private var answeredNanos = 0L

  override def hasNext: Boolean = admitted || {
    val isTick = tickMs > 0 && !feed.await(tickMs)
    admitted = isTick || feed.await()
    if (admitted) awaitRoom()
    admitted
  }

  // A batch that went before Python can take it would hold few rows and wait in the socket, and ever more behind it. So it
  // waits here, and grows. Where it cannot be known whether an answer is still to come: several times as long as one takes.
  private def awaitRoom(): Unit =
    if (leastWaitMs == Answered) room.acquire()
    else {
      val longestNanos = math.min(MostWaitNanos, math.max(leastWaitMs * 1000000, AnswerTimes * answerNanos))
      if (!room.tryAcquire(longestNanos, TimeUnit.NANOSECONDS)) room.release(MostInFlight - 1)
    }

  override def next(): Iterator[InternalRow] = {
    if (!hasNext) throw new NoSuchElementException
    admitted = false
    new Iterator[InternalRow] {
      private var rows = 0
      private var bytes = 0L
      private var first: Origin = _
      // Only a tick begins without a row.
      private var ended = !feed.isReady
      if (ended) note(new Sent(0, System.nanoTime(), null))

      override def hasNext: Boolean = {
        if (!ended && rows > 0 && (rows == most.rows || bytes >= most.bytes || !feed.isReady)) {
          note(new Sent(rows, System.nanoTime(), first))
          worker.send(rows)
          ended = true
        }
        !ended
      }

      override def next(): InternalRow = {
        val fed = feed.take()
        if (rows == 0) first = fed.origin
        rows += 1
        bytes += fed.row.getSizeInBytes
        if (inStep) withPython.add(fed)
        sending(fed)
        arguments(fed.row)
      }
    }
  }

  // Python may leave batches without an answer; what it has had for long it will not answer any more.
  private def note(batch: Sent): Unit = {
    sent.add(batch)
    if (!inStep && sent.size > MostInFlight) sent.poll()
  }

  /** Says that Python has answered a batch; returns where the first of its rows comes from, without its record. That is the
    * batch sent first of those without an answer, or none.
    */
  def answered(): Option[Origin] = {
    val batch = Option(sent.poll()).filter(_.rows > 0)
    batch.foreach(end)
    giveRoom()
    batch.flatMap(one => Option(Origin.carried(one.first)))
  }

  /** Says that Python has answered so many rows, in step: perhaps some of a batch only, or of several. */
  @tailrec def answered(rows: Int): Unit = {
    val batch = sent.peek()
    if (batch != null && rows > 0) {
      val now = math.min(rows, batch.unanswered)
      batch.unanswered -= now
      if (batch.unanswered == 0) {
        sent.poll()
        end(batch)
        giveRoom()
      }
      answered(rows - now)
    }
  }

  // Batches that went without room give none back.
  private def giveRoom(): Unit = if (room.availablePermits() < MostInFlight) room.release()

  private def end(batch: Sent): Unit = {
    answeredNanos = System.nanoTime()
    val took = answeredNanos - batch.nanos
    answerNanos += (took - answerNanos) / AnswerTimes
    worker.answer(took)
  }

  /** The row that the next result belongs to: results come in the order of the rows. */
  def oldest(): Fed = withPython.poll()

  /** For how long Python has worked on the oldest batch that it has not answered; 0 if it has none. */
  def heldNanos: Long =
    if (!inStep) 0 else Option(sent.peek()).fold(0L)(batch => System.nanoTime() - math.max(batch.nanos, answeredNanos))

  /** The rows of the batch that Python has not answered for longest: if a function failed, on one of these. */
  def suspects: Seq[Position] = {
    val size = Option(sent.peek()).fold(Int.MaxValue)(_.unanswered)
    withPython.asScala.iterator.take(size).flatMap(_.position).toSeq
  }
}

private[python] object Batches {
  val Forgotten: Fed => Unit = _ => ()

  /** Each batch is answered for sure. */
  val Answered: Long = -1

  private final class Sent(val rows: Int, val nanos: Long, val first: Origin) {
    @volatile var unanswered: Int = rows
  }

  // One that Python works on and one that waits for it, so that Python never waits for us.
  private val MostInFlight = 2
  private val AnswerTimes = 4
  private val MostWaitNanos = 1000000000L
}

/** How large a batch may become: as large as Spark's settings allow, but never so large that the first row waits for the
  * last one's turn.
  */
final case class Most(rows: Int = 1000, bytes: Long = 4L * 1024 * 1024) {
  /** @param settings of Spark's for Arrow batches; none if they are not positive */
  def within(settings: Most): Most = Most(
    if (settings.rows > 0) math.min(rows, settings.rows) else rows,
    if (settings.bytes > 0) math.min(bytes, settings.bytes) else bytes)
}
