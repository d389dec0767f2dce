// SPDX-License-Identifier: Apache-2.0
package headrace

import java.util.concurrent.ConcurrentHashMap

/** Asks running readers to end their epoch early: a partition appeared, a topic vanished, a send failed.
  *
  * Spark gives a reader no such channel. The request names a run of a query and the newest epoch it is meant for, so a
  * request that arrives late can end neither the epoch after it nor the next run. Each JVM holds one board;
  * [[HeadracePlugin]] copies the driver's board to the executors.
  */
private[headrace] object EpochSignal {
  private val requested = new ConcurrentHashMap[String, java.lang.Long]()
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

  /** Whether no epoch of `run` may read any more: it is drained. */
  def hasEnded(run: String): Boolean = ended(run, Long.MaxValue)

  def forget(run: String): Unit = requested.remove(run)

  def snapshot(): Map[String, Long] = {
    val copy = Map.newBuilder[String, Long]
    requested.forEach((run, epoch) => copy += run -> epoch)
    copy.result()
  }

  def merge(board: Map[String, Long]): Unit = board.foreachEntry((run, epoch) => end(run, epoch))
}
