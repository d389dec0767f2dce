// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import headrace.commit.CommitRule
import headrace.kafka.{EpochPlanner, KafkaStream}
import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.datasources.v2.{MicroBatchScanExec, RealTimeStreamScanExec, WriteToDataSourceV2Exec}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec

/** A stage as it was planned.
  *
  * @param operators in the order in which rows pass them
  * @param feeds the stages behind it
  */
private[observe] final case class PlannedStage(id: Int, name: String, operators: Seq[String], feeds: Seq[Int], tasks: Int)

/** An epoch that is about to run. */
private[observe] final case class PlannedEpoch(
    number: Long,
    startedMs: Long,
    intervalMs: Option[Long],
    delivery: Option[String],
    stages: Seq[PlannedStage]) {
  def isRealTime: Boolean = intervalMs.isDefined
}

/** Reads from the plan of an epoch what it is made of.
  *
  * Reaches into Spark: `RealTimeStreamScanExec.scan`, which describes the source, and `ShuffleExchangeExec`, where a stage
  * ends.
  */
private[headrace] object Planned {
  /** @param graceMs how much longer than said an epoch of a source of ours may be */
  def note(plan: SparkPlan, context: SparkContext, graceMs: Long): Unit = for {
    run <- Option(context.getLocalProperty(EpochPlanner.RunProperty))
    epoch <- Option(context.getLocalProperty(EpochPlanner.EpochProperty)).flatMap(_.toLongOption)
    if plan.exists(isScan)
  } Board.planned(run, of(plan, epoch, graceMs))

  private def isScan(node: SparkPlan): Boolean = node match {
    case _: RealTimeStreamScanExec | _: MicroBatchScanExec => true
    case adaptive: AdaptiveSparkPlanExec => adaptive.inputPlan.exists(isScan)
    case _ => false
  }

  private def of(plan: SparkPlan, epoch: Long, graceMs: Long): PlannedEpoch = {
    val intervalMs = plan.collectFirst {
      case scan: RealTimeStreamScanExec if scan.stream.isInstanceOf[KafkaStream] => scan.batchDurationMs - graceMs
      case scan: RealTimeStreamScanExec => scan.batchDurationMs
    }
    PlannedEpoch(
      epoch,
      System.currentTimeMillis(),
      intervalMs,
      CommitRule.sinkOf(plan).map(_.delivery.name),
      // Those of a micro-batch come and go within it.
      if (intervalMs.isEmpty) Nil else stages(plan))
  }

  /** A stage with those before it. */
  private final class Cut(val nodes: Seq[SparkPlan], val before: Seq[Cut], val tasks: Int) {
    def all: Seq[Cut] = before.flatMap(_.all) :+ this
  }

  private def stages(plan: SparkPlan): Seq[PlannedStage] = {
    val cuts = cut(plan).all
    cuts.zipWithIndex.map { case (stage, id) =>
      val behind = cuts.zipWithIndex.collect { case (other, at) if other.before.exists(_ eq stage) => at }
      val names = stage.nodes.reverse.map(name)
      val (source, rest) = if (stage.before.isEmpty) (names.head, names.tail) else ("shuffle", names)
      PlannedStage(id, if (rest.isEmpty) source else s"$source → ${rest.mkString(", ")}", names, behind, stage.tasks)
    }
  }

  private def cut(top: SparkPlan): Cut = {
    // Two shuffles may follow each other with nothing in between.
    val nodes = Option.unless(top.isInstanceOf[ShuffleExchangeExec])(top).toSeq.flatMap(inside)
    val exchanges = (top +: nodes.flatMap(streamed)).collect { case exchange: ShuffleExchangeExec => exchange }
    val read = nodes.collect { case scan: RealTimeStreamScanExec => scan.inputPartitions.size }.sum
    new Cut(
      nodes,
      exchanges.map(exchange => cut(exchange.child)),
      if (exchanges.isEmpty) read else exchanges.head.outputPartitioning.numPartitions)
  }

  private def inside(node: SparkPlan): Seq[SparkPlan] =
    node +: streamed(node).filterNot(_.isInstanceOf[ShuffleExchangeExec]).flatMap(inside)

  /** Those from which records come: the static side of a join is no part of the way. */
  private def streamed(node: SparkPlan): Seq[SparkPlan] =
    node.children.filter(_.exists(_.isInstanceOf[RealTimeStreamScanExec]))

  private def name(node: SparkPlan): String = node match {
    case scan: RealTimeStreamScanExec => scan.scan.description()
    case _: WriteToDataSourceV2Exec => "Write"
    case other => other.nodeName
  }
}
