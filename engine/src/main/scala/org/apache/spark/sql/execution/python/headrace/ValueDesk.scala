// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.execution.python.headrace

import java.io.{BufferedInputStream, BufferedOutputStream, DataInputStream, DataOutputStream, EOFException}
import java.net.{StandardProtocolFamily, UnixDomainSocketAddress}
import java.nio.channels.{Channels, ClosedChannelException, ServerSocketChannel}
import java.nio.file.Files
import java.util.{ArrayList => JArrayList, List => JList}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import headrace.python.WorkerSockets
import net.razorvine.pickle.{Pickler, Unpickler}
import org.apache.spark.TaskContext
import org.apache.spark.headrace.TaskThread
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.EvaluatePython
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.types.{BinaryType, DataType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Takes and gives values of state, many at a time, beside Spark's own server, which does so one by one.
  *
  * A message names states that are new here, or no longer of interest, then values that have changed, then keys whose values are wanted. What is
  * stored is what `ValueStateImpl` stores, under the same key and name: the checkpoint does not show who wrote it.
  *
  * Most keys need no question: the first row of a key in an epoch brings its values along. Later ones must not. Python may
  * have changed them since, and a row is read ahead of that.
  *
  * Reaches into Spark: `ValueStateImpl` keeps a value as a row of its schema under a row of the key's, in the column family
  * of the state's name.
  */
private[headrace] final class ValueDesk(
    store: StateStore,
    keySchema: StructType,
    metrics: Map[String, SQLMetric],
    task: TaskContext) {
  import ValueDesk._

  private val folder = WorkerSockets.folder.fold(Files.createTempDirectory("headrace-"))(
    Files.createTempDirectory(_, "headrace-"))
  private val listening = ServerSocketChannel.open(StandardProtocolFamily.UNIX)

  /** Where Python finds it. */
  val path: String = folder.resolve("values").toString

  // Changed by one thread, read by another. Whoever reads values holds the store: it may use the row that it gives again
  // for the next one who asks, and nobody may ask for a state that is being deleted.
  @volatile private var states = Map.empty[String, Rows]
  private val keys = new Rows(keySchema)
  private val unpickler = new Unpickler
  private val pickler = new Pickler(false)

  // Of the thread that sends rows. Keys with the same hash count as one: Python asks for the others.
  private val brought = mutable.HashSet.empty[Int]
  private val bringer = new Pickler(false)
  private val withRow = new GenericInternalRow(1)

  listening.bind(UnixDomainSocketAddress.of(path), 1)

  private val thread = new Thread(() => serve(), s"headrace-values-${task.taskAttemptId()}")
  thread.setDaemon(true)
  thread.start()

  task.addTaskCompletionListener[Unit] { _ =>
    // Interrupts the thread wherever it waits, and closes its connection.
    listening.close()
    thread.interrupt()
    TaskThread.join(thread)
    Files.deleteIfExists(folder.resolve("values"))
    Files.deleteIfExists(folder): Unit
  }

  private def serve(): Unit =
    try {
      val channel = listening.accept()
      try {
        val in = new DataInputStream(new BufferedInputStream(Channels.newInputStream(channel)))
        val out = new DataOutputStream(new BufferedOutputStream(Channels.newOutputStream(channel)))
        while (true) {
          val message = new Array[Byte](in.readInt())
          in.readFully(message)
          val answer = pickler.dumps(answerTo(message))
          out.writeInt(answer.length)
          out.write(answer)
          out.flush()
        }
      } finally channel.close()
    } catch {
      // Python has ended, or the task.
      case _: EOFException | _: ClosedChannelException => ()
    }

  /** What was asked for; a text says what went wrong. */
  private def answerTo(message: Array[Byte]): Object =
    try {
      val parts = unpickler.loads(message).asInstanceOf[Array[Object]]
      tuples(parts(0)).foreach { state =>
        if (state(1) == null) store.synchronized(states -= state(0).toString)
        else states += state(0).toString -> new Rows(DataType.fromJson(state(1).toString).asInstanceOf[StructType])
      }
      tuples(parts(1)).foreach(value => change(value(0).toString, value(1), value(2)))
      val values = new JArrayList[Object]()
      tuples(parts(2)).foreach { place =>
        values.add(value(keys.toRow(place(1)), place(0).toString))
      }
      values
    } catch { case NonFatal(cause) => cause.toString }

  private def value(key: UnsafeRow, name: String): Object = store.synchronized(states(name).toPython(store.get(key, name)))

  /** The column that a row has for the values of its key: empty, unless it is the first of its key. */
  def of(key: UnsafeRow): InternalRow = {
    val isFirst = states.nonEmpty && brought.size < MostBrought && brought.add(key.hashCode)
    withRow.update(0, if (isFirst) bringer.dumps(all(key)) else null)
    withRow
  }

  private def all(key: UnsafeRow): Array[Object] =
    store.synchronized(states.keys.map(name => Array[Object](name, value(key, name))).toArray)

  private def change(name: String, key: Object, value: Object): Unit =
    if (value == null) {
      store.remove(keys.toRow(key), name)
      metrics("numRemovedStateRows") += 1
    } else {
      store.put(keys.toRow(key), states(name).toRow(value), name)
      metrics("numUpdatedStateRows") += 1
    }
}

private[headrace] object ValueDesk {
  /** What rows are sent with, behind their own columns. */
  val Column: StructField = StructField("__headrace_values", BinaryType)

  private val MostBrought = 100000

  private def tuples(list: Object): Iterator[Array[Object]] =
    list.asInstanceOf[JList[Array[Object]]].asScala.iterator

  /** Rows of one schema, from and to Python. */
  private final class Rows(schema: StructType) {
    private val fromPython = EvaluatePython.makeFromJava(schema)
    private val project = UnsafeProjection.create(schema)
    private val types = schema.map(_.dataType).toArray

    def toRow(value: Object): UnsafeRow = project(fromPython(value).asInstanceOf[InternalRow])

    def toPython(row: UnsafeRow): Object =
      if (row == null) null
      else Array.tabulate[Object](types.length)(at =>
        row.get(at, types(at)) match {
          case text: UTF8String => text.toString
          case other => other
        })
  }
}
