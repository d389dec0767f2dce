// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import java.util.concurrent.{ArrayBlockingQueue, TimeUnit}

import _root_.headrace.python.WriterFailure
import net.razorvine.pickle.Pickler
import org.apache.spark.{JobArtifactSet, TaskContext}
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonFunction}
import org.apache.spark.headrace.TaskThread
import org.apache.spark.sql.ForeachWriter
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.EvaluatePython
import org.apache.spark.sql.execution.python.EvalPythonExec.ArgumentMetadata
import org.apache.spark.sql.execution.python.streaming.PythonForeachWriter
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** A user's Python writer whose rows reach it at once, and whose errors end the query at once.
  *
  * Spark gathers rows until a buffer is full, and hears of an error only when it has sent the next one.
  */
final class PromptForeachWriter private (function: PythonFunction, schema: StructType, artifacts: Option[String])
    extends ForeachWriter[UnsafeRow] {
  import PromptForeachWriter._

  @transient private lazy val waiting = new ArrayBlockingQueue[AnyRef](Capacity)
  @transient @volatile private var failure: Throwable = _
  @transient private var thread: Thread = _

  override def open(partitionId: Long, version: Long): Boolean = {
    val task = TaskContext.get()
    // Registered before those of the runner, so it runs after them: by then the connection to Python is closed.
    task.addTaskCompletionListener[Unit](_ => if (thread != null) TaskThread.join(thread))
    EvaluatePython.registerPicklers()
    val setup = PythonSetup.of(SQLConf.get, artifacts, None)
    // Spark shows no numbers of this sink, so nobody reads these.
    val metrics = Map.empty[String, SQLMetric].withDefault(_ => new SQLMetric("sum"))
    val chain = Seq((ChainedPythonFunctions(Seq(function)), 0L))
    val none = Array(Array.empty[ArgumentMetadata])
    def runner = new PromptPickleRunner(chain, none, metrics, setup, WorkerWatch.none(_ => ()), WriterMark)
    val answers = PromptRunners.started(() => runner.compute(new Pickles, task.partitionId(), task))
    thread = TaskThread.start(s"headrace-foreach-${task.taskAttemptId()}", task) {
      // A writer answers nothing: this waits for its end, or for its error.
      try answers.hasNext
      catch {
        case cause: Throwable =>
          failure = cause
          WriterFailure.report(task, cause)
      }
    }
    true
  }

  override def process(row: UnsafeRow): Unit = put(row.copy())

  override def close(error: Throwable): Unit =
    if (error == null) {
      put(End)
      thread.join()
      if (failure != null) throw failure
    }

  private def put(entry: AnyRef): Unit =
    while ({
      if (failure != null) throw failure
      !waiting.offer(entry, LookUpMs, TimeUnit.MILLISECONDS)
    }) ()

  /** Whatever waits, as one pickle: it never waits for company. */
  private final class Pickles extends Iterator[Array[Byte]] {
    private val binaryAsBytes = SQLConf.get.pysparkBinaryAsBytes
    private val pickler = new Pickler(true, false)
    private var head: AnyRef = _

    override def hasNext: Boolean = {
      if (head == null) head = waiting.take()
      head != End
    }

    override def next(): Array[Byte] = {
      if (!hasNext) throw new NoSuchElementException
      val rows = new java.util.ArrayList[AnyRef]
      while (head != null && head != End && rows.size < MostRows) {
        rows.add(EvaluatePython.toJava(head, schema, binaryAsBytes).asInstanceOf[AnyRef])
        head = waiting.poll()
      }
      pickler.dumps(rows.toArray)
    }
  }
}

object PromptForeachWriter {
  private val Capacity = 4096
  private val MostRows = 1000
  private val LookUpMs = 100L
  private val End = new Object
  // Tells our part of the worker that the function is a writer.
  private val WriterMark = Map("HEADRACE_WRITER" -> "1")

  /** Puts a writer of ours in the place of Spark's, on the driver.
    *
    * Reaches into Spark: `PythonForeachWriter` keeps its function and the schema of its rows to itself.
    */
  def of(spark: PythonForeachWriter): PromptForeachWriter = new PromptForeachWriter(
    field(spark, classOf[PythonFunction]),
    field(spark, classOf[StructType]),
    JobArtifactSet.getCurrentJobArtifactState.map(_.uuid))

  private def field[T](writer: PythonForeachWriter, kind: Class[T]): T = {
    val found = classOf[PythonForeachWriter].getDeclaredFields.find(_.getType == kind).getOrElse(
      throw new IllegalStateException(s"Spark's writer no longer has a field of type ${kind.getName}"))
    found.setAccessible(true)
    kind.cast(found.get(writer))
  }
}
