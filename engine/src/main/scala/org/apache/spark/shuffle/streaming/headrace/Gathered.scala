// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.shuffle.streaming.headrace

import org.apache.spark.shuffle.ShuffleWriter
import org.apache.spark.shuffle.streaming.StreamingShuffleWriter

/** The rows that a writer of Spark's has gathered for the next stage and not sent yet.
  *
  * Reaches into Spark: `StreamingShuffleWriter.shards` hold them, one for each reader, and are private to the package.
  * What sends them here is what the writer's own timer calls, from a thread of its own.
  */
private[spark] object Gathered {
  /** How to send them; nothing for a writer of another kind, which gathers nothing. */
  def sending(writer: ShuffleWriter[_, _]): () => Unit = writer match {
    case streaming: StreamingShuffleWriter[_, _] => () => streaming.shards.foreach(_.send())
    case _ => () => ()
  }
}
