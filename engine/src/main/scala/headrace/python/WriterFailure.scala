// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.TaskScope
import org.apache.spark.TaskContext

/** Where a writer in Python that has failed says so, from a thread of its own: the task may be waiting for input. */
object WriterFailure {
  def report(task: TaskContext, cause: Throwable): Unit = TaskScope.of(task).sinkFailed(cause)
}
