// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import headrace.kafka.{EpochPlanner, KafkaStream, KafkaStreamingWrite}
import headrace.python.MapFunctionExec
import org.apache.spark.SparkContext
import org.apache.spark.network.util.JavaUtils
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.SparkDataStream
import org.apache.spark.sql.execution.{CoalesceExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.datasources.v2.{MicroBatchScanExec, RealTimeStreamScanExec, WriteToDataSourceV2Exec}
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ShuffleExchangeLike}
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperator
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite
import org.apache.spark.sql.internal.SQLConf

/** Decides from the plan of an epoch whether its tasks record progress inside it, and then makes the epoch long.
  *
  * Between two epochs nothing is processed. Where the source and the sink share a task, progress can be recorded while
  * records flow, as often as the trigger says; so Spark's own epochs need not be short, and their ends become rare. For
  * exactly-once delivery it must be recorded so, in micro-batches too; a query that cannot is refused.
  *
  * Reaches into Spark: `RealTimeStreamScanExec.batchDurationMs`, `MicroBatchScanExec.stream`, `MicroBatchWrite.writeSupport`,
  * the sink of the query, and `AdaptiveSparkPlanExec.inputPlan`, which hides what is below it.
  */
private[headrace] object CommitRule {
  /** How long epochs are then, at least. A static table is read again with each of them. */
  private val EpochSetting = ("spark.headrace.realtime.epoch", "30m")
  private val TableEpochSetting = ("spark.headrace.realtime.tableEpoch", "10m")
  private val NoKafka = "the sink is not Kafka"

  def apply(plan: SparkPlan, context: SparkContext): SparkPlan =
    // Without a run this is somebody looking at a plan, not an epoch about to run.
    if (context.getLocalProperty(EpochPlanner.RunProperty) == null) plan
    else {
      val nodes = nodesOf(plan)
      val sink = sinkOf(nodes)
      val isRealTime = nodes.exists(_.isInstanceOf[RealTimeStreamScanExec])
      if (sink.exists(_.isExactlyOnce)) together(plan, sink.get, nodes, context)
      else if (isRealTime) beside(plan, sink, nodes, context)
      else plan
    }

  /** Why the tasks of such a plan cannot record progress inside an epoch; none if they can. */
  def whyNot(plan: SparkPlan, context: SparkContext): Option[String] = {
    val nodes = nodesOf(plan)
    if (sinkOf(nodes).isEmpty) Some(NoKafka) else against(plan, scansOf(nodes), context)
  }

  /** Refuses a plan that shall deliver exactly once and cannot. */
  def checkDelivery(plan: SparkPlan, context: SparkContext): Unit = {
    val nodes = nodesOf(plan)
    if (sinkOf(nodes).exists(_.isExactlyOnce))
      against(plan, scansOf(nodes), context).foreach(reason => throw Delivery.refusal(reason))
  }

  /** The sink of a query, if it is ours. */
  def sinkOf(plan: SparkPlan): Option[KafkaStreamingWrite] = sinkOf(nodesOf(plan))

  private def sinkOf(nodes: Seq[SparkPlan]): Option[KafkaStreamingWrite] = nodes.collectFirst {
    case WriteToDataSourceV2Exec(write: MicroBatchWrite, _, _, _, _) => write.writeSupport
  }.collect { case kafka: KafkaStreamingWrite => kafka }

  private def nodesOf(plan: SparkPlan): Seq[SparkPlan] = plan.collect {
    case adaptive: AdaptiveSparkPlanExec => adaptive +: nodesOf(adaptive.inputPlan)
    case node => Seq(node)
  }.flatten

  /** The nodes that records of the stream pass. */
  private def pathOf(plan: SparkPlan): Seq[SparkPlan] = {
    val below = plan match {
      case adaptive: AdaptiveSparkPlanExec => pathOf(adaptive.inputPlan)
      case node => node.children.flatMap(pathOf)
    }
    if (below.nonEmpty || isScan(plan)) plan +: below else Nil
  }

  private def isScan(node: SparkPlan): Boolean = node match {
    case _: RealTimeStreamScanExec | _: MicroBatchScanExec => true
    case _ => false
  }

  /** A source of the query as its plan has it; planned are its partitions when they are asked for. */
  private final class Scan(val stream: SparkDataStream, planned: => Seq[InputPartition], val triggerMs: Option[Long]) {
    def partitions: Seq[InputPartition] = planned
  }

  private def scansOf(nodes: Seq[SparkPlan]): Seq[Scan] = nodes.collect {
    case scan: RealTimeStreamScanExec => new Scan(scan.stream, scan.inputPartitions, Some(scan.batchDurationMs))
    case scan: MicroBatchScanExec => new Scan(scan.stream, scan.inputPartitions, None)
  }

  /** At least once: progress is recorded beside the records, if it can be. */
  private def beside(
      plan: SparkPlan,
      sink: Option[KafkaStreamingWrite],
      nodes: Seq[SparkPlan],
      context: SparkContext): SparkPlan = {
    val scans = scansOf(nodes)
    scans.map(_.stream).collectFirst { case stream: KafkaStream => stream }.fold(plan) { stream =>
      val reason = if (sink.isEmpty) Some(NoKafka) else against(plan, scans, context)
      reason match {
        case Some(why) => stream.announce(s"Progress is committed at the end of each epoch: $why.")
        case None => record(stream, scans.head, sink.get)
      }
      if (stream.recordsProgress) stretched(plan, nodes, stream) else plan
    }
  }

  /** Exactly once: progress is recorded together with the results, or the query does not run. */
  private def together(plan: SparkPlan, sink: KafkaStreamingWrite, nodes: Seq[SparkPlan], context: SparkContext): SparkPlan = {
    val scans = scansOf(nodes)
    against(plan, scans, context).foreach(reason => throw Delivery.refusal(reason))
    scans.map(_.stream) match {
      case Seq(stream: KafkaStream) =>
        context.setLocalProperty(EpochPlanner.TransactedProperty, "true")
        record(stream, scans.head, sink)
        stretched(plan, nodes, stream)
      // A batch without records: nothing is read, and so nothing is written.
      case Seq() =>
        sink.skip()
        plan
      case _ => throw Delivery.refusal("the source is not Kafka")
    }
  }

  private def record(stream: KafkaStream, scan: Scan, sink: KafkaStreamingWrite): Unit =
    stream.recordProgress(
      sink, scan.partitions, scan.triggerMs.fold(sink.commitIntervalMs)(math.min(_, sink.commitIntervalMs)),
      isRealTime = scan.triggerMs.isDefined)

  private def against(plan: SparkPlan, scans: Seq[Scan], context: SparkContext): Option[String] = {
    // What is done to a static table is none of the stream's business. Without a record there is no scan.
    val nodes = if (scans.isEmpty) nodesOf(plan) else pathOf(plan)
    if (scans.size > 1) Some("the query has several sources")
    else if (nodes.exists(_.isInstanceOf[StatefulOperator])) Some("the query keeps state")
    else if (nodes.exists(_.isInstanceOf[ShuffleExchangeLike])) Some("the query has a shuffle")
    else if (nodes.exists(_.isInstanceOf[CoalesceExec])) Some("several partitions are read one after the other (coalesce)")
    else if (nodes.exists(_.isInstanceOf[MapFunctionExec]))
      Some("nobody can tell when a function of batches is done with a record")
    else if (context.getConf.getBoolean("spark.speculation", defaultValue = false))
      Some("speculation (spark.speculation) may run a task twice")
    else None
  }

  /** The first epoch of a run is left as it is: what its end does for the first time takes long, and is over with soon. */
  private def stretched(plan: SparkPlan, nodes: Seq[SparkPlan], stream: KafkaStream): SparkPlan =
    if (stream.isInFirstEpoch) plan
    else {
      val hasTable = nodes.exists(_.isInstanceOf[BroadcastExchangeLike])
      val (setting, default) = if (hasTable) TableEpochSetting else EpochSetting
      val epochMs = JavaUtils.timeStringAsMs(SQLConf.get.getConfString(setting, default))
      plan.transform { case scan: RealTimeStreamScanExec =>
        scan.copy(batchDurationMs = math.max(scan.batchDurationMs, epochMs))
      }
    }
}
