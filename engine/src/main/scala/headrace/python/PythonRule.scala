// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.kafka.{DeadLetters, KafkaStreamingWrite}
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.{RealTimeStreamScanExec, WriteToDataSourceV2Exec}
import org.apache.spark.sql.execution.python._
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite
import org.apache.spark.sql.headrace.{MapCalls, ScalarCalls}

/** Puts our operators in the place of Spark's for Python functions that real-time records pass; leaves all others alone.
  *
  * Reaches into Spark: `ArrowEvalPythonExec`, `BatchEvalPythonExec`, `MapInPandasExec`, `MapInArrowExec` are replaced.
  */
private[headrace] object PythonRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = {
    val letters = lettersOf(plan)
    plan.transformUp {
      case spark: ArrowEvalPythonExec if isRealTime(spark) =>
        ScalarFunctionsExec(spark.udfs, spark.resultAttrs, spark.child, spark.evalType, letters)
      case spark: BatchEvalPythonExec if isRealTime(spark) =>
        ScalarFunctionsExec(spark.udfs, spark.resultAttrs, spark.child, ScalarCalls.Pickled, letters)
      case spark: MapInPandasExec if isPlain(spark) && isRealTime(spark) =>
        MapFunctionExec(spark.func.asInstanceOf[PythonUDF], spark.output, spark.child, MapCalls.Pandas, letters)
      case spark: MapInArrowExec if isPlain(spark) && isRealTime(spark) =>
        MapFunctionExec(spark.func.asInstanceOf[PythonUDF], spark.output, spark.child, MapCalls.Arrow, letters)
      case spark @ (_: EvalPythonExec | _: MapInBatchExec) =>
        letters.foreach(_.warnOfMicroBatches)
        spark
    }
  }

  /** Reaches into Spark: `MicroBatchWrite.writeSupport` is the sink of the query. */
  private def lettersOf(plan: SparkPlan): Option[DeadLetters] = plan.collectFirst {
    case WriteToDataSourceV2Exec(write: MicroBatchWrite, _, _, _, _) => write.writeSupport
  }.collect { case kafka: KafkaStreamingWrite => kafka.letters }.flatten

  // The others stay Spark's, and the guard refuses them: a stage of a real-time query has no barrier and no resources of
  // its own.
  private def isPlain(map: MapInBatchExec): Boolean = map match {
    case MapInPandasExec(_, _, _, isBarrier, profile) => !isBarrier && profile.isEmpty
    case MapInArrowExec(_, _, _, isBarrier, profile) => !isBarrier && profile.isEmpty
    case _ => false
  }

  private def isRealTime(node: SparkPlan): Boolean = node.exists(_.isInstanceOf[RealTimeStreamScanExec])
}
