// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import scala.collection.mutable

/** End-to-end latency second by second, for two minutes. */
private[observe] final class Slices {
  import Slices._

  private val kept = mutable.TreeMap.empty[Long, Slice]

  def add(timeMs: Long, endToEnd: Seq[Tally], in: Long, out: Long): Unit = {
    val slice = kept.getOrElseUpdate(timeMs / 1000, new Slice)
    endToEnd.foreach(Ladder.add(_, slice.buckets))
    slice.in += in
    slice.out += out
    kept.filterInPlace((second, _) => second > timeMs / 1000 - Seconds)
  }

  def since(nowMs: Long): Iterator[(Long, Slice)] =
    kept.iterator.collect { case (second, slice) if second > nowMs / 1000 - Seconds => (second * 1000, slice) }
}

private[observe] object Slices {
  private val Seconds = 120

  final class Slice {
    val buckets: Array[Long] = Ladder.empty()
    var in = 0L
    var out = 0L
  }
}

/** When progress was committed. Tasks that commit by the clock do it at the same tick, which counts once. */
private[observe] final class Commits {
  import Commits._

  private val ticks = mutable.TreeMap.empty[Long, Long]
  private var interval = Option.empty[Long]

  /** Tasks commit inside the epoch, so often. */
  def every(ms: Long): Unit = interval = Some(ms)

  def areInside: Boolean = interval.isDefined

  def intervalMs: Option[Long] = interval

  def add(timeMs: Long): Unit = {
    ticks(timeMs / interval.getOrElse(1L)) = timeMs
    while (ticks.size > Most) ticks -= ticks.firstKey
  }

  def last: Option[Long] = ticks.valuesIterator.maxOption

  def since(nowMs: Long): Seq[Long] = ticks.valuesIterator.filter(_ > nowMs - RecentMs).toSeq

}

private object Commits {
  private val Most = 120
  private val RecentMs = 60000
}

/** How long nothing was read between two epochs. */
private[observe] final class Boundaries {
  import Boundaries._

  private val ready = mutable.TreeMap.empty[Long, Map[Int, Long]].withDefaultValue(Map.empty)
  private val ended = mutable.TreeMap.empty[Long, Map[Int, Long]].withDefaultValue(Map.empty)

  def take(news: TaskNews): Unit = if (news.readyMs > 0) {
    note(ready, news, news.readyMs)
    if (news.endedMs > 0) note(ended, news, news.endedMs)
  }

  private def note(times: mutable.Map[Long, Map[Int, Long]], news: TaskNews, ms: Long): Unit = {
    times(news.id.epoch) = times(news.id.epoch).updated(news.id.task, ms)
    times.filterInPlace((epoch, _) => epoch > news.id.epoch - Kept)
  }

  /** The longest of all tasks, for each epoch whose end and whose successor's beginning are known. */
  def all: Iterable[Boundary] = for {
    (epoch, begun) <- ready
    before = ended(epoch - 1)
    gaps = begun.flatMap { case (task, ms) => before.get(task).map(ms - _) }
    if gaps.nonEmpty
  } yield Boundary(epoch, begun.values.max, gaps.max)
}

private[observe] object Boundaries {
  private val Kept = 60

  final case class Boundary(epoch: Long, timeMs: Long, gapMs: Long)
}
