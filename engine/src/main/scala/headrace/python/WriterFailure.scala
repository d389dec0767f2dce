// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.TaskScope
import headrace.kafka.EpochPlanner
import org.apache.spark.TaskContext

/** Where a writer in Python that has failed says so, from a thread of its own: the task may be waiting for input, its own
  * or, behind a shuffle, that of others.
  */
object WriterFailure {
  def report(task: TaskContext, cause: Throwable): Unit = {
    TaskScope.of(task).sinkFailed(cause)
    EpochPlanner.endEpochOf(task)
  }
}
