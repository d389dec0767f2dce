// SPDX-License-Identifier: Apache-2.0
package headrace

import java.util.{HashMap, Map => JMap}

import org.apache.spark.SparkThrowable

/** Every error the engine raises on purpose.
  *
  * PySpark maps an `IllegalArgumentException` that is a `SparkThrowable` to its own class and hands out the condition,
  * so Python callers match the condition and never the text. The message says what happened, where, what became of the
  * data, and the next step.
  */
final class HeadraceException(
    condition: String,
    message: String,
    parameters: Map[String, String] = Map.empty,
    cause: Throwable = null)
    extends IllegalArgumentException(s"[$condition] $message", cause)
    with SparkThrowable {

  override def getCondition: String = condition

  // Spark's own lookup of the SQL state would fail on a condition it does not know. 42000: the statement is at fault.
  override def getSqlState: String = "42000"

  override def getMessageParameters: JMap[String, String] = {
    val copy = new HashMap[String, String]()
    parameters.foreachEntry((name, value) => copy.put(name, value))
    copy
  }
}
