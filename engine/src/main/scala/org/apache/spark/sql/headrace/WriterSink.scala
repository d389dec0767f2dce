// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

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
  * Reaches into Spark: `DataStreamWriter.source`, the name of the format.
  */
object WriterSink {
  private val MadeByTheWriter = Set(
    DataStreamWriter.SOURCE_NAME_MEMORY,
    DataStreamWriter.SOURCE_NAME_FOREACH,
    DataStreamWriter.SOURCE_NAME_FOREACH_BATCH)

  /** Runs `body` on a writer whose sink does nothing when it is made; says which class it would be, if that is another. */
  def harmless[T](writer: DataStreamWriter[_], body: Option[String] => T): T = {
    val field = classOf[DataStreamWriter[_]].getDeclaredField("source")
    field.setAccessible(true)
    val format = field.get(writer).asInstanceOf[String]
    unmade(format) match {
      case None => body(None)
      case sink =>
        field.set(writer, DataStreamWriter.SOURCE_NAME_NOOP)
        try body(sink)
        finally field.set(writer, format)
    }
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
