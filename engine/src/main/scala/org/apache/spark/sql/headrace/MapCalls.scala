// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import scala.jdk.CollectionConverters._

import headrace.python.Most
import org.apache.spark.TaskContext
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, PythonUDF}
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.EvalPythonExec.ArgumentMetadata
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, IntegerType, StructField, StructType}
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch}

/** Calls of a Python function that turns batches of rows into batches of other rows, through Spark's own workers.
  *
  * Reaches into Spark: `MapInBatchEvaluatorFactory` does the same, and there too whole rows travel as one column of structs.
  *
  * @param withErrors whether rows on which the function failed are answered too: two columns more say to how many rows a
  *   row is the answer, and what the error was
  */
final class MapCalls private (
    function: PythonUDF,
    input: StructType,
    results: Seq[Attribute],
    evalType: Int,
    metrics: Map[String, SQLMetric],
    setup: PythonSetup,
    withErrors: Boolean)
    extends Serializable {
  def name: String = function.name

  /** How large a batch may become. */
  def most: Most = Most().within(setup.most)

  /** The rows that the function gives.
    *
    * @param batches rows that are sent together; asked for by a thread of Spark's
    * @param answered called when Python has given a batch
    */
  def answers(
      batches: Iterator[Iterator[InternalRow]],
      answered: () => Unit,
      watch: WorkerWatch,
      task: TaskContext): Iterator[InternalRow] = {
    def runner = new PromptArrowRunner(
      Seq((ChainedPythonFunctions(Seq(function.func)), function.resultId.id)),
      evalType,
      Array(Array(ArgumentMetadata(0, None))),
      StructType(Seq(StructField("struct", input))),
      metrics,
      setup,
      watch,
      marks)
    PromptRunners.started(() => runner.compute(batches, task.partitionId(), task)).flatMap { batch =>
      answered()
      check(batch)
      val struct = batch.column(0).asInstanceOf[ArrowColumnVector]
      // How many rows these are the answer to, and the error.
      val behind = (1 until batch.numCols()).map(batch.column)
      val flat = new ColumnarBatch((results.indices.map(struct.getChild) ++ behind).toArray)
      flat.setNumRows(batch.numRows())
      flat.rowIterator.asScala
    }
  }

  private def marks: Map[String, String] =
    if (withErrors) PromptRunners.withErrors(new StructType().add("rows", function.dataType).add("taken", IntegerType))
    else Map.empty

  private def check(batch: ColumnarBatch): Unit = {
    val found = batch.column(0).dataType()
    if (SQLConf.get.pysparkArrowValidateSchema && !DataType.equalsIgnoreCompatibleNullability(found, function.dataType))
      throw QueryExecutionErrors.arrowDataTypeMismatchError(
        PythonEvalType.toString(evalType), Seq(function.dataType), Seq(found))
  }
}

object MapCalls {
  val Pandas: Int = PythonEvalType.SQL_MAP_PANDAS_ITER_UDF
  val Arrow: Int = PythonEvalType.SQL_MAP_ARROW_ITER_UDF

  /** On the driver, while a plan is executed. */
  def of(
      function: PythonUDF,
      results: Seq[Attribute],
      child: SparkPlan,
      evalType: Int,
      metrics: Map[String, SQLMetric],
      withErrors: Boolean): MapCalls =
    new MapCalls(function, child.schema, results, evalType, metrics, PythonSetup.of(child), withErrors)
}
