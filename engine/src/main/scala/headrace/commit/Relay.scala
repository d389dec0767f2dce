// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import java.time.Duration

import scala.collection.mutable

import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.TopicPartition

/** Producers on their way from the tasks of an epoch to those of the next, in this JVM.
  *
  * Whoever goes on with the producer of its predecessor need not shut out anybody: that was done, and if another run has
  * done it since, the producer can write nothing any more. Nor need it ask what was recorded: nobody else could.
  */
private[headrace] object Relay {
  /** @param transactionalId of the producer: the query and the number of the task */
  private[commit] final case class Key(transactionalId: String, run: String, epoch: Long)

  /** @param offsets up to which the predecessor has recorded
    * @param before what stood there when the first of them began
    * @param usedNanos when it was last used
    */
  private[commit] final case class Baton(
      producer: OffsetStore.Producer,
      offsets: Map[TopicPartition, Long],
      before: Map[TopicPartition, OffsetAndMetadata],
      usedNanos: Long) {
    private val sinceNanos = System.nanoTime()

    def ageMs: Long = (System.nanoTime() - sinceNanos) / 1000000

    private[Relay] var rounds = 0
  }

  // Rounds and not an age: a process that stood still must not find the producer closed, make another, and so shut out
  // the run that has replaced it.
  private val MostRounds = 3
  private val waiting = mutable.HashMap.empty[Key, Baton]

  /** @param key with the epoch that has just ended */
  private[commit] def pass(key: Key, baton: Baton): Unit =
    // A task that failed after it had passed its own on, and was repeated.
    synchronized(waiting.put(key, baton)).foreach(earlier => OffsetStore.close(earlier.producer, Duration.ZERO))

  /** @param key with the epoch that begins */
  private[commit] def take(key: Key): Option[Baton] = synchronized(waiting.remove(key.copy(epoch = key.epoch - 1)))

  /** Closes what nobody has come for in several rounds; called every few seconds. */
  def evict(): Unit = closeIf { baton =>
    baton.rounds += 1
    baton.rounds > MostRounds
  }

  def closeAll(): Unit = closeIf(_ => true)

  private def closeIf(condition: Baton => Boolean): Unit = {
    val gone = synchronized {
      val found = waiting.filter { case (_, baton) => condition(baton) }
      waiting --= found.keys
      found.values.toSeq
    }
    gone.foreach(baton => OffsetStore.close(baton.producer, Duration.ZERO))
  }
}
