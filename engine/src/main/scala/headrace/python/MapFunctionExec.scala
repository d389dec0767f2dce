// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.{HeadraceException, TaskScope}
import headrace.kafka.DeadLetters
import headrace.observe.WorkerMeter
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, PythonUDF, UnsafeProjection}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.python.PythonSQLMetrics
import org.apache.spark.sql.headrace.{MapCalls, WorkerWatch}

/** A Python function that makes any number of rows of those it is given (`mapInPandas`, `mapInArrow`), in a real-time
  * query: a batch is what is there now.
  */
private[headrace] final case class MapFunctionExec(
    function: PythonUDF,
    output: Seq[Attribute],
    child: SparkPlan,
    evalType: Int,
    deadLetters: Option[DeadLetters])
    extends UnaryExecNode
    with PythonSQLMetrics {

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override protected def doExecute(): RDD[InternalRow] = {
    val calls = MapCalls.of(function, output, child, evalType, pythonMetrics, withErrors = deadLetters.isDefined)
    val letters = deadLetters.map(Letters(_, Seq(function.name), child.schema, conf.sessionLocalTimeZone))
    val columns = output
    child.execute().mapPartitions { rows =>
      val task = TaskContext.get()
      // Nobody can tell which record a row behind such a function belongs to, so none is named there.
      val scope = TaskScope.of(task)
      val stand = scope.readAhead()
      new OnFirstUse(() => {
        val feed = new ThreadFeed(rows, stand, task)
        val unanswered = new Unanswered
        val worker = WorkerMeter.of(Seq(calls.name), scope)
        val batches = new Batches(
          feed, InternalRow(_), inStep = false, MapFunctionExec.LeastWaitMs, worker,
          sending = if (letters.isDefined) unanswered.add else Batches.Forgotten, most = calls.most)
        // Most such functions answer batch by batch: then that is when the rows came that these are made of.
        def answered(): Unit = stand.follow(batches.answered().orNull)
        val answers = new Explained(
          calls.answers(batches, () => answered(), WorkerWatch.none(worker.startedAs), task), Seq(calls.name))
        letters.fold[Iterator[InternalRow]](answers)(letters =>
          MapFunctionExec.answered(answers, columns.size, unanswered, letters.begin(task), calls.name))
          .map(UnsafeProjection.create(columns, columns))
      })
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

private object MapFunctionExec {
  // A function that gives nothing for a batch, not even an empty answer, holds up the one after the next so long, once.
  private val LeastWaitMs = 2L

  /** The answers without the rows that only say that the function failed, or that it gave nothing. */
  def answered(
      answers: Iterator[InternalRow],
      columns: Int,
      unanswered: Unanswered,
      letters: TaskLetters,
      function: String): Iterator[InternalRow] = letters.without { answer =>
    val rows = unanswered.take(answer.getInt(columns))
    val isAnswer = answer.isNullAt(columns + 1)
    if (!isAnswer) {
      // Empty if it gave nothing: a row of nulls alone would not tell, as it may be an answer.
      val error = answer.getUTF8String(columns + 1).toString
      if (error.nonEmpty) rows.getOrElse(throw tooManyRows(function, error)).foreach(letters.send(_, error))
    }
    !isAnswer
  }(answers)

  private def tooManyRows(function: String, error: String) = new HeadraceException(
    "PYTHON_FUNCTION_FAILED",
    s"Python function $function failed, and it had taken so many rows without an answer that they are not known any more: " +
      "there is nothing to make dead letters of. The query has stopped; nothing is lost, and it continues from its " +
      s"checkpoint. Correct the function or the data, then start the query again.\n$error",
    Map("function" -> function))
}
