// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import scala.collection.mutable

import headrace.HeadraceException
import org.apache.spark.SparkContext
import org.apache.spark.headrace.Slots
import org.slf4j.LoggerFactory

/** The tasks of an epoch, all of which run at once: one for each group of source partitions, one for each partition of
  * each shuffle.
  */
private[guard] final case class SlotNeed(sources: Seq[Int], shuffles: Seq[Int]) {
  def total: Int = sources.sum + shuffles.sum

  override def toString: String = {
    val parts = sources.map(n => s"$n source") ++ shuffles.map(n => s"$n shuffle")
    if (parts.size == 1) s"${sources.sum} (source partitions)"
    else s"${(sources ++ shuffles).mkString(" + ")} = $total (${parts.mkString(", ")} partitions)"
  }
}

/** What the real-time queries of this application hold.
  *
  * Spark checks only queries with a shuffle, once, and counts the passing tasks of other jobs; a stateless task without a
  * slot would start after its epoch has ended, read nothing, and nobody would be told.
  */
private[headrace] object SlotLedger {
  private val log = LoggerFactory.getLogger("headrace.guard.SlotLedger")
  private val held = mutable.LinkedHashMap.empty[String, Int]

  /** Notes what an epoch of this run of a query needs, or fails when the application cannot give it. */
  def claim(context: SparkContext, run: String, need: SlotNeed): Unit = {
    val deadline = System.nanoTime() + waitNanos(context)
    var told = false
    var missing = tryClaim(context, run, need)
    while (missing.isDefined && System.nanoTime() < deadline) {
      if (!told) log.warn("Waiting for executors: {}", missing.get)
      told = true
      Thread.sleep(100)
      missing = tryClaim(context, run, need)
    }
    missing.foreach { sum =>
      throw new HeadraceException(
        "SLOTS_INSUFFICIENT",
        s"Not enough task slots: $sum. All tasks of a real-time query run at once. The epoch did not start; progress is as " +
          "of the last commit. Give the application more slots (--master local[N], or more executor cores), read several " +
          "partitions in one task (option maxPartitions), or lower spark.sql.shuffle.partitions before the first start.",
        Map("needed" -> need.total.toString, "slots" -> Slots.total(context).toString))
    }
  }

  private def tryClaim(context: SparkContext, run: String, need: SlotNeed): Option[String] = synchronized {
    val others = held.collect { case (other, taken) if other != run => taken }.sum
    val slots = Slots.total(context)
    if (need.total + others <= slots) {
      held(run) = need.total
      None
    } else {
      val beside = if (others > 0) s", other real-time queries hold $others" else ""
      Some(s"the query needs $need$beside, and there are $slots")
    }
  }

  def release(run: String): Unit = synchronized { held -= run }

  /** A new application begins, with slots of its own. */
  def clear(): Unit = synchronized(held.clear())

  /** A local master has all its slots from the beginning; on a cluster executors come one by one. */
  private def waitNanos(context: SparkContext): Long =
    if (context.isLocal) 0L else context.getConf.getTimeAsMs("spark.headrace.slots.wait", "60s") * 1000000L
}
