// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.headrace

import org.apache.spark.SparkContext

/** Reaches into Spark: `SparkContext.maxNumConcurrentTasks` is private to Spark's package, and nothing public tells how
  * many tasks can run at once (cores of live executors divided by cores per task).
  */
object Slots {
  def total(context: SparkContext): Int =
    context.maxNumConcurrentTasks(context.resourceProfileManager.defaultResourceProfile)
}
