// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import scala.collection.mutable.ListBuffer
import scala.util.{Failure, Success, Try}

import headrace.HeadraceException
import headrace.kafka.EpochPlanner
import org.apache.spark.{SparkContext, SparkThrowable}
import org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.classic.{DataStreamWriter, SparkSession}
import org.apache.spark.sql.execution.{InputAdapter, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec
import org.apache.spark.sql.headrace.{FirstEpoch, PlannedSink, WriterSink}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode

/** Finds out what would become of a query in real-time mode, without starting it.
  *
  * `start()` is really called, and interrupted where the guard sees the query for the first time: before Spark makes a
  * checkpoint. What the guard would then check one by one is collected, and the first epoch is planned.
  *
  * Reaches into Spark: `UnsupportedOperationChecker`, which the interrupted start would have asked.
  */
private[headrace] object Rehearsal {
  private val Sink = "sink"

  private val expected = new ThreadLocal[Boolean]
  private val taken = new ThreadLocal[(SparkSession, WriteToStreamStatement)]

  /** Interrupts the start of a query if this thread rehearses it. */
  def take(start: WriteToStreamStatement): Unit =
    if (expected.get) {
      taken.set(SparkSession.active -> start)
      throw new IllegalStateException("the query is only rehearsed")
    }

  /** Called from Python in the place of `start()` or, with the name of a table, `toTable()`; returns JSON. */
  def of(writer: DataStreamWriter[_], table: String): String =
    // A table would be created when it is not there.
    if (table != null) interrupted(writer.format(DataStreamWriter.SOURCE_NAME_NOOP), Some(s"table $table"))
    else WriterSink.harmless(writer, interrupted(writer, _))

  private def interrupted(writer: DataStreamWriter[_], sink: Option[String]): String = {
    taken.remove()
    expected.set(true)
    val outcome = try Try(writer.start()) finally expected.set(false)
    (Option(taken.get), outcome) match {
      case (Some((session, start)), _) => session.withActive(aside(session)(judged(session, start, sink, WriterSink.options(writer))))
      case (None, Failure(refused: SparkThrowable)) => Report.ofRefusal(problem(refused))
      case (None, Failure(other)) => throw other
      case (None, Success(query)) =>
        query.stop()
        throw new IllegalStateException("the engine's extension did not see the query start")
    }
  }

  /** Plans are looked at, not about to run, while the thread belongs to no run; it may belong to a job group. */
  private def aside(session: SparkSession)(body: => String): String = {
    val context: SparkContext = session.sparkContext
    val group = context.getLocalProperty(EpochPlanner.RunProperty)
    context.setLocalProperty(EpochPlanner.RunProperty, null)
    try body
    finally context.setLocalProperty(EpochPlanner.RunProperty, group)
  }

  private def judged(
      session: SparkSession,
      start: WriteToStreamStatement,
      sink: Option[String],
      options: Map[String, String]): String = {
    val findings = ListBuffer(Finding(Sink, Rules.ofSink(sink.getOrElse(start.sink.getClass.getName))))
    def attempt(check: => Any): Unit = Try(check) match {
      case Failure(refused: SparkThrowable) => findings += problem(refused)
      case Failure(other) => throw other
      case Success(_) => ()
    }
    val written = Option.when(findings.forall(_.rule.allowed))(PlannedSink(start.sink, options))
    attempt(StartCheck.kafka(start, realTime = true))
    findings ++= LogicalCheck.refusals(start.inputQuery)
    attempt(StartCheck.outputMode(start))
    attempt(checkLocation(start))
    attempt(CheckpointFormat.check(start, start.inputQuery.exists(_.isStateful)))
    // Spark and its planner are asked about what nothing else stands against; any sink will do for that.
    def isPlannable = findings.forall(found => found.rule.allowed || found.where == Sink)
    if (isPlannable) attempt(checkBySpark(start))
    var planned: Option[(SparkPlan, Option[Int])] = None
    if (isPlannable)
      attempt {
        planned = Some(new FirstEpoch(session, start.inputQuery, written, CheckpointFormat.location(start)).plan())
      }
    val path = planned.map(plan => PlanCheck.streamingPath(plan._1))
    path.foreach(nodes => findings ++= operators(nodes))
    Report.of(session, start, findings.toSeq, path, planned.flatMap(_._2))
  }

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

  private def checkBySpark(start: WriteToStreamStatement): Unit =
    if (SQLConf.get.isUnsupportedOperationCheckEnabled) {
      UnsupportedOperationChecker.checkAdditionalRealTimeModeConstraints(start.inputQuery, OutputMode.Update())
      UnsupportedOperationChecker.checkForStreaming(start.inputQuery, OutputMode.Update())
    }

  private def checkLocation(start: WriteToStreamStatement): Unit =
    if (CheckpointFormat.location(start).isEmpty && SQLConf.get.checkpointLocation.isEmpty && !start.useTempCheckpointLocation)
      throw new HeadraceException(
        "CHECKPOINT_LOCATION_MISSING",
        "The query has no place for its checkpoint. It did not start. Set .option(\"checkpointLocation\", ...).")

  /** What is refused by no line of the table: a wrong option, or something that only Spark knows. */
  private def problem(refused: Throwable with SparkThrowable): Finding = {
    val condition = Option(refused.getCondition).getOrElse(refused.getClass.getSimpleName)
    Finding("start", Rule(condition, "This query", Set.empty, allowed = false, refused.getMessage, ""))
  }
}
