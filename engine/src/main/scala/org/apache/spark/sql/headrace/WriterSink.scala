// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import java.lang.reflect.Field

import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.classic.DataStreamWriter
import org.apache.spark.sql.connector.catalog.TableProvider
import org.apache.spark.sql.execution.datasources.{DataSource, FileFormat}
import org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2
import org.apache.spark.sql.execution.streaming.sinks.FileStreamSink
import org.apache.spark.sql.internal.SQLConf

/** The sink that a writer would make.
  *
  * Some are better not made where nothing may be written: that of files begins with a folder for its log, and whoever
  * reads the other files there would no longer find them.
  *
  * Reaches into Spark: `DataStreamWriter.source`, the name of the format, and `DataStreamWriter.extraOptions`.
  */
object WriterSink {
  private val MadeByTheWriter = Set(
    DataStreamWriter.SOURCE_NAME_MEMORY,
    DataStreamWriter.SOURCE_NAME_FOREACH,
    DataStreamWriter.SOURCE_NAME_FOREACH_BATCH)

  /** Runs `body` on a writer whose sink does nothing when it is made; says which class it would be, if that is another.
    *
    * @param table the sink, if it is one: Spark would create it
    */
  def harmless[T](writer: DataStreamWriter[_], table: Option[String], body: Option[String] => T): T = {
    val field = member("source")
    val format = field.get(writer).asInstanceOf[String]
    table.map(name => s"table $name").orElse(unmade(format)) match {
      case None => body(None)
      case sink =>
        field.set(writer, DataStreamWriter.SOURCE_NAME_NOOP)
        try body(sink)
        finally field.set(writer, format)
    }
  }

  /** The options that the sink would be given. */
  def options(writer: DataStreamWriter[_]): Map[String, String] =
    member("extraOptions").get(writer).asInstanceOf[CaseInsensitiveMap[String]].originalMap

  private def member(name: String): Field = {
    val field = classOf[DataStreamWriter[_]].getDeclaredField(name)
    field.setAccessible(true)
    field
  }

  private def unmade(format: String): Option[String] =
    if (MadeByTheWriter(format)) None
    else {
      val provider = DataSource.lookupDataSource(format, SQLConf.get)
      if (classOf[FileDataSourceV2].isAssignableFrom(provider) || classOf[FileFormat].isAssignableFrom(provider))
        Some(classOf[FileStreamSink].getName)
      else Option.when(!classOf[TableProvider].isAssignableFrom(provider))(provider.getName)
    }
}
