// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util.{ArrayList => JArrayList}

import headrace.HeadraceException
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._

/** Turns a row with the columns key, value, headers, topic and partition into a record. */
private[kafka] final class RowToRecord(schema: StructType, topic: Option[String]) {
  import RowToRecord._

  private val fixedTopic = topic.orNull
  private val topicAt = column(schema, Topic)
  private val key = new Bytes(schema, column(schema, Key))
  private val value = new Bytes(schema, column(schema, Value))
  private val headersAt = column(schema, Headers)
  private val partitionAt = column(schema, Partition)

  def apply(row: InternalRow): ProducerRecord[Array[Byte], Array[Byte]] = new ProducerRecord(
    if (fixedTopic != null) fixedTopic else topicOf(row),
    if (isNull(row, partitionAt)) null else Integer.valueOf(row.getInt(partitionAt)),
    key(row),
    value(row),
    if (isNull(row, headersAt)) null else toHeaders(row.getArray(headersAt)))

  private def topicOf(row: InternalRow): String =
    if (isNull(row, topicAt)) throw nullTopic() else row.getUTF8String(topicAt).toString

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

  /** A string or binary column as bytes: copied once, straight out of the row. */
  private final class Bytes(schema: StructType, at: Int) {
    private val text = at >= 0 && schema(at).dataType.isInstanceOf[StringType]

    def apply(row: InternalRow): Array[Byte] =
      if (isNull(row, at)) null else if (text) row.getUTF8String(at).getBytes else row.getBinary(at)
  }

  private def isNull(row: InternalRow, at: Int): Boolean = at < 0 || row.isNullAt(at)

  /** Refuses a DataFrame that cannot be written, before anything runs. */
  def check(schema: StructType, topic: Option[String]): Unit = {
    Seq(Topic, Key, Value, Headers, Partition).foreach(column(schema, _))
    if (topic.isEmpty && !schema.fieldNames.contains(Topic.name))
      throw refuse("There is neither the option 'topic' nor a column of that name to say where records go.")
  }

  /** Where the column stands; -1 for one that may be missing, and is. */
  private def column(schema: StructType, wanted: Column): Int = {
    val at = schema.fieldNames.indexOf(wanted.name)
    if (at < 0 && wanted.required) throw refuse(s"The column '${wanted.name}' is missing.")
    if (at >= 0 && !wanted.types.exists(DataType.equalsIgnoreNullability(_, schema(at).dataType)))
      throw refuse(s"The column '${wanted.name}' is ${schema(at).dataType.catalogString}; it must be " +
        s"${wanted.types.map(_.catalogString).mkString(" or ")}.")
    at
  }

  private def refuse(what: String) = new HeadraceException(
    "KAFKA_ROW_SHAPE",
    s"$what Nothing was written. Select the columns key, value, headers, topic and partition (only value is needed if the " +
      "option 'topic' is set) before writing.")
}
