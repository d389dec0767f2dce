// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import org.apache.spark.sql.{Dataset, Encoder, Encoders, Row}
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode, TimerValues, TTLConfig, ValueState}

/** A stateful processor of the JVM, to be called from Python: counts the rows of each key and keeps the last value. */
object RunningCount {
  private val strings: Encoder[(String, String)] = Encoders.tuple(Encoders.STRING, Encoders.STRING)

  /** Rows with the string columns key and value become rows of key and `count:last value`. */
  def of(rows: Dataset[Row]): Dataset[Row] =
    rows.select("key", "value").as(strings)
      .groupByKey((row: (String, String)) => row._1)(Encoders.STRING)
      .transformWithState(new RunningCount, TimeMode.None(), OutputMode.Update())(strings)
      .toDF("key", "value")
}

private[probe] final class RunningCount extends StatefulProcessor[String, (String, String), (String, String)] {
  @transient private var counted: ValueState[Long] = _

  override def init(mode: OutputMode, time: TimeMode): Unit =
    counted = getHandle.getValueState("counted", Encoders.scalaLong, TTLConfig.NONE)

  override def handleInputRows(
      key: String,
      rows: Iterator[(String, String)],
      timers: TimerValues): Iterator[(String, String)] =
    rows.map { case (_, value) =>
      val count = (if (counted.exists()) counted.get() else 0L) + 1
      counted.update(count)
      key -> s"$count:$value"
    }
}
