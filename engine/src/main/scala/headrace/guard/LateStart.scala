// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import headrace.kafka.KafkaStream
import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec
import org.apache.spark.sql.internal.SQLConf

/** Lets a task that starts late read all the same.
  *
  * Spark fixes the end of an epoch on the driver's clock before its tasks are launched, and a task that starts later than
  * that, on a busy cluster with epochs of a second, reads nothing, epoch after epoch. So Spark's end is put off, and the
  * reader ends the epoch itself: at its proper end, but not before it had time to read.
  *
  * Reaches into Spark: `RealTimeStreamScanExec.batchDurationMs`.
  */
private[headrace] object LateStart {
  /** By how much Spark's end is later than the epoch's. */
  val GraceMs: Long = 60000L

  /** How long every task reads at least; where shorter epochs are allowed, as long as those. */
  private def leastMs: Long = math.min(500L, SQLConf.get.getConf(SQLConf.STREAMING_REAL_TIME_MODE_MIN_BATCH_DURATION))

  private val LengthProperty = "headrace.epochMs"

  def allow(plan: SparkPlan, context: SparkContext): SparkPlan = plan.transform {
    case scan: RealTimeStreamScanExec if scan.stream.isInstanceOf[KafkaStream] =>
      context.setLocalProperty(LengthProperty, scan.batchDurationMs.toString)
      scan.copy(batchDurationMs = scan.batchDurationMs + GraceMs)
  }

  /** How long a reader reads, given how long Spark would let it go on when it is first asked. Not longer than the epoch:
    * the clocks of driver and executor may differ, and a clock may be set back.
    */
  def lengthMs(leftMs: Long, task: TaskContext): Long = {
    val most = Option(task.getLocalProperty(LengthProperty)).fold(Long.MaxValue)(_.toLong)
    math.max(math.min(leftMs - GraceMs, most), leastMs)
  }
}
