// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.TaskScope
import headrace.kafka.ReadAhead
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Rows of operators that make one row of each record: nobody else needs to pull them.
  *
  * The source knows how many records it holds, so whoever takes the rows knows whether the next one is there; that spares
  * a thread, and the time until it has woken the next.
  */
private[python] final class DirectFeed(rows: Iterator[InternalRow], stand: ReadAhead, scope: TaskScope) extends Feed {
  private var head: Fed = _
  private var ended = false

  override def await(): Boolean = {
    if (head == null && !ended) pull()
    !ended
  }

  // Only the source wakes whoever waits for it.
  override def await(longestMs: Long): Boolean =
    throw new UnsupportedOperationException("a wait with an end needs a thread that pulls the rows")

  override def isReady: Boolean = {
    if (head == null && !ended && scope.isRecordThere) pull()
    head != null
  }

  private def pull(): Unit =
    if (rows.hasNext) {
      stand.took()
      head = Fed(rows.next().copy().asInstanceOf[UnsafeRow], scope.source.origin)
    } else ended = true

  override def take(): Fed = {
    val fed = head
    if (fed == null) throw new NoSuchElementException("no row is there")
    head = null
    fed
  }
}
