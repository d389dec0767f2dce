// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import org.apache.kafka.common.TopicPartition

/** Where reading begins or ends, as the user wrote it; offsets may be [[Bound.FromLatest]] or [[Bound.FromEarliest]]. */
private[kafka] sealed trait Bound

private[kafka] object Bound {
  /** Kafka's (and Spark's) marks inside an offsets JSON. */
  val FromLatest: Long = -1L
  val FromEarliest: Long = -2L

  case object Earliest extends Bound
  case object Latest extends Bound
  final case class Offsets(offsets: Map[TopicPartition, Long]) extends Bound

  /** The first record at or after a time, per partition; `latestIfNone`: begin at the end where no record is that new. */
  final case class Timestamps(timestamps: Map[TopicPartition, Long], latestIfNone: Boolean) extends Bound
  final case class Timestamp(timestamp: Long, latestIfNone: Boolean) extends Bound
}
