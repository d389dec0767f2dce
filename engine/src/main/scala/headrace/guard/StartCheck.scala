// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import headrace.HeadraceException
import headrace.kafka.KafkaTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.logical.{Deduplicate, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.{Rule => PlanRule}
import org.apache.spark.sql.catalyst.streaming.{StreamingRelationV2, WriteToStreamStatement}
import org.apache.spark.sql.execution.python.streaming.PythonForeachWriter
import org.apache.spark.sql.execution.streaming.RealTimeTrigger
import org.apache.spark.sql.execution.streaming.sources.ForeachWriterTable
import org.apache.spark.sql.headrace.PromptForeachWriter
import org.apache.spark.sql.streaming.OutputMode

/** Checks a query inside `start()`: its Kafka options, and in real-time mode its sink, plan, output mode and checkpoint.
  *
  * Reaches into Spark: `WriteToStreamStatement`, the only node that still knows the trigger.
  */
private[guard] final class StartCheck extends PlanRule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case start: WriteToStreamStatement =>
      // Whoever only wants to know what would become of the query has seen enough of its start.
      Rehearsal.take(start)
      StartCheck.kafka(start, start.trigger.isInstanceOf[RealTimeTrigger])
      if (start.trigger.isInstanceOf[RealTimeTrigger]) checkRealTime(start) else start
    case other => other
  }

  private def checkRealTime(start: WriteToStreamStatement): WriteToStreamStatement = {
    val sink = Rules.ofSink(start.sink.getClass.getName)
    if (!sink.allowed) throw sink.refusal("sink")
    LogicalCheck.refusals(start.inputQuery).headOption.foreach(found => throw found.refusal)
    CheckpointFormat.check(start, stateful = start.inputQuery.exists(_.isStateful))
    CheckpointLeftovers.remove(start)
    withPromptWriter(withOutputMode(start))
  }

  private def withOutputMode(start: WriteToStreamStatement): WriteToStreamStatement = {
    val mode = StartCheck.outputMode(start)
    if (mode != start.outputMode)
      logWarning(
        "This real-time query has output mode append (Spark's default); it runs in update mode, which writes the same rows " +
          "here. Set .outputMode(\"update\") to say so yourself.")
    start.copy(outputMode = mode)
  }

  /** A writer in Python is replaced by one that its rows reach at once. */
  private def withPromptWriter(start: WriteToStreamStatement): WriteToStreamStatement = start.sink match {
    case table: ForeachWriterTable[_] =>
      table.writer match {
        case spark: PythonForeachWriter =>
          // Spark hands such a writer its rows as they are.
          val asTheyAre: InternalRow => UnsafeRow = _.asInstanceOf[UnsafeRow]
          start.copy(sink = new ForeachWriterTable[UnsafeRow](PromptForeachWriter.of(spark), Right(asTheyAre)))
        case _ => start
      }
    case _ => start
  }
}

/** What the start of a query is checked for, also when it is only rehearsed. */
private[guard] object StartCheck {
  /** Mistakes in options and columns show in `start()` under every trigger, not in the log of a query that died. */
  def kafka(start: WriteToStreamStatement, realTime: Boolean): Unit = {
    start.inputQuery.foreach {
      case StreamingRelationV2(_, _, table: KafkaTable, _, _, _, _, _, _) => table.checkStreamingRead(realTime)
      case _ => ()
    }
    start.sink match {
      case table: KafkaTable => table.checkWrite(start.inputQuery.schema)
      case _ => ()
    }
  }

  /** Spark's default is append, and it refuses that in real-time mode. Where both modes write the same rows, take update. */
  def outputMode(start: WriteToStreamStatement): OutputMode = start.outputMode match {
    case update if update == OutputMode.Update() => update
    case append if append == OutputMode.Append() && !start.inputQuery.exists(differsByMode) => OutputMode.Update()
    case mode => throw new HeadraceException(
        "OUTPUT_MODE",
        s"The output mode ${mode.toString.toLowerCase} cannot be used by this query in real-time mode: results are sent " +
          "as they change, and nothing waits until they are final. The query did not start. Set .outputMode(\"update\").",
        Map("mode" -> mode.toString))
  }

  private def differsByMode(node: LogicalPlan): Boolean = node.isStateful && !node.isInstanceOf[Deduplicate]
}
