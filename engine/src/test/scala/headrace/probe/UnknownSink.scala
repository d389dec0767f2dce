// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import java.util.{EnumSet, Set => JSet}

import org.apache.spark.sql.connector.catalog.{SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A sink of somebody else's, about which nothing is known. */
final class UnknownSink extends SimpleTableProvider {
  override def getTable(options: CaseInsensitiveStringMap): Table = new Table with SupportsWrite {
    override def name(): String = "unknown"
    override def schema(): StructType = new StructType()
    override def capabilities(): JSet[TableCapability] =
      EnumSet.of(TableCapability.STREAMING_WRITE, TableCapability.ACCEPT_ANY_SCHEMA)
    override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
      throw new UnsupportedOperationException("no query should get this far")
  }
}
