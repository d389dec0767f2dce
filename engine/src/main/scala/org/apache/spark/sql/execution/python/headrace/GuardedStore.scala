// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.execution.python.headrace

import java.lang.reflect.{InvocationHandler, InvocationTargetException, Method, Proxy}
import java.util.concurrent.locks.ReentrantLock

import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreIterator}

/** A state store that nobody can use any more once its task is about to end.
  *
  * Python asks for state through a server with a thread of its own, and a worker may still ask when its task has failed.
  * Spark then closes the store beneath it, and a use of RocksDB after that takes the whole JVM with it. Nor may two use it
  * at once: values have a server of their own.
  */
private[headrace] object GuardedStore {
  def of(store: StateStore, task: TaskContext): StateStore = {
    val guard = new Guard(store)
    // Runs before the one that aborts the store, which was there first.
    task.addTaskCompletionListener[Unit](_ => guard.close())
    proxy(classOf[StateStore], guard)
  }

  private def proxy[T](kind: Class[T], guard: InvocationHandler): T =
    kind.cast(Proxy.newProxyInstance(kind.getClassLoader, Array(kind), guard))

  private final class Guard(store: StateStore) extends InvocationHandler {
    private val lock = new ReentrantLock
    private var closed = false

    override def invoke(self: Object, method: Method, arguments: Array[Object]): Object =
      guarded(call(store, method, arguments)) match {
        // They read the store when they are asked for their rows.
        case rows: StateStoreIterator[_] => new StateStoreIterator[Any](new GuardedRows(rows), () => closeOpen(rows))
        case rows: Iterator[_] => new GuardedRows(rows)
        case result => result
      }

    private final class GuardedRows(rows: Iterator[Any]) extends Iterator[Any] {
      override def hasNext: Boolean = guarded(rows.hasNext)
      override def next(): Any = guarded(rows.next())
    }

    // The store has closed those that were open when it was.
    private def closeOpen(rows: StateStoreIterator[_]): Unit = {
      lock.lock()
      try if (!closed) rows.close()
      finally lock.unlock()
    }

    private def guarded[T](work: => T): T = {
      lock.lock()
      try {
        if (closed) throw new IllegalStateException("the task of this state has ended")
        work
      } finally lock.unlock()
    }

    private def call(target: Object, method: Method, arguments: Array[Object]): Object =
      try method.invoke(target, arguments: _*)
      catch { case wrapped: InvocationTargetException => throw wrapped.getCause }

    def close(): Unit = {
      lock.lock()
      try closed = true
      finally lock.unlock()
    }
  }
}
