// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import java.util.concurrent.ArrayBlockingQueue
import java.util.concurrent.atomic.AtomicInteger

import headrace.TaskScope
import headrace.observe.Origin
import org.apache.spark.TaskContext
import org.apache.spark.headrace.TaskThread
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec
import org.apache.spark.sql.internal.SQLConf

/** Puts an operator that reads ahead above every real-time scan, where the session asks for one.
  *
  * The setting `spark.headrace.probe.readAhead` says how: `trail` as an operator of ours must do it, `blind` as none may,
  * to show that the test would notice.
  */
final class ReadAheadExtension extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit =
    extensions.injectColumnar(_ => new ColumnarRule {
      // After the guard, which knows only Spark's operators.
      override def postColumnarTransitions: Rule[SparkPlan] = ReadAheadRule
    })
}

private[probe] object ReadAheadRule extends Rule[SparkPlan] {
  override def apply(plan: SparkPlan): SparkPlan = SQLConf.get.getConfString("spark.headrace.probe.readAhead", "off") match {
    case "off" => plan
    case how => plan.transformUp { case scan: RealTimeStreamScanExec => ReadAheadExec(scan, withTrail = how == "trail") }
  }
}

private[probe] final case class ReadAheadExec(child: SparkPlan, withTrail: Boolean) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output

  override protected def doExecute(): RDD[InternalRow] = {
    val trailed = withTrail
    child.execute().mapPartitions(rows => new ReadAheadRows(rows, TaskContext.get(), trailed))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan = copy(child = newChild)
}

private[probe] object ReadAheadRows {
  val Capacity = 64
  private val furthest = new AtomicInteger()

  /** How many rows have waited at most in any queue since the last reset. */
  def furthestAhead: Int = furthest.get()

  def reset(): Unit = furthest.set(0)

  private sealed trait Entry
  private final case class Fed(row: InternalRow, origin: Origin) extends Entry
  private final case class Failed(cause: Throwable) extends Entry
  private case object End extends Entry
}

/** Rows pulled by a thread of their own, at most `Capacity` in front of the task. */
private[probe] final class ReadAheadRows(rows: Iterator[InternalRow], task: TaskContext, withTrail: Boolean)
    extends Iterator[InternalRow] {
  import ReadAheadRows._

  private val scope = TaskScope.of(task)
  private val stand = if (withTrail) Some(scope.readAhead()) else None
  private val queue = new ArrayBlockingQueue[Entry](Capacity)
  private var next_ : Entry = _
  private val feeder = TaskThread.start(s"read-ahead-${task.taskAttemptId()}", task)(feed())

  // Registered after those of the scan, so it runs before them: the feeder has ended when the reader is closed.
  task.addTaskCompletionListener[Unit] { _ =>
    feeder.interrupt()
    feeder.join()
  }

  private def feed(): Unit =
    try {
      // A scan reuses its row.
      rows.foreach { row =>
        queue.put(Fed(row.copy(), stand.fold[Origin](null)(_.before.origin)))
        furthest.accumulateAndGet(queue.size, (a, b) => math.max(a, b)): Unit
      }
      queue.put(End)
    } catch {
      case _: InterruptedException => ()
      // The thread ends here; the task rethrows it.
      case e: Throwable => queue.put(Failed(e))
    }

  override def hasNext: Boolean = {
    if (next_ == null) next_ = queue.take()
    next_ match {
      case Failed(cause) => throw cause
      case entry => entry != End
    }
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    val Fed(row, origin) = next_.asInstanceOf[Fed]
    next_ = null
    stand.foreach(_.follow(origin))
    row
  }
}
