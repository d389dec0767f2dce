// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import scala.util.{Failure, Success, Try}

import headrace.kafka.EpochPlanner
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.classic.{DataStreamWriter, SparkSession}
import org.apache.spark.sql.headrace.WriterSink

/** Finds out what would become of a query in real-time mode, without starting it.
  *
  * `start()` is really called, and interrupted where the guard sees the query for the first time: before Spark makes a
  * checkpoint.
  */
private[headrace] object Rehearsal {
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
    WriterSink.harmless(writer, Option(table), interrupted(writer, _))

  private def interrupted(writer: DataStreamWriter[_], sink: Option[String]): String = {
    taken.remove()
    expected.set(true)
    val outcome = try Try(writer.start()) finally expected.set(false)
    (Option(taken.get), outcome) match {
      case (Some((session, start)), _) =>
        session.withActive(aside(session)(new Judgement(session, start, sink).report(WriterSink.options(writer))))
      case (None, Failure(refused: SparkThrowable)) => Report.ofRefusal(Judgement.problem(refused))
      case (None, Failure(other)) => throw other
      case (None, Success(query)) =>
        query.stop()
        throw new IllegalStateException("the engine's extension did not see the query start")
    }
  }

  /** Plans are looked at, not about to run, while the thread belongs to no run; it may belong to a job group. */
  private def aside(session: SparkSession)(body: => String): String = {
    val context = session.sparkContext
    val group = context.getLocalProperty(EpochPlanner.RunProperty)
    context.setLocalProperty(EpochPlanner.RunProperty, null)
    try body
    finally context.setLocalProperty(EpochPlanner.RunProperty, group)
  }
}
