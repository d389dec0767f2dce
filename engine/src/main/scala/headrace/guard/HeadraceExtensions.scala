// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import headrace.commit.TriggerTimeRule
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.headrace.{ProcessorRule, ProcessorStrategy}

/** Where the engine meets Spark's planner. */
final class HeadraceExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    // The hint rules run first in the analysis of a starting query, inside start(): only there the trigger is still known.
    extensions.injectHintResolutionRule(_ => new StartCheck)
    extensions.injectHintResolutionRule(_ => CatchUpBatches)
    // Stateful processors in Python are planned as ours.
    extensions.injectPreCBORule(_ => ProcessorRule)
    extensions.injectPlannerStrategy(_ => ProcessorStrategy)
    extensions.injectPreCBORule(_ => TriggerTimeRule)
    // Runs on every epoch's physical plan before its first task.
    extensions.injectColumnar(session => new ColumnarRule {
      override def preColumnarTransitions: Rule[SparkPlan] = new PlanCheck(session.sparkContext)
    })
  }
}
