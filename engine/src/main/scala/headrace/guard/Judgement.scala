// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import scala.collection.mutable.ListBuffer
import scala.util.{Failure, Success, Try}

import headrace.HeadraceException
import headrace.commit.CommitRule
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{InputAdapter, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec
import org.apache.spark.sql.headrace.{FirstEpoch, PlannedSink}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode

/** Asks everything of a query that would be asked when it starts and when its first epoch is planned. Where a start ends
  * with the first refusal, all of them are collected here.
  *
  * Reaches into Spark: `UnsupportedOperationChecker`, which the interrupted start would have asked.
  *
  * @param sink the class of the sink, if it was better not to make it
  */
private[guard] final class Judgement(session: SparkSession, start: WriteToStreamStatement, sink: Option[String]) {
  import Judgement._

  private val query = start.inputQuery
  private val location = CheckpointFormat.location(start)
  private val sinkRule = Rules.ofSink(sink.getOrElse(start.sink.getClass.getName))
  private val findings = ListBuffer(Finding("sink", sinkRule))

  /** @param options of the sink */
  def report(options: Map[String, String]): String = {
    val readable = attempt(StartCheck.kafka(start, realTime = true)).isDefined
    val refusals = LogicalCheck.refusals(query)
    findings ++= refusals
    attempt(StartCheck.outputMode(start)): Unit
    attempt(checkLocation()): Unit
    attempt(CheckpointFormat.check(start, query.exists(_.isStateful))): Unit
    // Spark and its planner are asked about a way of records that the table has nothing against; any sink will do.
    val planned =
      if (!readable || refusals.nonEmpty || attempt(checkBySpark()).isEmpty) None
      else {
        val written = Option.when(sinkRule.allowed)(PlannedSink(start.sink, options))
        attempt(new FirstEpoch(session, query, written, location).plan())
      }
    val path = planned.map { case (plan, _) => PlanCheck.streamingPath(plan) }
    path.foreach(nodes => findings ++= operators(nodes))
    path.flatMap(_.headOption).foreach(plan => attempt(CommitRule.checkDelivery(plan, session.sparkContext)))
    Report.of(session, start, findings.toSeq, path, planned.flatMap(_._2))
  }

  /** Notes a refusal, and has no result then. */
  private def attempt[T](question: => T): Option[T] = Try(question) match {
    case Success(answer) => Some(answer)
    case Failure(refused: SparkThrowable) =>
      findings += problem(refused)
      None
    case Failure(other) => throw other
  }

  private def checkBySpark(): Unit =
    if (SQLConf.get.isUnsupportedOperationCheckEnabled) {
      UnsupportedOperationChecker.checkAdditionalRealTimeModeConstraints(start.inputQuery, OutputMode.Update())
      UnsupportedOperationChecker.checkForStreaming(start.inputQuery, OutputMode.Update())
    }

  private def checkLocation(): Unit =
    if (location.isEmpty && SQLConf.get.checkpointLocation.isEmpty && !start.useTempCheckpointLocation)
      throw new HeadraceException(
        "CHECKPOINT_LOCATION_MISSING",
        "The query has no place for its checkpoint. It did not start. Set .option(\"checkpointLocation\", ...).")
}

private[guard] object Judgement {
  /** Each operator once, but not what was only planned for another one that is refused. */
  private def operators(path: Seq[SparkPlan]): Seq[Finding] = {
    val judged = path.zip(PlanCheck.findings(path)).filterNot { case (node, _) => isWrap(node) }
    val refused = judged.collect { case (node, found) if !found.rule.allowed => node }
    def isBelowOne(node: SparkPlan) = refused.exists(above => (above ne node) && above.exists(_ eq node))
    judged.collect { case (node, found) if found.rule.allowed || !isBelowOne(node) => found }
  }

  /** Generated code, and the sink, which has been judged already. */
  private def isWrap(node: SparkPlan): Boolean = node match {
    case _: WholeStageCodegenExec | _: InputAdapter | _: WriteToDataSourceV2Exec => true
    case _ => false
  }

  /** What is refused by no line of the table: a wrong option, or something that only Spark knows. */
  def problem(refused: Throwable with SparkThrowable): Finding = {
    val condition = Option(refused.getCondition).getOrElse(refused.getClass.getSimpleName)
    Finding("start", Rule(condition, "This query", Set.empty, allowed = false, refused.getMessage, ""))
  }
}
