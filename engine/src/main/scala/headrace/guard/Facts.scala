// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.spark.sql.catalyst.expressions.{CurrentDate, CurrentTimestampLike, Expression, LocalTimestamp}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.streaming.TimeMode

/** What of a query's logical plan matters to advice, though it is no reason to refuse it. */
private[guard] object Facts {
  /** Spark's answer for a table of which it knows nothing is about the largest number there is. */
  private val Unknown = BigInt(1) << 60

  def add(report: ObjectNode, session: SparkSession, query: LogicalPlan): Unit = {
    query.foreach {
      case node if node.isStreaming && node.isStateful =>
        report.withArray("state").addObject().put("operator", node.nodeName).put("bounded", isBounded(node))
      case join: Join if join.left.isStreaming != join.right.isStreaming =>
        // A hint is for a join, and here is none.
        val table = (if (join.left.isStreaming) join.right else join.left).transform { case hint: ResolvedHint => hint.child }
        val bytes = session.sessionState.executePlan(table).optimizedPlan.stats.sizeInBytes
        if (bytes < Unknown) report.withArray("tables").add(bytes.toLong)
      case _ => ()
    }
    report.put("frozen_clock", query.exists(node => node.isStreaming && node.expressions.exists(_.exists(isClock))))
  }

  private def isClock(expression: Expression): Boolean = expression match {
    case _: CurrentTimestampLike | _: CurrentDate | _: LocalTimestamp => true
    case _ => false
  }

  /** Whether something removes old state: a watermark on one of the keys, or the time that a processor asks for. */
  private def isBounded(node: LogicalPlan): Boolean = node match {
    case aggregate: Aggregate => aggregate.groupingExpressions.exists(hasWatermark)
    case deduplicate: Deduplicate => deduplicate.keys.exists(hasWatermark)
    // Without a mode of time a processor has neither timers nor a time to live.
    case processor: TransformWithState => processor.timeMode != TimeMode.None()
    case processor: TransformWithStateInPySpark => processor.timeMode != TimeMode.None()
    case _ => true
  }

  private def hasWatermark(key: Expression): Boolean =
    key.references.exists(_.metadata.contains(EventTimeWatermark.delayKey))
}
