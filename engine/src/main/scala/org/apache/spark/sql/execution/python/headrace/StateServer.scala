// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.execution.python.headrace

import java.lang.invoke.{MethodHandles, MethodType}
import java.nio.channels.ServerSocketChannel

import scala.annotation.nowarn
import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.api.python.BasePythonRunner
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.python.streaming.{TransformWithStateInPySparkPythonBaseRunner, TransformWithStateInPySparkStateServer}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Spark's server for state, made to last for an epoch: it keeps each iterator of a map, and each look at timers, until
  * it ends. In micro-batch mode that is soon.
  *
  * Reaches into Spark: `TransformWithStateInPySparkStateServer` takes the maps in which it keeps them, for the sake of
  * its tests. `TransformWithStateInPySparkPythonBaseRunner.compute` would start one without, and then call the `compute`
  * of `BasePythonRunner`: `ProcessorRunner` does both itself. `test_state_calls.py` fails first when that changes.
  */
private[headrace] object StateServer {
  // More than a processor has under way at a time; one that is dropped too early would begin anew.
  private val MostIterators = 1000
  // A look begins when the one before has ended.
  private val MostLooks = 10

  def of(
      socket: ServerSocketChannel,
      handle: StatefulProcessorHandleImpl,
      call: ProcessorCall,
      mostRecords: Int): Runnable =
    new TransformWithStateInPySparkStateServer(
      socket, handle, call.keySchema, mostRecords, call.startedMs, call.watermarkMs,
      keyValueIteratorMapForTest = new Latest(MostIterators),
      expiryTimerIterForTest = new Latest(MostLooks))

  /** Runs Python, when its server for state is there. */
  def computeBeside(
      runner: ProcessorRunner,
      batches: Iterator[Iterator[InternalRow]],
      partition: Int,
      task: TaskContext): Iterator[ColumnarBatch] =
    plainCompute.invokeWithArguments(runner, batches, Int.box(partition), task).asInstanceOf[Iterator[ColumnarBatch]]

  // Scala has no word for the method that a parent has overridden.
  private lazy val plainCompute = {
    val parent = classOf[TransformWithStateInPySparkPythonBaseRunner[_]]
    val kind = MethodType.methodType(classOf[Iterator[_]], classOf[Iterator[_]], Integer.TYPE, classOf[TaskContext])
    MethodHandles.privateLookupIn(parent, MethodHandles.lookup())
      .findSpecial(classOf[BasePythonRunner[_, _]], "compute", kind, parent)
  }

  /** Forgets the oldest entries when there are too many. */
  // Spark's server takes no other kind of map, and only ever puts in what is not there.
  @nowarn("cat=deprecation")
  private final class Latest[V](most: Int) extends mutable.HashMap[String, V] {
    private val inOrder = mutable.Queue.empty[String]

    override def put(id: String, entry: V): Option[V] = {
      inOrder.enqueue(id)
      if (inOrder.size > most) remove(inOrder.dequeue())
      super.put(id, entry)
    }
  }
}
