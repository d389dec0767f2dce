// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import java.nio.charset.StandardCharsets.UTF_8

import headrace.kafka.Position
import headrace.observe.{PartitionMeter, Tail, TaskId, TaskMeter}
import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType

/** What it costs to measure a record, without the record: everything that is done for one from its reading to its
  * acknowledgement. One thread does it all, and another asks twice a second, as in an application.
  */
object MeterCost {
  /** Nanoseconds a record, of each round; the first ones warm up.
    *
    * @param measured whether it is measured; else only what was done before there was anything to measure with
    */
  def nanos(rounds: Int, records: Int, measured: Boolean): Array[Double] = {
    val meter = new TaskMeter(TaskId("run", 0, 0, 0, 0))
    val partition = if (measured) meter.reading(new TopicPartition("topic", 0)) else null
    // More keys than are kept: finding the busiest one is part of the cost.
    val read = Array.tabulate(64)(number =>
      new ConsumerRecord[Array[Byte], Array[Byte]](
        "topic", 0, 7L, System.currentTimeMillis(), TimestampType.CREATE_TIME, 0, 0, s"4000-$number".getBytes(UTF_8), null,
        new RecordHeaders(), java.util.Optional.empty[Integer]()))
    val sent = new ProducerRecord[Array[Byte], Array[Byte]]("topic", null, null)
    val collector = new Thread(() =>
      try while (true) {
          Thread.sleep(500)
          meter.news()
          Tail.news()
        }
      catch { case _: InterruptedException => () })
    collector.setDaemon(true)
    collector.start()
    val found = Array.fill(rounds)(round(records, partition, read, meter, sent))
    collector.interrupt()
    found
  }

  private def round(
      records: Int,
      partition: PartitionMeter,
      read: Array[ConsumerRecord[Array[Byte], Array[Byte]]],
      meter: TaskMeter,
      sent: ProducerRecord[Array[Byte], Array[Byte]]): Double = {
    val began = System.nanoTime()
    var number = 0
    while (number < records) {
      val record = read(number & 63)
      here = new Position(record, 0, 0, number, if (partition == null) 0 else partition.read(record), partition)
      if (partition != null) {
        val one = meter.arrive(here)
        Tail.offer("run", sent, one.micros)
        one.before(null).onCompletion(null, null)
      }
      number += 1
    }
    (System.nanoTime() - began).toDouble / records
  }

  // Seen from outside, so that making it cannot be left out.
  @volatile private var here: Position = _
}
