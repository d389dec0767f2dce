// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import org.apache.spark.SparkEnv
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}

/** A read with a beginning and an end. */
private[kafka] final class KafkaBatch(options: SourceOptions) extends Batch {
  override def planInputPartitions(): Array[InputPartition] = {
    val settings = ReaderSettings(
      options.consumer(options.groupId("headrace-batch")),
      options.includeHeaders,
      options.failOnDataLoss,
      options.pollTimeoutMs.getOrElse(SparkEnv.get.conf.getTimeAsMs("spark.network.timeout", "120s")))
    ranges().map(range => RangePartition(range.partition, range.from, range.until, settings, isStatic = true): InputPartition)
      .toArray
  }

  private def ranges(): Seq[OffsetRange] = {
    val broker = new Broker(options)
    try {
      val from = broker.resolve(options.starting.getOrElse(Bound.Earliest), starting = true)
      val until = broker.resolve(options.ending.getOrElse(Bound.Latest), starting = false)
      val all = until.keys.toSeq.sortBy(tp => (tp.topic, tp.partition)).map { tp =>
        // A partition made between the two questions has no beginning yet; it is not part of this read.
        val begin = from.getOrElse(tp, until(tp))
        if (begin > until(tp))
          throw Options.invalid("startingOffsets", s"$begin for $tp", s"at most its ending offset ${until(tp)}")
        OffsetRange(tp, begin, until(tp))
      }
      OffsetRange.divide(all, options.minPartitions, options.maxRecordsPerPartition)
    } finally broker.close()
  }

  override def createReaderFactory(): PartitionReaderFactory = ReaderFactory
}
