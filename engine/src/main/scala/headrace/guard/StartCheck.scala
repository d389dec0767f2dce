// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import headrace.HeadraceException
import headrace.kafka.KafkaTable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  LateralSubquery,
  PythonFuncExpression,
  PythonUDF,
  SessionWindow,
  SortOrder,
  UnsafeRow
}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.{Rule => PlanRule}
import org.apache.spark.sql.catalyst.streaming.{StreamingRelationV2, WriteToStreamStatement}
import org.apache.spark.sql.execution.python.streaming.PythonForeachWriter
import org.apache.spark.sql.execution.streaming.RealTimeTrigger
import org.apache.spark.sql.execution.streaming.runtime.StreamingRelation
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
      checkKafka(start)
      if (start.trigger.isInstanceOf[RealTimeTrigger]) checkRealTime(start) else start
    case other => other
  }

  /** Mistakes in options and columns show in `start()` under every trigger, not in the log of a query that died. */
  private def checkKafka(start: WriteToStreamStatement): Unit = {
    val realTime = start.trigger.isInstanceOf[RealTimeTrigger]
    start.inputQuery.foreach {
      case StreamingRelationV2(_, _, table: KafkaTable, _, _, _, _, _, _) => table.checkStreamingRead(realTime)
      case _ => ()
    }
    start.sink match {
      case table: KafkaTable => table.checkWrite(start.inputQuery.schema)
      case _ => ()
    }
  }

  private def checkRealTime(start: WriteToStreamStatement): WriteToStreamStatement = {
    checkSink(start)
    checkPlan(start.inputQuery)
    CheckpointFormat.check(start, stateful = start.inputQuery.exists(_.isStateful))
    CheckpointLeftovers.remove(start)
    withPromptWriter(withOutputMode(start))
  }

  private def checkSink(start: WriteToStreamStatement): Unit = {
    val name = start.sink.getClass.getName
    Rules.find(name) match {
      case Some(rule) if rule.allowed => ()
      case Some(rule) => throw rule.refusal("sink")
      case None => throw Rules.named("SINK_UNKNOWN").copy(what = s"The sink $name").refusal("sink")
    }
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

  private def checkPlan(plan: LogicalPlan): Unit = plan.foreach { node =>
    if (node.isStreaming) {
      refusal(node).foreach(rule => throw rule.refusal(node.nodeName))
      if (callsPython(node)) throw Rules.named("PYTHON_FUNCTION").refusal(node.nodeName)
    }
  }

  /** Functions of one row and of batches are planned as ours (PythonRule); others have no place in an endless input. */
  private def callsPython(node: LogicalPlan): Boolean = node match {
    case map: MapInPandas => map.isBarrier || map.profile.isDefined
    case map: MapInArrow => map.isBarrier || map.profile.isDefined
    case _: TransformWithStateInPySpark => false
    case other => callsGroupedPython(other)
  }

  private def callsGroupedPython(node: LogicalPlan): Boolean = node.expressions.exists(_.exists {
    case function: PythonFuncExpression => !PythonUDF.isScalarPythonUDF(function)
    // The right side of a lateral join is run for each row of the left one.
    case lateral: LateralSubquery => lateral.plan.exists(callsPython)
    case _ => false
  })

  /** A few nodes are refused only in some of their forms; the others by their class. */
  private def refusal(node: LogicalPlan): Option[Rule] = node match {
    case join: Join => Option.when(join.left.isStreaming && join.right.isStreaming)(Rules.named("STREAM_STREAM_JOIN"))
    case _: Sort => Some(Rules.named("ORDER_BY"))
    case processor: TransformWithStateInPySpark =>
      Option.when(processor.hasInitialState)(Rules.named("PYTHON_INITIAL_STATE"))
    case repartition: RepartitionByExpression =>
      Option.when(repartition.partitionExpressions.exists(_.isInstanceOf[SortOrder]))(
        Rules.named("RANGE_PARTITIONING"))
    case aggregate: Aggregate =>
      // The analysis has already replaced the window by a column that carries this mark.
      Option.when(aggregate.groupingExpressions.exists(_.references.exists(_.metadata.contains(SessionWindow.marker))))(
        Rules.named("SESSION_WINDOW"))
    case union: Union =>
      if (union.children.exists(_.exists(_.isStateful))) Some(Rules.named("STATEFUL_BELOW_UNION"))
      else Option.when(union.children.exists(_.exists(shuffles)))(Rules.named("SHUFFLE_BELOW_UNION"))
    case relation: StreamingRelation =>
      Some(Rules.named("SOURCE_UNSUPPORTED").copy(what = s"The source ${relation.sourceName}"))
    case relation: StreamingRelationV2 =>
      // One that is not in the table may still be able to: then Spark asks it, and says so if it cannot.
      Rules.find(relation.table.getClass.getName).filterNot(_.allowed)
        .map(_.copy(what = s"The source ${relation.sourceName}"))
    case other => Rules.find(other.getClass.getName).filterNot(_.allowed)
  }

  private def shuffles(node: LogicalPlan): Boolean = node match {
    case repartition: RepartitionOperation => repartition.shuffle
    case _ => false
  }

  /** Spark's default is append, and it refuses that in real-time mode. Where both modes write the same rows, take update. */
  private def withOutputMode(start: WriteToStreamStatement): WriteToStreamStatement = start.outputMode match {
    case update if update == OutputMode.Update() => start
    case append if append == OutputMode.Append() && !start.inputQuery.exists(differsByMode) =>
      logWarning(
        "This real-time query has output mode append (Spark's default); it runs in update mode, which writes the same rows " +
          "here. Set .outputMode(\"update\") to say so yourself.")
      start.copy(outputMode = OutputMode.Update())
    case mode => throw new HeadraceException(
        "OUTPUT_MODE",
        s"The output mode ${mode.toString.toLowerCase} cannot be used by this query in real-time mode: results are sent " +
          "as they change, and nothing waits until they are final. The query did not start. Set .outputMode(\"update\").",
        Map("mode" -> mode.toString))
  }

  private def differsByMode(node: LogicalPlan): Boolean = node.isStateful && !node.isInstanceOf[Deduplicate]
}
