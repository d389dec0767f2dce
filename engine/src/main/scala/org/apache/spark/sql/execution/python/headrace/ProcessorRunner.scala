// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.execution.python.headrace

import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.channels.ServerSocketChannel
import java.nio.file.Paths
import java.util

import org.apache.spark.TaskContext
import org.apache.spark.api.python.ChainedPythonFunctions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.BasicPythonArrowInput
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkPythonBaseRunner
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.headrace.{PromptRunner, PromptRunners, WorkerWatch}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.ThreadUtils

/** What a task of a stateful processor is made of. */
private[headrace] final case class ProcessorCall(
    functions: Seq[(ChainedPythonFunctions, Long)],
    evalType: Int,
    arguments: Array[Int],
    schema: StructType,
    keySchema: StructType,
    timeZone: String,
    runnerConf: Map[String, String],
    metrics: Map[String, SQLMetric],
    artifacts: Option[String],
    startedMs: Option[Long],
    watermarkMs: Option[Long])

/** Spark's runner for a stateful processor, made to send each batch at once and to receive while it sends.
  *
  * Reaches into Spark: `TransformWithStateInPySparkPythonBaseRunner` tells Python where to ask for state, and opens the
  * socket at which `StateServer` answers (`initStateServer`, `stateServerSocketPath`); with `BasicPythonArrowInput` rows go
  * to Python in the batches that we choose. Both are private to Spark's package.
  */
private[headrace] final class ProcessorRunner(
    call: ProcessorCall,
    handle: StatefulProcessorHandleImpl,
    values: String,
    override val watch: WorkerWatch,
    // Spark's own constructor looks at it, when an ordinary value would not be there yet.
    override val bufferSize: Int = PromptRunners.SendFromBytes)
    extends TransformWithStateInPySparkPythonBaseRunner[Iterator[InternalRow]](
      call.functions, call.evalType, Array(call.arguments), call.schema, handle, call.timeZone, call.runnerConf,
      call.metrics, call.artifacts, call.keySchema, call.startedMs, call.watermarkMs)
    with BasicPythonArrowInput
    with PromptRunner[Iterator[InternalRow], ColumnarBatch] {
  // As Spark's own, with another server.
  override def compute(
      batches: Iterator[Iterator[InternalRow]],
      partition: Int,
      task: TaskContext): Iterator[ColumnarBatch] = {
    initStateServer()
    val thread = ThreadUtils.newDaemonSingleThreadExecutor("stateConnectionListenerThread")
    val mostRecords = sqlConf.arrowTransformWithStateInPySparkMaxStateRecordsPerBatch
    thread.execute(StateServer.of(stateServerSocket, handle, call, mostRecords))
    task.addTaskCompletionListener[Unit] { _ =>
      thread.shutdownNow()
      closeServerSocketChannelSilently(stateServerSocket)
    }
    StateServer.computeBeside(this, batches, partition, task)
  }

  // Spark's own would note the file of the socket until the JVM ends, of each task of each epoch.
  override protected def initStateServer(): Unit =
    if (!isUnixDomainSock) super.initStateServer()
    else {
      stateServerSocketPath = Paths.get(values).resolveSibling("state").toString
      stateServerSocket = ServerSocketChannel.open(StandardProtocolFamily.UNIX)
      stateServerSocket.bind(UnixDomainSocketAddress.of(stateServerSocketPath), 1): Unit
    }

  override protected def evalConf: Map[String, String] = super.evalConf + ("headrace_values" -> values)

  override val envVars: util.Map[String, String] = PromptRunners.environment(call.functions, None)
  override val pythonExec: String = PromptRunners.launcher(call.functions)
}
