// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{CurrentBatchTimestamp, LeafExpression, Nondeterministic}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE
import org.apache.spark.sql.execution.datasources.v2.{LowLatencyClock, StreamingDataSourceV2ScanRelation}
import org.apache.spark.sql.types.DataType

/** What `current_timestamp()` says in an epoch: the time at which it began, and again after each interval of the trigger,
  * as if the next epoch had begun then. [[CommitRule]] makes epochs longer than that.
  *
  * @param epoch the time at which the epoch began, with the form in which the query wants it
  */
private[headrace] final case class TriggerTime(epoch: CurrentBatchTimestamp, everyMs: Long)
    extends LeafExpression
    with Nondeterministic
    with CodegenFallback {
  // Of a task's thread only: each task has a copy.
  @transient private var interval = -1L
  @transient private var value: Any = _

  override def dataType: DataType = epoch.dataType

  override def nullable: Boolean = false

  override def prettyName: String = "current_trigger_timestamp"

  override protected def initializeInternal(partitionIndex: Int): Unit = interval = -1

  override protected def evalInternal(input: InternalRow): Any = {
    // A clock that was set back must not lead out of the epoch.
    val current = math.max(0, LowLatencyClock.getTimeMillis() - epoch.timestampMs) / everyMs
    if (current != interval) {
      interval = current
      value = epoch.copy(timestampMs = epoch.timestampMs + current * everyMs).toLiteral.value
    }
    value
  }
}

/** Replaces Spark's time of an epoch where epochs may become longer. State is never among them: there Spark's time stays.
  *
  * Reaches into Spark: `CurrentBatchTimestamp` becomes a literal after the optimizer, so this must be a rule of it;
  * `StreamingDataSourceV2ScanRelation.relation.realTimeModeDuration` is what the trigger says; `LowLatencyClock` is what
  * Spark tells the time by in a real-time query.
  */
private[headrace] object TriggerTimeRule extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.exists(_.isStateful)) plan
    else plan.collectFirst {
      case scan: StreamingDataSourceV2ScanRelation if scan.relation.realTimeModeDuration.isDefined =>
        scan.relation.realTimeModeDuration.get
    }.fold(plan) { everyMs =>
      plan.transformAllExpressionsWithPruning(_.containsPattern(CURRENT_LIKE)) {
        case epoch: CurrentBatchTimestamp => TriggerTime(epoch, everyMs)
      }
    }
}
