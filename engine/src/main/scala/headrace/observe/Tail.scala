// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentLinkedQueue

import org.apache.kafka.clients.producer.ProducerRecord

/** Some of the records that go out of this JVM, for whoever watches: at most ten a second. */
private[headrace] object Tail {
  private val EveryMicros = 100000
  private val MostWaiting = 20
  private val MostCharacters = 300

  private val waiting = new ConcurrentLinkedQueue[TailRecord]()
  // Two tasks may take one at the same moment; that does no harm.
  @volatile private var dueMicros = 0L

  def offer(run: String, record: ProducerRecord[Array[Byte], Array[Byte]], nowMicros: Long): Unit =
    // A clock that was set back would put off the next one by as much.
    if (nowMicros >= dueMicros || dueMicros - nowMicros > EveryMicros) {
      dueMicros = nowMicros + EveryMicros
      if (waiting.size < MostWaiting)
        waiting.add(TailRecord(run, nowMicros / 1000, record.topic, text(record.key), text(record.value))): Unit
    }

  def news(): Seq[TailRecord] = Iterator.continually(waiting.poll()).takeWhile(_ != null).toList

  def text(bytes: Array[Byte]): String =
    // At most four bytes a character, so that a long value is not decoded whole.
    if (bytes == null) null
    else new String(bytes, 0, math.min(bytes.length, 4 * MostCharacters), UTF_8).take(MostCharacters)
}
