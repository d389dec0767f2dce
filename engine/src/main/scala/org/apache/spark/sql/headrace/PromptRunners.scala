// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import java.io.DataInputStream
import java.nio.channels.ClosedChannelException
import java.util
import java.util.concurrent.atomic.AtomicBoolean

import scala.annotation.tailrec
import scala.util.{Failure, Try}

import headrace.shuffle.Gathering
import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.api.python.{BasePythonRunner, ChainedPythonFunctions, PythonEvalType, PythonWorker, PythonWorkerHandle}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.{ArrowPythonWithNamedArgumentRunner, PythonUDFWithNamedArgumentsRunner}
import org.apache.spark.sql.execution.python.EvalPythonExec.ArgumentMetadata
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Spark's runners, made to send each batch at once and to receive while they send.
  *
  * Reaches into Spark: `BasePythonRunner.pipelinedEnabled`, `bufferSize`, `envVars` and `pythonExec` are settings of a
  * runner that its subclasses may override; the class is private to Spark's package.
  */
private[sql] object PromptRunners {
  // Spark sends when at least so much has gathered, and looks after each batch: so each one is sent.
  val SendFromBytes = 4
  private val MostRetries = 64

  /** Asks the worker for the errors of rows as a column behind its answers, whose schema this is. */
  def withErrors(answers: StructType): Map[String, String] = Map("HEADRACE_DEAD_LETTERS" -> answers.json)

  /** The environment of a worker. With Spark's own mark for runners that receive while they send, Spark would start a
    * reading thread inside the worker, and a worker whose function fails then waits five seconds for that thread before
    * it says so.
    */
  def environment(
      funcs: Seq[(ChainedPythonFunctions, Long)],
      logged: Option[String],
      marks: Map[String, String] = Map.empty): util.Map[String, String] = {
    val environment = new util.HashMap[String, String](funcs.head._1.funcs.head.envVars) {
      override def put(name: String, value: String): String = name match {
        case "SPARK_PIPELINED_UDF" | "SPARK_PIPELINED_UDF_QUEUE_DEPTH" => null
        // In the worker it is only the size of buffers; ours are flushed.
        case "SPARK_BUFFER_SIZE" => super.put(name, SQLConf.get.getConf(SQLConf.PYTHON_UDF_BUFFER_SIZE).toString)
        case _ => super.put(name, value)
      }
    }
    logged.foreach(environment.put("PYSPARK_SPARK_SESSION_UUID", _))
    marks.foreachEntry(environment.put(_, _))
    environment
  }

  /** Starts a runner: what it gives are answers, batch by batch. Spark may have closed a worker that it keeps for later: it
    * interrupts the thread that sends, when that one has sent everything and is about to end. Such a worker is gone from
    * the pool once it was taken.
    */
  @tailrec def started[T](compute: () => Iterator[T], retries: Int = MostRetries): Iterator[T] =
    Try(compute()) match {
      case Failure(_: ClosedChannelException) if retries > 0 => started(compute, retries - 1)
      case result => Gathering.before(result.get, TaskContext.get())
    }

  def launcher(funcs: Seq[(ChainedPythonFunctions, Long)]): String =
    WorkerLauncher.of(SQLConf.get.pysparkWorkerPythonExecutable.getOrElse(funcs.head._1.funcs.head.pythonExec))
}

/** What our runners have in common. */
private[sql] trait PromptRunner[IN, OUT] extends BasePythonRunner[IN, OUT] {
  def watch: WorkerWatch

  override protected val pipelinedEnabled: Boolean = true
  // Spark's time for a silent worker: a stream without input is silent too. The watch has its own.
  override val idleTimeoutSeconds: Long = 0

  abstract override protected def newReaderIterator(
      stream: DataInputStream,
      writer: Writer,
      startTime: Long,
      env: SparkEnv,
      worker: PythonWorker,
      handle: Option[PythonWorkerHandle],
      releasedOrClosed: AtomicBoolean,
      context: TaskContext): Iterator[OUT] = {
    watch.begin(handle, context)
    super.newReaderIterator(stream, writer, startTime, env, worker, handle, releasedOrClosed, context)
  }
}

private[headrace] final class PromptArrowRunner(
    funcs: Seq[(ChainedPythonFunctions, Long)],
    evalType: Int,
    arguments: Array[Array[ArgumentMetadata]],
    schema: StructType,
    metrics: Map[String, SQLMetric],
    setup: PythonSetup,
    override val watch: WorkerWatch,
    marks: Map[String, String],
    // Spark's own constructor looks at it, when an ordinary value would not be there yet.
    override val bufferSize: Int = PromptRunners.SendFromBytes)
    extends ArrowPythonWithNamedArgumentRunner(
      funcs, evalType, arguments, schema, setup.timeZone, setup.largeVarTypes, setup.runnerConf, metrics, setup.artifacts,
      setup.logged)
    with PromptRunner[Iterator[InternalRow], ColumnarBatch] {
  override val envVars: util.Map[String, String] = PromptRunners.environment(funcs, setup.logged, marks)
  override val pythonExec: String = PromptRunners.launcher(funcs)
}

private[headrace] final class PromptPickleRunner(
    funcs: Seq[(ChainedPythonFunctions, Long)],
    arguments: Array[Array[ArgumentMetadata]],
    metrics: Map[String, SQLMetric],
    setup: PythonSetup,
    override val watch: WorkerWatch,
    marks: Map[String, String] = Map.empty)
    extends PythonUDFWithNamedArgumentsRunner(
      funcs, PythonEvalType.SQL_BATCHED_UDF, arguments, metrics, setup.artifacts, setup.logged)
    with PromptRunner[Array[Byte], Array[Byte]] {
  override val bufferSize: Int = PromptRunners.SendFromBytes
  override val envVars: util.Map[String, String] = PromptRunners.environment(funcs, setup.logged, marks)
  override val pythonExec: String = PromptRunners.launcher(funcs)
}
