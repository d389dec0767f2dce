// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.{EnumSet, Map => JMap, Set => JSet}

import scala.jdk.CollectionConverters._

import headrace.commit.Delivery
import headrace.observe.EpochLatency
import org.apache.spark.sql.connector.catalog.{SupportsRead, SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.read.{Batch, Scan, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, ReportsSinkMetrics}
import org.apache.spark.sql.connector.write.{BatchWrite, LogicalWriteInfo, SupportsTruncate, Write, WriteBuilder}
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A table made of the options of one `load()` or one `start()`; which of the two is known only when it is used. */
private[headrace] final class KafkaTable(options: CaseInsensitiveStringMap)
    extends Table
    with SupportsRead
    with SupportsWrite
    with ReportsSinkMetrics {
  // A read is refused in load() already, like Spark's connector does, if it can be recognised as one.
  if (SourceOptions.Strategies.exists(options.containsKey)) SourceOptions.parse(options): Unit

  /** Refuses a stream that cannot be read from here, before the query starts. */
  def checkStreamingRead(realTime: Boolean): Unit = {
    val checked = SourceOptions.checkStreaming(SourceOptions.parse(options))
    if (realTime) SourceOptions.checkRealTime(checked)
  }

  /** Refuses rows that cannot be written here, before the query starts. */
  def checkWrite(rows: StructType): Unit = RowToRecord.check(rows, SinkOptions.parse(options).topic)

  def producer: Map[String, String] = SinkOptions.parse(options).producer

  // One for all epochs, so that letters are counted from the start of the query.
  private lazy val letters = DeadLetters.of(SinkOptions.parse(options))

  private val latency = new EpochLatency

  override def metrics(): JMap[String, String] =
    (letters.map("deadLetters" -> _.count.value.toString).toMap ++ latency.ofSink).asJava

  // Spark allows asynchronous progress tracking by the sink's name, and this one is on its list.
  override def name(): String = "KafkaTable"

  override def schema(): StructType =
    RecordRow.schema(new Options(options).boolean("includeHeaders", default = false))

  override def capabilities(): JSet[TableCapability] = EnumSet.of(
    TableCapability.BATCH_READ,
    TableCapability.BATCH_WRITE,
    TableCapability.MICRO_BATCH_READ,
    TableCapability.STREAMING_WRITE,
    // What may be written differs from what is read; RowToRecord checks it.
    TableCapability.ACCEPT_ANY_SCHEMA)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    () => new KafkaScan(SourceOptions.parse(options))

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    new WriteBuilder with SupportsTruncate with SupportsStreamingUpdateAsAppend {
      private val options = SinkOptions.parse(info.options())

      override def build(): Write = new KafkaWrite(options, info.schema(), letters, latency)

      // Complete mode truncates before it writes; a topic keeps its history, as with Spark's connector.
      override def truncate(): WriteBuilder = this
    }
}

private[kafka] final class KafkaScan(options: SourceOptions) extends Scan {
  override def readSchema(): StructType = RecordRow.schema(options.includeHeaders)

  override def description(): String = s"Kafka ${options.subscription}"

  override def toBatch: Batch = new KafkaBatch(SourceOptions.checkBatch(options))

  override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
    new KafkaStream(SourceOptions.checkStreaming(options), checkpoint)

  // Anything else makes the planner list the input partitions, that is ask the brokers, just to choose a row format.
  override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
}

private[kafka] final class KafkaWrite(
    options: SinkOptions,
    schema: StructType,
    letters: => Option[DeadLetters],
    latency: EpochLatency)
    extends Write {
  RowToRecord.check(schema, options.topic)

  override def description(): String = s"Kafka ${options.topic.getOrElse("by topic column")}"

  override def toBatch: BatchWrite = {
    if (options.isExactlyOnce) throw Delivery.refusal("it is no streaming query, and has no checkpoint to go on from")
    new KafkaBatchWrite(options, schema)
  }

  override def toStreaming: StreamingWrite = new KafkaStreamingWrite(options, schema, letters, latency)
}
