// SPDX-License-Identifier: Apache-2.0
package headrace.python

import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec
import org.apache.spark.sql.execution.python._
import org.apache.spark.sql.headrace.{MapCalls, ScalarCalls}

/** Puts our operators in the place of Spark's for Python functions that real-time records pass; leaves all others alone.
  *
  * Reaches into Spark: `ArrowEvalPythonExec`, `BatchEvalPythonExec`, `MapInPandasExec`, `MapInArrowExec` are replaced.
  */
private[headrace] object PythonRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case spark: ArrowEvalPythonExec if isRealTime(spark) =>
      ScalarFunctionsExec(spark.udfs, spark.resultAttrs, spark.child, spark.evalType)
    case spark: BatchEvalPythonExec if isRealTime(spark) =>
      ScalarFunctionsExec(spark.udfs, spark.resultAttrs, spark.child, ScalarCalls.Pickled)
    case spark: MapInPandasExec if isPlain(spark) && isRealTime(spark) =>
      MapFunctionExec(spark.func.asInstanceOf[PythonUDF], spark.output, spark.child, MapCalls.Pandas)
    case spark: MapInArrowExec if isPlain(spark) && isRealTime(spark) =>
      MapFunctionExec(spark.func.asInstanceOf[PythonUDF], spark.output, spark.child, MapCalls.Arrow)
  }

  // The others stay Spark's, and the guard refuses them: a stage of a real-time query has no barrier and no resources of
  // its own.
  private def isPlain(map: MapInBatchExec): Boolean = map match {
    case MapInPandasExec(_, _, _, isBarrier, profile) => !isBarrier && profile.isEmpty
    case MapInArrowExec(_, _, _, isBarrier, profile) => !isBarrier && profile.isEmpty
    case _ => false
  }

  private def isRealTime(node: SparkPlan): Boolean = node.exists(_.isInstanceOf[RealTimeStreamScanExec])
}
