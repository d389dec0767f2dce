// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.regex.Pattern

import org.apache.kafka.common.TopicPartition

/** Which partitions a source reads. */
private[kafka] sealed trait Subscription

private[kafka] object Subscription {
  final case class Topics(names: Set[String]) extends Subscription {
    override def toString: String = names.toSeq.sorted.mkString("subscribe[", ", ", "]")
  }

  // Pattern has no equals; two sources with the same pattern must stay two sources anyway.
  final case class Matching(pattern: Pattern) extends Subscription {
    override def toString: String = s"subscribePattern[$pattern]"
  }

  final case class Assigned(partitions: Set[TopicPartition]) extends Subscription {
    override def toString: String = partitions.map(_.toString).toSeq.sorted.mkString("assign[", ", ", "]")
  }
}
