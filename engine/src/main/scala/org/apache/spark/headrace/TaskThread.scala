// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.headrace

import org.apache.spark.TaskContext

/** Reaches into Spark: `TaskContext.setTaskContext` is private to Spark's package, and a thread that pulls rows for a task
  * must carry its context, because Spark's real-time scan asks for it when the epoch ends.
  */
object TaskThread {
  def start(name: String, task: TaskContext)(work: => Unit): Thread = {
    val thread = new Thread(
      () => {
        TaskContext.setTaskContext(task)
        work
      },
      name)
    thread.setDaemon(true)
    thread.start()
    thread
  }

  /** Waits until a thread has ended, also in a task that is being killed: Spark interrupts it, and what follows here, such
    * as closing a state store, must still find the thread gone.
    */
  def join(thread: Thread): Unit = {
    var interrupted = false
    while (thread.isAlive)
      try thread.join()
      catch { case _: InterruptedException => interrupted = true }
    if (interrupted) Thread.currentThread().interrupt()
  }
}
