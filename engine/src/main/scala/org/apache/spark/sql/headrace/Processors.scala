// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{BinaryNode, LogicalPlan, TransformWithStateInPySpark}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.execution.python.headrace.ProcessorExec

/** A stateful processor in Python that real-time records reach.
  *
  * Spark's own strategy for the node of Spark's comes before every strategy that can be added; so the node itself is
  * replaced.
  */
final case class Processor(spark: TransformWithStateInPySpark, left: LogicalPlan, right: LogicalPlan)
    extends BinaryNode {
  override def output: Seq[Attribute] = spark.output

  override def producedAttributes: AttributeSet = spark.producedAttributes

  override lazy val references: AttributeSet = spark.references

  override def isStateful: Boolean = true

  override protected def withNewChildrenInternal(newLeft: LogicalPlan, newRight: LogicalPlan): Processor =
    Processor(spark.withNewChildren(Seq(newLeft, newRight)).asInstanceOf[TransformWithStateInPySpark], newLeft, newRight)
}

/** Replaces the node. Micro-batch and batch queries keep Spark's.
  *
  * Reaches into Spark: `StreamingDataSourceV2ScanRelation.relation.realTimeModeDuration` tells a real-time query.
  */
object ProcessorRule extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case spark: TransformWithStateInPySpark if isRealTime(spark.child) => Processor(spark, spark.left, spark.right)
  }

  private def isRealTime(plan: LogicalPlan): Boolean = plan.exists {
    case scan: StreamingDataSourceV2ScanRelation => scan.relation.realTimeModeDuration.isDefined
    case _ => false
  }
}

object ProcessorStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Processor(spark, left, right) =>
      Seq(
        new ProcessorExec(
          spark.functionExpr, spark.leftAttributes, spark.outputAttrs, spark.outputMode, spark.timeMode, None, None, None,
          None, None, spark.userFacingDataType, planLater(left), isStreaming = true, spark.hasInitialState,
          planLater(right), spark.rightAttributes, spark.initialStateSchema))
    case _ => Nil
  }
}
