// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.TaskScope
import headrace.kafka.{DeadLetters, ReadAhead}
import headrace.observe.WorkerMeter
import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, JoinedRow, PythonUDF, UnsafeProjection}
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec
import org.apache.spark.sql.execution.python.PythonSQLMetrics
import org.apache.spark.sql.headrace.{ScalarCalls, WorkerWatch}

/** Python functions that give one value for each row, in a real-time query: stands where Spark's operator would.
  *
  * Spark's gathers rows until a batch is full or the input ends, and a real-time input ends with the epoch.
  */
private[headrace] final case class ScalarFunctionsExec(
    functions: Seq[PythonUDF],
    results: Seq[Attribute],
    child: SparkPlan,
    evalType: Int,
    deadLetters: Option[DeadLetters])
    extends UnaryExecNode
    with PythonSQLMetrics {

  override def output: Seq[Attribute] = child.output ++ results

  override def producedAttributes: AttributeSet = AttributeSet(results)

  override protected def doExecute(): RDD[InternalRow] = {
    val calls = ScalarCalls.of(functions, results, child, evalType, pythonMetrics, withErrors = deadLetters.isDefined)
    val letters = deadLetters.map(Letters(_, functions.map(_.name), child.schema, conf.sessionLocalTimeZone))
    val columns = output
    val isDirect = ScalarFunctionsExec.givesARowForEachRecord(child)
    child.execute().mapPartitions(
      rows => {
        val task = TaskContext.get()
        val scope = TaskScope.of(task)
        // Where this stands among the operators of the task is settled now; everything else waits for the first row to be
        // asked for, because by then the sink is there.
        val stand = scope.readAhead()
        new OnFirstUse(() => {
          val feed = if (isDirect) new DirectFeed(rows, stand, scope) else new ThreadFeed(rows, stand, task)
          ScalarFunctionsExec.rows(calls, feed, columns, stand, letters.map(_.begin(task)), task)
        })
      },
      preservesPartitioning = true)
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

private object ScalarFunctionsExec {
  // Functions of iterators may take several batches before they give one.
  private val LeastWaitMs = 20L

  private def givesARowForEachRecord(plan: SparkPlan): Boolean = plan match {
    case project: ProjectExec => givesARowForEachRecord(project.child)
    case scan => scan.isInstanceOf[RealTimeStreamScanExec]
  }

  /** The rows of a task, each with the results behind its own columns. */
  def rows(
      calls: ScalarCalls,
      feed: Feed,
      columns: Seq[Attribute],
      stand: ReadAhead,
      letters: Option[TaskLetters],
      task: TaskContext): Iterator[InternalRow] = {
    val worker = WorkerMeter.of(calls.names, TaskScope.of(task))
    val waitMs = if (calls.answersEachBatch) Batches.Answered else LeastWaitMs
    val batches = new Batches(feed, calls.argumentsOf(task), inStep = true, waitMs, worker, most = calls.most)
    val watch = new WorkerWatch(() => batches.heldNanos, worker.startedAs)
    val answers = calls.answers(batches, batches.answered(_: Int), watch, task)
    val joined = new JoinedRow
    val whole = UnsafeProjection.create(columns, columns)
    def joinedWith(fed: Fed, answer: InternalRow): InternalRow = {
      stand.follow(fed.origin)
      whole(joined(fed.row, answer))
    }
    val explained = new Explained(answers, calls.names, () => batches.suspects, () => watch.killedAfter)
    val rows = letters.fold[Iterator[InternalRow]](explained.map(joinedWith(batches.oldest(), _))) { letters =>
      var fed: Fed = null
      letters.without { answer =>
        fed = batches.oldest()
        val failed = !answer.isNullAt(calls.names.size)
        if (failed) {
          letters.send(fed, answer.getUTF8String(calls.names.size).toString)
          stand.finished()
        }
        failed
      }(explained).map(joinedWith(fed, _))
    }
    new Followed(rows, stand)
  }
}

/** An iterator that is made when it is first asked. */
private[python] final class OnFirstUse(make: () => Iterator[InternalRow]) extends Iterator[InternalRow] {
  private lazy val rows = make()
  override def hasNext: Boolean = rows.hasNext
  override def next(): InternalRow = rows.next()
}

/** Whoever asks for the next row is done with the last. */
private final class Followed(rows: Iterator[InternalRow], stand: ReadAhead) extends Iterator[InternalRow] {
  private var isWithSink = false

  override def hasNext: Boolean = {
    if (isWithSink) stand.finished()
    isWithSink = false
    rows.hasNext
  }

  override def next(): InternalRow = {
    isWithSink = true
    rows.next()
  }
}
