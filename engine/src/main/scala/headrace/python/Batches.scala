// SPDX-License-Identifier: Apache-2.0
package headrace.python

import java.util.concurrent.{ConcurrentLinkedQueue, Semaphore, TimeUnit}

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
  * @param longestWaitMs how long a batch waits for Python at most: a function may take several batches before its first
  *   answer, or never answer some
  */
private[python] final class Batches(
    feed: Feed,
    arguments: InternalRow => InternalRow,
    inStep: Boolean,
    longestWaitMs: Long,
    worker: WorkerMeter,
    tickMs: Long = 0,
    sending: Fed => Unit = Batches.Forgotten)
    extends Iterator[Iterator[InternalRow]] {
  import Batches._

  private val withPython = new ConcurrentLinkedQueue[Fed]()
  private val sent = new ConcurrentLinkedQueue[Sent]()
  private val room = new Semaphore(MostInFlight)
  private var admitted = false

  override def hasNext: Boolean = admitted || {
    val isTick = tickMs > 0 && !feed.await(tickMs)
    admitted = isTick || feed.await()
    if (admitted && !room.tryAcquire(longestWaitMs, TimeUnit.MILLISECONDS)) room.release(MostInFlight - 1)
    admitted
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

      override def hasNext: Boolean = {
        if (!ended && rows > 0 && (rows == MostRows || bytes >= MostBytes || !feed.isReady)) {
          sent.add(new Sent(rows, System.nanoTime(), first))
          // Python may leave batches without an answer; what it has had for long it will not answer any more.
          if (!inStep && sent.size > MostInFlight) sent.poll()
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

  /** Says that Python has answered a batch; returns where the first of its rows comes from, without its record. That is the
    * batch sent first of those without an answer, or none.
    */
  def answered(): Option[Origin] = {
    val batch = Option(sent.poll())
    batch.foreach(one => worker.answer(System.nanoTime() - one.nanos))
    if (room.availablePermits() < MostInFlight) room.release()
    batch.flatMap(one => Option(Origin.carried(one.first)))
  }

  /** The row that the next result belongs to: results come in the order of the rows. */
  def oldest(): Fed = withPython.poll()

  /** For how long Python has had the oldest batch that it has not answered; 0 if it has none. */
  def heldNanos: Long = if (!inStep) 0 else Option(sent.peek()).fold(0L)(System.nanoTime() - _.nanos)

  /** The rows of the batch that Python has not answered for longest: if a function failed, on one of these. */
  def suspects: Seq[Position] = {
    val size = Option(sent.peek()).fold(Int.MaxValue)(_.rows)
    withPython.asScala.iterator.take(size).flatMap(_.position).toSeq
  }
}

private[python] object Batches {
  val Forgotten: Fed => Unit = _ => ()

  private final class Sent(val rows: Int, val nanos: Long, val first: Origin)

  // One that Python works on and one that waits for it, so that Python never waits for us.
  private val MostInFlight = 2
  private val MostRows = 1000
  private val MostBytes = 4L * 1024 * 1024
}
