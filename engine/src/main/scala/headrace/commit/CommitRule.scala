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
    val run = context.getLocalProperty(EpochPlanner.RunProperty)
    // Without a run this is somebody looking at a plan, not an epoch about to run.
    if (scans.isEmpty || run == null) plan
    else (sinkOf(plan), scans) match {
      case (Some(sink), Seq(scan)) => scan.stream match {
          case stream: KafkaStream =>
            val triggerMs = scan.batchDurationMs
            val wanted = sink.commitIntervalMs.getOrElse(math.min(triggerMs, LongestDefaultIntervalMs))
            against(plan, context) match {
              case Some(reason) => stream.announce(s"Progress is committed at the end of each epoch: $reason.")
              case None =>
                // Its partitions are planned with it, and only then it is known how many tasks there are.
                stream.recordProgress(sink, scan.inputPartitions.size, math.min(wanted, triggerMs))
            }
            if (stream.recordsProgress) stretched(plan) else plan
          case _ => plan
        }
      case _ => plan
    }
  }

  private def sinkOf(plan: SparkPlan): Option[KafkaStreamingWrite] = plan.collectFirst {
    case WriteToDataSourceV2Exec(write: MicroBatchWrite, _, _, _, _) => write.writeSupport
  }.collect { case kafka: KafkaStreamingWrite => kafka }

  private def against(plan: SparkPlan, context: SparkContext): Option[String] =
    if (plan.exists(_.isInstanceOf[StatefulOperator])) Some("the query keeps state")
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
