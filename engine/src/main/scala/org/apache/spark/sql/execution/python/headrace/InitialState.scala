// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.execution.python.headrace

import headrace.python.Explained
import org.apache.spark.TaskContext
import org.apache.spark.api.python.PythonEvalType
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, Attribute, RowOrdering, SortOrder, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.python.PandasGroupUtils
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkPythonInitialStateRunner
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl

/** What a processor is given before the first record of its query, for the keys of one task at a time.
  *
  * Spark brings it to its task by an ordinary shuffle, which cannot run beside the streaming one. So each executor gets all
  * of it, and each task takes its own. Python sees it as in micro-batch mode, in a call of its own before that for records:
  * by Spark's own runner, which ends with the last row.
  *
  * Reaches into Spark: `TransformWithStateInPySparkPythonInitialStateRunner` gives rows to the processor;
  * `PandasGroupUtils` groups them; `HashPartitioning` says which task has a key's state.
  */
private[headrace] final case class InitialState(
    processor: String,
    rows: Broadcast[Array[InternalRow]],
    output: Seq[Attribute],
    keys: Seq[Attribute],
    partitions: Int) {
  private val (columns, arguments) = PandasGroupUtils.resolveArgOffsets(output, keys)

  /** Lets Python take over the rows of this task's keys.
    *
    * @param call what the processor will be called with for records
    * @param answer its columns
    * @return what timers that were due at once have answered
    */
  def handOver(
      call: ProcessorCall,
      handle: StatefulProcessorHandleImpl,
      answer: Seq[Attribute],
      task: TaskContext): Iterator[InternalRow] = {
    val own = ofTask(task.partitionId())
    if (own.isEmpty) Iterator.empty
    else {
      val runner = new TransformWithStateInPySparkPythonInitialStateRunner(
        call.functions, evalType(call), Array(call.arguments ++ arguments), call.schema,
        DataTypeUtils.fromAttributes(columns), handle, call.timeZone, call.runnerConf, call.metrics, call.artifacts,
        call.keySchema, call.startedMs, call.watermarkMs)
      val groups = PandasGroupUtils.groupAndProject(own.iterator, keys, output, columns).map((_, true))
      val answers = PandasGroupUtils.executePython(groups, answer, runner)
      new Explained(answers, Seq(processor), unknown = "on its initial state")
    }
  }

  private def evalType(call: ProcessorCall) =
    if (call.evalType == PythonEvalType.SQL_TRANSFORM_WITH_STATE_PANDAS_UDF)
      PythonEvalType.SQL_TRANSFORM_WITH_STATE_PANDAS_INIT_STATE_UDF
    else PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_INIT_STATE_UDF

  /** Sorted: rows of a key stand together. */
  private def ofTask(partition: Int): Array[InternalRow] = {
    val place = UnsafeProjection.create(Seq(HashPartitioning(keys, partitions).partitionIdExpression), output)
    val ordering = RowOrdering.create(keys.map(SortOrder(_, Ascending)), output)
    rows.value.filter(place(_).getInt(0) == partition).sorted(ordering)
  }
}
