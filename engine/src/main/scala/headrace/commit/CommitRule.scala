// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import headrace.kafka.{EpochPlanner, KafkaStream, KafkaStreamingWrite}
import headrace.python.MapFunctionExec
import org.apache.spark.SparkContext
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.{RealTimeStreamScanExec, WriteToDataSourceV2Exec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperator
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite
import org.apache.spark.sql.internal.SQLConf

/** Decides from the plan of an epoch whether its tasks record progress inside it, and then makes the epoch long.
  *
  * Between two epochs nothing is processed. Where the source and the sink share a task, progress can be recorded while
  * records flow, as often as the trigger says; so Spark's own epochs need not be short, and their ends become rare.
  *
  * Reaches into Spark: `RealTimeStreamScanExec.batchDurationMs`, and `MicroBatchWrite.writeSupport`, the sink of the query.
  */
private[headrace] object CommitRule {
  /** How long epochs are then, at least. */
  private val EpochSetting = "spark.headrace.realtime.epoch"
  private val DefaultEpoch = "10m"
  private val LongestDefaultIntervalMs = 1000L

  def apply(plan: SparkPlan, context: SparkContext): SparkPlan = {
    val scans = plan.collect { case scan: RealTimeStreamScanExec => scan }
    val streams = scans.map(_.stream).collect { case stream: KafkaStream => stream }
    // Without a run this is somebody looking at a plan, not an epoch about to run.
    if (streams.isEmpty || context.getLocalProperty(EpochPlanner.RunProperty) == null) plan
    else {
      against(plan, scans.size, context) match {
        case Some(reason) => streams.head.announce(s"Progress is committed at the end of each epoch: $reason.")
        case None =>
          val triggerMs = scans.head.batchDurationMs
          val sink = sinkOf(plan).get
          val wanted = sink.commitIntervalMs.getOrElse(LongestDefaultIntervalMs)
          // Its partitions are planned with it, and only then it is known how many tasks there are.
          streams.head.recordProgress(sink, scans.head.inputPartitions.size, math.min(wanted, triggerMs))
      }
      if (streams.head.recordsProgress) stretched(plan) else plan
    }
  }

  private def sinkOf(plan: SparkPlan): Option[KafkaStreamingWrite] = plan.collectFirst {
    case WriteToDataSourceV2Exec(write: MicroBatchWrite, _, _, _, _) => write.writeSupport
  }.collect { case kafka: KafkaStreamingWrite => kafka }

  private[headrace] def against(plan: SparkPlan, sources: Int, context: SparkContext): Option[String] =
    if (sinkOf(plan).isEmpty) Some("the sink is not Kafka")
    else if (sources > 1) Some("the query has several sources")
    else if (plan.exists(_.isInstanceOf[StatefulOperator])) Some("the query keeps state")
    else if (plan.exists(_.isInstanceOf[ShuffleExchangeLike])) Some("the query has a shuffle")
    else if (plan.exists(_.isInstanceOf[MapFunctionExec]))
      Some("nobody can tell when a function of batches is done with a record")
    else if (context.getConf.getBoolean("spark.speculation", defaultValue = false))
      Some("speculation (spark.speculation) may run a task twice")
    else None

  private def stretched(plan: SparkPlan): SparkPlan = {
    val epochMs = JavaUtils.timeStringAsMs(SQLConf.get.getConfString(EpochSetting, DefaultEpoch))
    plan.transform {
      case scan: RealTimeStreamScanExec => scan.copy(batchDurationMs = math.max(scan.batchDurationMs, epochMs))
    }
  }
}
