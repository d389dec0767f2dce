// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.TaskScope
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, PythonUDF, UnsafeProjection}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.python.PythonSQLMetrics
import org.apache.spark.sql.headrace.MapCalls

/** A Python function that makes any number of rows of those it is given (`mapInPandas`, `mapInArrow`), in a real-time
  * query: a batch is what is there now.
  */
private[headrace] final case class MapFunctionExec(
    function: PythonUDF,
    output: Seq[Attribute],
    child: SparkPlan,
    evalType: Int)
    extends UnaryExecNode
    with PythonSQLMetrics {

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override protected def doExecute(): RDD[InternalRow] = {
    val calls = MapCalls.of(function, output, child, evalType, pythonMetrics)
    val columns = output
    child.execute().mapPartitions { rows =>
      val task = TaskContext.get()
      // Nobody can tell which record a row behind such a function belongs to, so none is named there.
      val before = TaskScope.of(task).readAhead().before
      new OnFirstUse(() => {
        val feed = new ThreadFeed(rows, before, task)
        val batches = new Batches(feed, InternalRow(_), inStep = false, MapFunctionExec.LongestWaitMs)
        val answers = calls.answers(batches, () => batches.answered(), task)
        new Explained(answers, Seq(calls.name)).map(UnsafeProjection.create(columns, columns))
      })
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

private object MapFunctionExec {
  // A function that gives nothing for a batch holds up the one after the next so long, once.
  private val LongestWaitMs = 2L
}
