// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import java.util.HashMap

import headrace.kafka.KafkaTable
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.{Rule => PlanRule}
import org.apache.spark.sql.catalyst.streaming.{StreamingRelationV2, WriteToStreamStatement}
import org.apache.spark.sql.execution.streaming.AvailableNowTrigger
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Gives a query that catches up batches of a size, so that each is committed and progress can be shown: without it, all
  * that is there would be one batch. The option for it belongs to the source, where real-time mode refuses it.
  *
  * Reaches into Spark: `StreamingRelationV2.extraOptions`, from which a starting query makes its sources.
  */
private[guard] object CatchUpBatches extends PlanRule[LogicalPlan] {
  private val Active = "spark.headrace.catchUp.active"
  private val Records = "spark.headrace.catchUp.batchRecords"
  private val Limit = "maxOffsetsPerTrigger"

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case start: WriteToStreamStatement if start.trigger == AvailableNowTrigger && conf.contains(Active) =>
      start.copy(inputQuery = limited(start.inputQuery, SQLConf.get.getConfString(Records)))
    case other => other
  }

  private def limited(query: LogicalPlan, records: String): LogicalPlan =
    AnalysisHelper.allowInvokingTransformsInAnalyzer {
      query.transform {
        case source @ StreamingRelationV2(_, _, _: KafkaTable, options, _, _, _, _, _) if !options.containsKey(Limit) =>
          val more = new HashMap[String, String](options.asCaseSensitiveMap)
          more.put(Limit, records)
          source.copy(extraOptions = new CaseInsensitiveStringMap(more))
      }
    }
}
