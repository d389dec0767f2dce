// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import headrace.commit.CommitRule
import headrace.kafka.{EpochPlanner, FirstOffsets, KafkaStream}
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
    val allowed = LateStart.allow(CommitRule(PythonRule(plan), context))
    val path = streamingPath(allowed)
    if (path.nonEmpty) {
      path.foreach(checkOperator)
      checkSlots(path)
    }
    allowed
  }

  /** The nodes that records of the stream pass: each real-time scan and everything above it. */
  private def streamingPath(plan: SparkPlan): Seq[SparkPlan] = {
    val below = plan.children.flatMap(streamingPath)
    if (below.nonEmpty || plan.isInstanceOf[RealTimeStreamScanExec]) plan +: below else Nil
  }

  private def checkOperator(node: SparkPlan): Unit = node match {
    case exchange: ShuffleExchangeExec if exchange.outputPartitioning.isInstanceOf[RangePartitioning] =>
      throw Rules.named("RANGE_PARTITIONING").refusal(node.nodeName)
    case union: UnionExec if union.exists(_.isInstanceOf[ShuffleExchangeExec]) =>
      throw Rules.named("SHUFFLE_BELOW_UNION").refusal(node.nodeName)
    case _ => Rules.find(node.getClass.getName) match {
        case Some(rule) if rule.allowed => ()
        case Some(rule) => throw rule.refusal(node.nodeName)
        case None => throw Rules.named("OPERATOR_UNKNOWN").copy(what = s"The operator ${node.nodeName}").refusal(node.getClass.getName)
      }
  }

  private def checkSlots(path: Seq[SparkPlan]): Unit = {
    val run = context.getLocalProperty(EpochPlanner.RunProperty)
    // Without a run this is somebody looking at a plan, not an epoch about to run.
    if (run != null) {
      val sources = path.collect { case scan: RealTimeStreamScanExec => scan.inputPartitions.size }
      val shuffles = path.collect { case exchange: ShuffleExchangeExec => exchange.outputPartitioning.numPartitions }
      // Plans are read from the sink down; the sum is said in the order records flow.
      SlotLedger.claim(context, run, SlotNeed(sources, shuffles.reverse))
      noteFirst(run, path.collect { case scan: RealTimeStreamScanExec => scan })
    }
  }

  private def noteFirst(run: String, scans: Seq[RealTimeStreamScanExec]): Unit = FirstOffsets.note(
    run, scans.map(_.stream).collect { case stream: KafkaStream => stream }, scans.flatMap(_.inputPartitions))
}
