// SPDX-License-Identifier: Apache-2.0
package headrace

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable

/** Asks running readers to end their epoch early: a partition appeared, a topic vanished, a send failed.
  *
  * Spark gives a reader no such channel. The request names a run of a query and the newest epoch it is meant for, so a
  * request that arrives late can end neither the epoch after it nor the next run. Each JVM holds one board;
  * [[HeadracePlugin]] copies the driver's board to the executors.
  *
  * A run that is drained ends the epochs it has planned. The one after them rests: it reads nothing and stays open until
  * the query is stopped. One that ended at once would be followed by the next, and so on, and Spark takes it for a failure
  * if a query is stopped while it waits to write an epoch's log.
  */
private[headrace] object EpochSignal {
  private val requested = new ConcurrentHashMap[String, java.lang.Long]()
  // Of the runs that are planned in this JVM: the newest epoch, and the last one that reads.
  private val newest = mutable.Map.empty[String, Long]
  private val last = mutable.Map.empty[String, Long]
  @volatile private var isOver = false

  /** An application begins, or ends, in this JVM: with it all that its readers still read. */
  def begin(): Unit = isOver = false

  def endAll(): Unit = isOver = true

  /** Ends every epoch of `run` up to and including `epoch`, in this JVM. */
  def end(run: String, epoch: Long): Unit =
    requested.merge(run, epoch, (before, now) => math.max(before, now))

  def ended(run: String, epoch: Long): Boolean = {
    val upTo = requested.get(run)
    isOver || upTo != null && epoch <= upTo
  }

  /** Called with each epoch that is planned, by each source of the query. Returns whether it rests. */
  def plan(run: String, epoch: Long): Boolean = synchronized {
    newest(run) = epoch
    isResting(run)
  }

  /** Lets no further epoch of `run` read a record. */
  def drain(run: String): Unit = synchronized {
    end(run, last.getOrElseUpdate(run, newest.getOrElse(run, -1L)))
  }

  def isDrained(run: String): Boolean = synchronized(last.contains(run))

  /** Whether all that `run` has read is committed. An epoch is planned when the one before it is over. */
  def isResting(run: String): Boolean = synchronized {
    last.get(run).exists(epoch => newest.get(run).exists(_ > epoch))
  }

  def forget(run: String): Unit = synchronized {
    requested.remove(run)
    newest.remove(run)
    last.remove(run): Unit
  }

  def snapshot(): Map[String, Long] = {
    val copy = Map.newBuilder[String, Long]
    requested.forEach((run, epoch) => copy += run -> epoch)
    copy.result()
  }

  def merge(board: Map[String, Long]): Unit = board.foreachEntry((run, epoch) => end(run, epoch))
}
