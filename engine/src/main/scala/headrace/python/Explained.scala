// SPDX-License-Identifier: Apache-2.0
package headrace.python

import headrace.HeadraceException
import headrace.kafka.Position
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.headrace.PythonFailures

/** Answers of Python whose failures say which function, on which record, and what becomes of it.
  *
  * @param functions their names
  * @param suspects the records that the function may have failed on, in their order; none behind a shuffle
  * @param killedAfter after how many seconds without an answer the worker was ended, if it was
  * @param unknown where it failed, if there are no suspects
  */
final class Explained(
    answers: Iterator[InternalRow],
    functions: Seq[String],
    suspects: () => Seq[Position] = () => Nil,
    killedAfter: () => Option[Long] = () => None,
    unknown: String = "on a row whose record is not known here")
    extends Iterator[InternalRow] {
  import Explained._

  override def hasNext: Boolean = explained(answers.hasNext)

  override def next(): InternalRow = explained(answers.next())

  private def explained[T](step: => T): T =
    try step
    catch {
      case raised @ PythonFailures.Raised(traceback) =>
        val on = failedOn(traceback)
        throw new HeadraceException(
          "PYTHON_FUNCTION_FAILED",
          s"$name failed ${where(on)}. $fate Correct the function or the data, then start the query again.\n" +
            RowNote.replaceAllIn(traceback, ""),
          parameters(on),
          raised)
      case lost @ PythonFailures.Lost(_) if killedAfter().isDefined =>
        throw new HeadraceException(
          "PYTHON_WORKER_HANGS",
          s"$name gave no answer for ${killedAfter().get} seconds ${where(suspects())}, and its process was ended, as " +
            s"spark.sql.execution.pyspark.udf.killOnIdleTimeout asks for. $fate Find out what the function waits for, or " +
            "give it more time with spark.sql.execution.pyspark.udf.idleTimeoutSeconds; then start the query again.",
          parameters(suspects()),
          lost)
      case lost @ PythonFailures.Lost(reason) =>
        throw new HeadraceException(
          "PYTHON_WORKER_LOST",
          s"The Python process that ran $name ended by itself ${where(suspects())}. $fate If it was killed for its memory, give it " +
            s"more; then start the query again.\n$reason",
          parameters(suspects()),
          lost)
    }

  // A worker that knows on which row of the batch it was says so.
  private def failedOn(traceback: String): Seq[Position] = {
    val batch = suspects()
    RowNote.findFirstMatchIn(traceback).flatMap(note => batch.lift(note.group(1).toInt)).fold(batch)(Seq(_))
  }

  private def parameters(on: Seq[Position]) =
    Map("function" -> functions.mkString(", ")) ++ on.headOption.map("record" -> _.toString)

  private def name = if (functions.size == 1) s"Python function ${functions.head}" else
    s"One of the Python functions ${functions.mkString(", ")}"

  private def where(on: Seq[Position]) = on match {
    case Seq() => unknown
    case Seq(one) => s"on record $one"
    case several => s"on one of ${several.size} records, from ${several.head} to ${several.last}"
  }

  private def fate =
    "The query has stopped; nothing is lost, and it continues from its checkpoint, with what it failed on among the first."
}

private object Explained {
  private val RowNote = "\nheadrace: row (\\d+)".r
}
