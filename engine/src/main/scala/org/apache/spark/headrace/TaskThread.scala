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
}
