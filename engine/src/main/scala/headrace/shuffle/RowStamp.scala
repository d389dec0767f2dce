// SPDX-License-Identifier: Apache-2.0
package headrace.shuffle

import headrace.TaskScope
import headrace.observe.{Clock, Meters, Origin}
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** What a row tells of its origin on its way through a shuffle: 16 bytes behind it. A column would be seen by the operators
  * behind, and change the schema of their state.
  *
  * Reaches into Spark: `UnsafeRow.pointTo` takes bytes as a row, and does not mind more of them than its fields need.
  */
private object RowStamp {
  val Bytes = 16
  // In the place of the time of reading; neither can be one.
  val Untold: Long = Long.MinValue
  val Timer: Long = Long.MinValue + 1
}

object RowStamps {
  /** Whether rows get stamps; the same in all of an application. */
  def areOn: Boolean = Meters.areOn
}

/** Puts stamps on the rows that leave a task, in one buffer for all of them: a row is good until the next one. */
final class StampedOut(task: TaskContext) {
  import RowStamp._

  private val scope = TaskScope.of(task)
  private val meter = scope.meter.orNull
  private val start = Platform.BYTE_ARRAY_OFFSET
  private var buffer = new Array[Byte](1024)
  private var stamped = new UnsafeRow(0)

  def apply(row: UnsafeRow): UnsafeRow = {
    val origin = scope.last.origin
    if (meter != null) meter.handOn(origin): Unit
    val size = row.getSizeInBytes
    if (buffer.length < size + Bytes) buffer = new Array[Byte](2 * (size + Bytes))
    if (stamped.numFields != row.numFields) stamped = new UnsafeRow(row.numFields)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, buffer, start, size)
    Platform.putLong(buffer, start + size, if (origin == null) Origin.Unknown else origin.creationMs)
    Platform.putLong(buffer, start + size + 8, read(origin))
    stamped.pointTo(buffer, start, size + Bytes)
    stamped
  }

  private def read(origin: Origin): Long =
    if (origin == null) Untold else if (origin eq Origin.Timer) Timer else origin.readMicros
}

/** Takes the stamps off the rows that come into a task.
  *
  * @param fullness how full the buffer is that they wait in, from 0 to 1
  */
final class StampedIn(task: TaskContext, fullness: () => Double) {
  import RowStamp._

  private val scope = TaskScope.of(task)
  private val meter = scope.meter.orNull

  if (meter != null) meter.waitsBefore(fullness)

  def apply(row: UnsafeRow): Unit = {
    if (meter != null) meter.enter()
    val size = row.getSizeInBytes - Bytes
    val end = row.getBaseOffset + size
    scope.source.set(origin(Platform.getLong(row.getBaseObject, end), Platform.getLong(row.getBaseObject, end + 8)))
    row.pointTo(row.getBaseObject, row.getBaseOffset, size)
  }

  private def origin(creationMs: Long, readMicros: Long): Origin =
    if (readMicros == Untold) null
    else if (readMicros == Timer) Origin.Timer
    else new Origin.Carried(creationMs, readMicros, Clock.micros())

  /** No more come. What an operator gives from here on is of no record: timers, or state that nobody needs any more. */
  def end(): Unit = scope.source.set(Origin.Timer)
}
