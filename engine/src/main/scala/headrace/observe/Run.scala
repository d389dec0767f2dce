// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import scala.collection.immutable.SortedSet
import scala.collection.mutable

import org.HdrHistogram.Histogram

/** What a task has told, and when and where. */
private[observe] final case class Told(timeMs: Long, executor: String, host: String, news: TaskNews)

/** What a task has done since it told before.
  *
  * @param rows records that it has read, by topic and partition
  */
private[observe] final case class Since(told: Told, counts: Counts, rows: Map[(String, Int), Long]) {
  /** Records that were read from the source. */
  def read: Long = rows.values.sum
}

/** The last state of a partition. */
private[observe] final case class PartitionState(told: Told, news: PartitionNews)

/** One run of a query. All access is by whoever holds the board. */
private[observe] final class Run(val run: String) {
  import Run._

  var id: Option[String] = None
  var name: Option[String] = None
  var isRealTime: Option[Boolean] = None
  /** Whether it has come to its first epoch, or would if there were something to read. */
  var begun = false
  var startedMs: Long = System.currentTimeMillis()
  var endedMs: Option[Long] = None
  var failure: Option[Failure] = None
  var epoch: Option[PlannedEpoch] = None
  val totals: Array[Histogram] = Array.fill(4)(Measure.histogram())
  val slices = new Slices
  val commits = new Commits
  val boundaries = new Boundaries
  val tail: mutable.ListBuffer[TailRecord] = mutable.ListBuffer.empty
  var counts: Counts = Counts.None
  var read = 0L
  private var recent = Vector.empty[Since]
  private val last = mutable.HashMap.empty[Long, TaskNews]
  private val partitionStates = mutable.TreeMap.empty[(String, Int), PartitionState]
  private val stages = mutable.HashMap.empty[Long, SortedSet[Int]].withDefaultValue(SortedSet.empty)
  private val partitionCounts = mutable.HashMap.empty[(String, Int), Long].withDefaultValue(0L)

  def state: String =
    if (failure.isDefined) "failed" else if (endedMs.isDefined) "stopped" else if (begun) "running" else "starting"

  def started(query: String, called: Option[String], realTime: Option[Boolean]): Unit = {
    id = Some(query)
    name = called
    isRealTime = isRealTime.orElse(realTime)
  }

  def planned(next: PlannedEpoch): Unit = {
    // Spark may plan parts of an epoch once more, while it runs; the sink is in one of them.
    val same = epoch.filter(_.number == next.number)
    epoch = Some(same.fold(next)(first => first.copy(delivery = first.delivery.orElse(next.delivery))))
    begun = true
    isRealTime = Some(next.isRealTime)
  }

  def progressed(number: Long): Unit = {
    if (!epoch.exists(_.isRealTime) || !commits.areInside) commits.add(System.currentTimeMillis())
    // The last of its tasks may tell a little later.
    last.filterInPlace((_, news) => news.id.epoch >= number)
    stages.filterInPlace((epoch, _) => epoch >= number)
  }

  def ended(why: Option[Failure]): Unit = {
    endedMs = Some(System.currentTimeMillis())
    failure = why
  }

  def take(told: Told): Unit = {
    val news = told.news
    val before = last.put(news.id.attempt, news)
    val since = Since(told, news.counts - before.fold(Counts.None)(_.counts), rows(news, before))
    recent = recent.dropWhile(_.told.timeMs < told.timeMs - KeptMs) :+ since
    add(since)
    news.partitions.foreach { partition =>
      partitionStates((partition.topic, partition.partition)) = PartitionState(told, partition)
    }
    news.commits.foreach(commits.add)
    boundaries.take(news)
    stages(news.id.epoch) += news.id.stage
  }

  def sampled(record: TailRecord): Unit = {
    tail += record
    tail.dropInPlace(math.max(0, tail.size - MostTail)): Unit
  }

  private def rows(news: TaskNews, before: Option[TaskNews]): Map[(String, Int), Long] = {
    val known = before.toSeq.flatMap(_.partitions).map(one => (one.topic, one.partition) -> one.rows).toMap
    news.partitions.map { one =>
      val key = (one.topic, one.partition)
      key -> (one.rows - known.getOrElse(key, 0L))
    }.toMap
  }

  private def add(since: Since): Unit = {
    val news = since.told.news
    val ends = endToEnd(news)
    Seq(news.parts.queueing, news.parts.processing, news.parts.delivery).zip(totals).foreach { case (tally, total) =>
      tally.addTo(total)
    }
    ends.foreach(_.addTo(totals(EndToEnd)))
    counts += since.counts
    read += since.read
    since.rows.foreachEntry((key, rows) => partitionCounts(key) += rows)
    slices.add(since.told.timeMs, ends, since.read, since.counts.delivered)
  }

  def partitions: Seq[PartitionState] = partitionStates.values.toSeq

  def countOf(partition: PartitionNews): Long = partitionCounts((partition.topic, partition.partition))

  /** Spark's numbers of the stages of an epoch, from the sources to the sink. */
  def stagesOf(epoch: Long): Seq[Int] = stages(epoch).toSeq

  /** What was told in the last ten seconds. */
  def recently(nowMs: Long): Seq[Since] = recent.filter(_.told.timeMs > nowMs - RecentMs)

  /** What was told in the last ten whole seconds, and in how many of them there was a run. */
  def lastSeconds(nowMs: Long): (Seq[Since], Int) = {
    val second = nowMs / 1000
    val spent = math.max(1L, math.min(10L, second - startedMs / 1000)).toInt
    (recent.filter(one => one.told.timeMs / 1000 < second && one.told.timeMs / 1000 >= second - spent), spent)
  }
}

private[observe] object Run {
  val Queueing = 0
  val Processing = 1
  val Delivery = 2
  val EndToEnd = 3
  private val RecentMs = 10000
  private val KeptMs = 12000
  private val MostTail = 20

  def endToEnd(news: TaskNews): Seq[Tally] = news.parts.endToEnd +: news.partitions.map(_.endToEnd)
}
