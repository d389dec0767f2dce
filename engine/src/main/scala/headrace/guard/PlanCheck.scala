// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import headrace.commit.CommitRule
import headrace.kafka.{EpochPlanner, FirstOffsets, KafkaStream}
import headrace.observe.Planned
import headrace.python.PythonRule
import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.plans.physical.RangePartitioning
import org.apache.spark.sql.catalyst.rules.{Rule => PlanRule}
import org.apache.spark.sql.execution.{SparkPlan, UnionExec}
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec

/** Checks the physical plan of every epoch before its first task: operators and slots.
  *
  * Reaches into Spark: `RealTimeStreamScanExec` marks a plan as real-time; its partitions are the source's tasks.
  */
private[guard] final class PlanCheck(context: SparkContext) extends PlanRule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = {
    val allowed = LateStart.allow(CommitRule(PythonRule(plan), context), context)
    val run = context.getLocalProperty(EpochPlanner.RunProperty)
    // Without a run this is somebody looking at a plan, not an epoch about to run.
    if (run != null) {
      val path = PlanCheck.streamingPath(allowed)
      PlanCheck.findings(path).find(!_.rule.allowed).foreach(found => throw found.refusal)
      if (path.nonEmpty) {
        val scans = path.collect { case scan: RealTimeStreamScanExec => scan }
        SlotLedger.claim(context, run, SlotNeed(scans.map(_.inputPartitions.size), PlanCheck.shuffles(path)))
        FirstOffsets.note(
          run, scans.map(_.stream).collect { case stream: KafkaStream => stream }, scans.flatMap(_.inputPartitions))
      }
    }
    Planned.note(allowed, context, LateStart.GraceMs)
    allowed
  }
}

private[guard] object PlanCheck {
  /** The nodes that records of the stream pass: each real-time scan and everything above it. */
  def streamingPath(plan: SparkPlan): Seq[SparkPlan] = {
    val below = plan.children.flatMap(streamingPath)
    if (below.nonEmpty || plan.isInstanceOf[RealTimeStreamScanExec]) plan +: below else Nil
  }

  def findings(path: Seq[SparkPlan]): Seq[Finding] = path.map {
    case exchange: ShuffleExchangeExec if exchange.outputPartitioning.isInstanceOf[RangePartitioning] =>
      Finding(exchange.nodeName, Rules.named("RANGE_PARTITIONING"))
    case union: UnionExec if streamingPath(union).exists(_.isInstanceOf[ShuffleExchangeExec]) =>
      Finding(union.nodeName, Rules.named("SHUFFLE_BELOW_UNION"))
    case node =>
      Rules.find(node.getClass.getName).fold(
        Finding(node.getClass.getName, Rules.named("OPERATOR_UNKNOWN").copy(what = s"The operator ${node.nodeName}")))(
        Finding(node.nodeName, _))
  }

  /** The partitions of each shuffle. Plans are read from the sink down; these are in the order in which records flow. */
  def shuffles(path: Seq[SparkPlan]): Seq[Int] =
    path.collect { case exchange: ShuffleExchangeExec => exchange.outputPartitioning.numPartitions }.reverse

  /** For each operator of a kind the number of its stage, which is that of the shuffles before it. */
  def stages(path: Seq[SparkPlan])(isOne: SparkPlan => Boolean): Seq[Int] = path.zipWithIndex.collect {
    case (node, at) if isOne(node) => shuffles(path.drop(at)).size
  }
}
