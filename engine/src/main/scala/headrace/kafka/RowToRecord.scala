// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.{ArrayList => JArrayList}

import headrace.HeadraceException
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, Expression, Literal, UnsafeProjection}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._

/** Turns a row with the columns key, value, headers, topic and partition into a record. */
private[kafka] final class RowToRecord(schema: StructType, topic: Option[String]) {
  import RowToRecord._

  private val project = UnsafeProjection.create(Seq(
    column(schema, Topic),
    Cast(column(schema, Key), BinaryType),
    Cast(column(schema, Value), BinaryType),
    column(schema, Headers),
    column(schema, Partition)))

  def apply(row: InternalRow): ProducerRecord[Array[Byte], Array[Byte]] = {
    val fields = project(row)
    val target = topic.getOrElse(if (fields.isNullAt(0)) throw nullTopic() else fields.getUTF8String(0).toString)
    val partition: Integer = if (fields.isNullAt(4)) null else fields.getInt(4)
    val headers = if (fields.isNullAt(3)) null else toHeaders(fields.getArray(3))
    new ProducerRecord(target, partition, fields.getBinary(1), fields.getBinary(2), headers)
  }

  private def toHeaders(array: ArrayData): JArrayList[Header] = {
    val headers = new JArrayList[Header](array.numElements())
    for (i <- 0 until array.numElements()) {
      val header = array.getStruct(i, 2)
      headers.add(new RecordHeader(header.getUTF8String(0).toString, header.getBinary(1)))
    }
    headers
  }

  private def nullTopic() = new HeadraceException(
    "KAFKA_TOPIC_NULL",
    "A row to be written has null in its 'topic' column. The epoch fails and its records are read again at the next " +
      "start. Fill the column, filter such rows, or set the option 'topic'.")
}

private[kafka] object RowToRecord {
  private final case class Column(name: String, types: Seq[DataType], required: Boolean)

  private val Topic = Column("topic", Seq(StringType), required = false)
  private val Key = Column("key", Seq(StringType, BinaryType), required = false)
  private val Value = Column("value", Seq(StringType, BinaryType), required = true)
  private val Headers = Column("headers", Seq(RecordRow.HeadersType), required = false)
  private val Partition = Column("partition", Seq(IntegerType), required = false)

  /** Refuses a DataFrame that cannot be written, before anything runs. */
  def check(schema: StructType, topic: Option[String]): Unit = {
    Seq(Topic, Key, Value, Headers, Partition).foreach(column(schema, _))
    if (topic.isEmpty && !schema.fieldNames.contains(Topic.name))
      throw refuse("There is neither the option 'topic' nor a column of that name to say where records go.")
  }

  private def column(schema: StructType, wanted: Column): Expression = {
    val index = schema.fieldNames.indexOf(wanted.name)
    if (index < 0) {
      if (wanted.required) throw refuse(s"The column '${wanted.name}' is missing.")
      Literal(null, wanted.types.last)
    } else {
      val field = schema(index)
      // Nullability aside, as Spark's writer does; a char or varchar column is a string to it as well.
      if (!wanted.types.exists(DataType.equalsIgnoreNullability(_, field.dataType)))
        throw refuse(s"The column '${wanted.name}' is ${field.dataType.catalogString}; it must be " +
          s"${wanted.types.map(_.catalogString).mkString(" or ")}.")
      BoundReference(index, field.dataType, field.nullable)
    }
  }

  private def refuse(what: String) = new HeadraceException(
    "KAFKA_ROW_SHAPE",
    s"$what Nothing was written. Select the columns key, value, headers, topic and partition (only value is needed if the " +
      "option 'topic' is set) before writing.")
}
