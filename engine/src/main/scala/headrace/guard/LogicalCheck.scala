// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import org.apache.spark.sql.catalyst.expressions.{LateralSubquery, PythonFuncExpression, PythonUDF, SessionWindow, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation

/** What of a query's logical plan cannot run in real-time mode: known before anything is planned for execution. */
private[guard] object LogicalCheck {
  def refusals(plan: LogicalPlan): Seq[Finding] =
    plan.collect { case node if node.isStreaming => refusal(node).map(Finding(node.nodeName, _)) }.flatten

  private def refusal(node: LogicalPlan): Option[Rule] =
    ofForm(node).orElse(Option.when(callsPython(node))(Rules.named("PYTHON_FUNCTION")))

  /** A few nodes are refused only in some of their forms; the others by their class. */
  private def ofForm(node: LogicalPlan): Option[Rule] = node match {
    case join: Join => Option.when(join.left.isStreaming && join.right.isStreaming)(Rules.named("STREAM_STREAM_JOIN"))
    case _: Sort => Some(Rules.named("ORDER_BY"))
    case repartition: RepartitionByExpression =>
      Option.when(repartition.partitionExpressions.exists(_.isInstanceOf[SortOrder]))(
        Rules.named("RANGE_PARTITIONING"))
    case aggregate: Aggregate =>
      // The analysis has already replaced the window by a column that carries this mark.
      Option.when(aggregate.groupingExpressions.exists(_.references.exists(_.metadata.contains(SessionWindow.marker))))(
        Rules.named("SESSION_WINDOW"))
    case union: Union =>
      if (union.children.exists(_.exists(_.isStateful))) Some(Rules.named("STATEFUL_BELOW_UNION"))
      else Option.when(union.children.exists(_.exists(node => node.isStreaming && shuffles(node))))(Rules.named("SHUFFLE_BELOW_UNION"))
    case relation: StreamingRelation =>
      Some(Rules.named("SOURCE_UNSUPPORTED").copy(what = s"The source ${relation.sourceName}"))
    case relation: StreamingRelationV2 =>
      // One that is not in the table may still be able to: then Spark asks it, and says so if it cannot.
      Rules.find(relation.table.getClass.getName).filterNot(_.allowed)
        .map(_.copy(what = s"The source ${relation.sourceName}"))
    case other => Rules.find(other.getClass.getName).filterNot(_.allowed)
  }

  private def shuffles(node: LogicalPlan): Boolean = node match {
    case repartition: RepartitionOperation => repartition.shuffle
    case _ => false
  }

  /** Functions of one row and of batches are planned as ours (PythonRule); others have no place in an endless input. */
  private def callsPython(node: LogicalPlan): Boolean = node match {
    case map: MapInPandas => map.isBarrier || map.profile.isDefined
    case map: MapInArrow => map.isBarrier || map.profile.isDefined
    case _: TransformWithStateInPySpark => false
    case other => callsGroupedPython(other)
  }

  private def callsGroupedPython(node: LogicalPlan): Boolean = node.expressions.exists(_.exists {
    case function: PythonFuncExpression => !PythonUDF.isScalarPythonUDF(function)
    // The right side of a lateral join is run for each row of the left one.
    case lateral: LateralSubquery => lateral.plan.exists(callsPython)
    case _ => false
  })
}
