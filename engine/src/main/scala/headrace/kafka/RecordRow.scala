// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Turns a record into the row of Spark's Kafka schema. The row is reused for the next record, as Spark's readers do. */
private[kafka] sealed trait RecordRow {
  def apply(record: ConsumerRecord[Array[Byte], Array[Byte]], topic: UTF8String): UnsafeRow
}

private[kafka] object RecordRow {
  val HeadersType: ArrayType = ArrayType(new StructType().add("key", StringType).add("value", BinaryType))

  private val PlainSchema = new StructType()
    .add("key", BinaryType)
    .add("value", BinaryType)
    .add("topic", StringType)
    .add("partition", IntegerType)
    .add("offset", LongType)
    .add("timestamp", TimestampType)
    .add("timestampType", IntegerType)

  def schema(includeHeaders: Boolean): StructType =
    if (includeHeaders) PlainSchema.add("headers", HeadersType) else PlainSchema

  def create(includeHeaders: Boolean): RecordRow = if (includeHeaders) new WithHeaders else new Plain

  private def micros(timestampMs: Long): Long = Math.multiplyExact(timestampMs, 1000L)

  /** Written field by field: a generic projection costs an intermediate row and boxing for every record. */
  private final class Plain extends RecordRow {
    private val writer = new UnsafeRowWriter(PlainSchema.length, 256)

    override def apply(record: ConsumerRecord[Array[Byte], Array[Byte]], topic: UTF8String): UnsafeRow = {
      writer.reset()
      writer.zeroOutNullBytes()
      if (record.key == null) writer.setNullAt(0) else writer.write(0, record.key)
      if (record.value == null) writer.setNullAt(1) else writer.write(1, record.value)
      writer.write(2, topic)
      writer.write(3, record.partition)
      writer.write(4, record.offset)
      writer.write(5, micros(record.timestamp))
      writer.write(6, record.timestampType.id)
      writer.getRow
    }
  }

  private final class WithHeaders extends RecordRow {
    private val project = UnsafeProjection.create(schema(includeHeaders = true))

    override def apply(record: ConsumerRecord[Array[Byte], Array[Byte]], topic: UTF8String): UnsafeRow = {
      val headers = record.headers.asScala
        .map(header => InternalRow(UTF8String.fromString(header.key), header.value)).toArray[Any]
      project(InternalRow(
        record.key,
        record.value,
        topic,
        record.partition,
        record.offset,
        micros(record.timestamp),
        record.timestampType.id,
        // Spark's connector shows a record without headers as null, not as an empty array.
        if (headers.isEmpty) null else new GenericArrayData(headers)))
    }
  }
}
