// SPDX-License-Identifier: Apache-2.0
package headrace

import java.util.concurrent.ConcurrentHashMap

/** Asks running readers to end their epoch early: a partition appeared, a topic vanished, a send failed.
  *
  * Spark gives a reader no such channel. The request names a query and the newest epoch it is meant for, so a request
  * that arrives late cannot end the epoch after it. Each JVM holds one board; [[HeadracePlugin]] copies the driver's
  * board to the executors.
  */
private[headrace] object EpochSignal {
  private val requested = new ConcurrentHashMap[String, java.lang.Long]()

  /** Ends every epoch of `query` up to and including `epoch`, in this JVM. */
  def end(query: String, epoch: Long): Unit =
    requested.merge(query, epoch, (before, now) => math.max(before, now))

  def ended(query: String, epoch: Long): Boolean = {
    val upTo = requested.get(query)
    upTo != null && epoch <= upTo
  }

  def forget(query: String): Unit = requested.remove(query)

  def snapshot(): Map[String, Long] = {
    val copy = Map.newBuilder[String, Long]
    requested.forEach((query, epoch) => copy += query -> epoch)
    copy.result()
  }

  def merge(board: Map[String, Long]): Unit = board.foreachEntry((query, epoch) => end(query, epoch))
}
