// SPDX-License-Identifier: Apache-2.0
package headrace.observe

/** The latency of the last epoch, as a query's progress reports it: percentiles as JSON, under names that readers of such
  * reports know from Databricks.
  */
private[headrace] final class EpochLatency {
  import EpochLatency._

  @volatile private var last = Seq.empty[Parts]

  /** What the tasks of an epoch have to tell, when it has ended. */
  def take(tasks: Seq[Parts]): Unit = last = tasks

  def ofSource: Map[String, String] = figures("sourceQueuingLatencyMs" -> (_.queueing))

  def ofSink: Map[String, String] = figures("processingLatencyMs" -> (_.processing), "e2eLatencyMs" -> (_.endToEnd))

  private def figures(parts: (String, Parts => Tally)*): Map[String, String] = parts.flatMap { case (name, part) =>
    val sum = Tally.histogram(last.map(part))
    Option.when(sum.getTotalCount > 0)(
      name -> Percentiles.map(at => s""""P$at":${sum.getValueAtPercentile(at.toDouble) / 1000.0}""").mkString("{", ",", "}"))
  }.toMap
}

private object EpochLatency {
  private val Percentiles = Seq(0, 50, 90, 95, 99)
}
