// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import org.apache.kafka.clients.producer.{Callback, RecordMetadata}

/** A row on its way to the brokers: the callback of its send, and with it all that is made for it. */
private[headrace] final class Sent(meter: TaskMeter, val micros: Long, creationMs: Long, partition: PartitionMeter)
    extends Callback {
  private var next: Callback = _

  /** Tells another callback too. */
  def before(other: Callback): Callback = {
    next = other
    this
  }

  def deliver(): Unit = meter.deliver(micros, creationMs, partition)

  override def onCompletion(metadata: RecordMetadata, cause: Exception): Unit = {
    if (cause == null) deliver()
    if (next != null) next.onCompletion(metadata, cause)
  }
}
