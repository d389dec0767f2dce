// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import scala.collection.mutable

import org.apache.spark.{SparkContext, SparkEnv}

/** What is known in the driver of all runs of this application's queries. */
object Board {
  private val MostEnded = 20

  private var application = Option.empty[SparkContext]
  private val runs = mutable.LinkedHashMap.empty[String, Run]
  private val heard = mutable.HashMap.empty[String, Long]
  private val executors = mutable.LinkedHashMap.empty[String, Executor]

  /** Everything there is to tell, as one JSON document. */
  def snapshot(): String = synchronized {
    // What the tasks of this very JVM have to tell need not wait; on a cluster there are none.
    takeOwn()
    val now = System.currentTimeMillis()
    executors.filterInPlace((_, executor) => executor.isThere(now))
    Document.of(application, runs.values.filter(_.id.isDefined).toSeq, executors.values.toSeq, now)
  }

  /** Begins an application: a JVM may have one after the other. */
  private[headrace] def begin(context: SparkContext): Unit = synchronized {
    application = Some(context)
    runs.clear()
    executors.clear()
    heard.clear()
  }

  /** What the tasks of this JVM have to tell; asked for and taken at once, so that it comes in order. */
  private[headrace] def takeOwn(): Unit = synchronized(if (SparkEnv.get != null) take(Meters.news()))

  private def take(news: ExecutorNews): Unit = {
    val now = System.currentTimeMillis()
    executors.getOrElseUpdate(news.executor, new Executor(news.executor, news.host)).take(news.jvm, now)
    news.tasks.foreach(task => run(task.id.run).take(Told(now, news.executor, news.host, task)))
    news.tail.foreach(record => run(record.run).sampled(record))
  }

  /** What another executor has to tell; it may say the same again. */
  private[headrace] def takeOnce(news: ExecutorNews): Unit = synchronized {
    val before = heard.getOrElse(news.executor, 0L)
    heard(news.executor) = math.max(before, news.number)
    if (news.number > before) take(news)
  }

  private[observe] def planned(id: String, epoch: PlannedEpoch): Unit = synchronized(run(id).planned(epoch))

  private[headrace] def commitsEvery(id: String, intervalMs: Long): Unit = synchronized(run(id).commits.every(intervalMs))

  private[observe] def started(id: String, query: String, name: Option[String], isRealTime: Option[Boolean]): Unit =
    synchronized(run(id).started(query, name, isRealTime))

  private[observe] def idle(id: String): Unit = synchronized(run(id).begun = true)

  private[observe] def progressed(id: String, epoch: Long): Unit = synchronized(run(id).progressed(epoch))

  private[observe] def ended(id: String, failure: Option[Failure]): Unit = synchronized {
    run(id).ended(failure)
    val over = runs.values.filter(_.endedMs.isDefined).map(_.run).toSeq
    runs --= over.dropRight(MostEnded)
  }

  private def run(id: String): Run = runs.getOrElseUpdate(id, new Run(id))
}

/** The JVM of an executor. */
private[observe] final class Executor(val id: String, val host: String) {
  private var told = Vector.empty[(Long, JvmNews)]

  def take(news: JvmNews, nowMs: Long): Unit =
    told = told.filter(_._1 > nowMs - Executor.RecentMs) :+ (nowMs -> news)

  def latest: JvmNews = told.last._2

  def isThere(nowMs: Long): Boolean = told.last._1 > nowMs - Executor.RecentMs

  /** How many milliseconds of a second the garbage collector takes; none before there are two moments to compare. */
  def gcMsPerSecond: Option[Double] = {
    val (firstMs, first) = told.head
    val (lastMs, last) = told.last
    Option.when(lastMs > firstMs)((last.gcMs - first.gcMs) * 1000.0 / (lastMs - firstMs))
  }

  def gcMaxMs: Double = told.map(_._2.gcMaxMs).max
}

private object Executor {
  private val RecentMs = 10000
}
