// SPDX-License-Identifier: Apache-2.0
package headrace.python

import java.io.StringWriter

import headrace.kafka.{DeadLetters, LetterWriter}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{JacksonGenerator, JSONOptions}
import org.apache.spark.sql.types.StructType

/** The dead letters of one operator, as it travels to its tasks.
  *
  * @param functions their names
  * @param input the columns of the operator's rows
  */
private[python] final case class Letters(to: DeadLetters, functions: Seq[String], input: StructType, timeZone: String) {
  def begin(task: TaskContext): TaskLetters =
    new TaskLetters(new LetterWriter(to, functions.mkString(", "), task), input, timeZone)
}

private[python] final class TaskLetters(writer: LetterWriter, input: StructType, timeZone: String) {
  def send(fed: Fed, error: String): Unit = writer.send(fed.position, json(fed.row), error)

  /** The rows that a function answered; waits for the letters when there are no more. */
  def without(failed: InternalRow => Boolean)(answers: Iterator[InternalRow]): Iterator[InternalRow] =
    new Iterator[InternalRow] {
      private val rows = answers.filterNot(failed)

      override def hasNext: Boolean = rows.hasNext || {
        writer.finish()
        false
      }

      override def next(): InternalRow = rows.next()
    }

  private def json(row: InternalRow): String = {
    val text = new StringWriter
    val generator = new JacksonGenerator(input, text, new JSONOptions(Map.empty[String, String], timeZone, ""))
    generator.write(row)
    generator.flush()
    text.toString
  }
}

/** The rows that a function of any number of rows has taken and not answered. When there are too many, the oldest are
  * forgotten: such a function may give nothing for hours.
  */
private[python] final class Unanswered {
  import Unanswered._

  private val rows = new java.util.ArrayDeque[Fed]()
  private var forgotten = 0L

  def add(fed: Fed): Unit = synchronized {
    rows.add(fed)
    if (rows.size > MostKept) {
      rows.poll()
      forgotten += 1
    }
  }

  /** The oldest so many, or none if some of them are forgotten. */
  def take(number: Int): Option[Seq[Fed]] = synchronized {
    val gone = math.min(forgotten, number).toInt
    forgotten -= gone
    val taken = Seq.fill(number - gone)(rows.poll())
    Option.when(gone == 0)(taken)
  }
}

private object Unanswered {
  private val MostKept = 20000
}
