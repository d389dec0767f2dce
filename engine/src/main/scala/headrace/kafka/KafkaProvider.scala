// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import java.util

import headrace.HeadraceException
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{DataFrame, Row, SaveMode, SQLContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDD
import org.apache.spark.sql.internal.connector.SimpleTableProvider
import org.apache.spark.sql.sources.{BaseRelation, CreatableRelationProvider, DataSourceRegister, RelationProvider, TableScan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import scala.jdk.CollectionConverters._

/** `format("kafka")`.
  *
  * Streaming goes through the second data source API. Batch goes through the first, because Spark lists "kafka" among the
  * formats it reads and writes that way (`spark.sql.sources.useV1SourceList`), and only there `df.write.save()` works
  * without a save mode.
  */
final class KafkaProvider
    extends SimpleTableProvider
    with DataSourceRegister
    with RelationProvider
    with CreatableRelationProvider {

  override def shortName(): String = "kafka"

  override def getTable(options: CaseInsensitiveStringMap): Table = new KafkaTable(options)

  override def createRelation(context: SQLContext, parameters: Map[String, String]): BaseRelation =
    new KafkaRelation(context, SourceOptions.checkBatch(SourceOptions.parse(caseInsensitive(parameters))))

  override def createRelation(
      context: SQLContext,
      mode: SaveMode,
      parameters: Map[String, String],
      data: DataFrame): BaseRelation = {
    if (mode == SaveMode.Overwrite || mode == SaveMode.Ignore)
      throw new HeadraceException(
        "KAFKA_SAVE_MODE",
        s"Records can only be added to a topic, so the save mode $mode has no meaning. Nothing was written. Use append.",
        Map("mode" -> mode.toString))
    val options = SinkOptions.parse(caseInsensitive(parameters))
    val schema = data.schema
    RowToRecord.check(schema, options.topic)
    data.queryExecution.toRdd.foreachPartition { rows: Iterator[InternalRow] =>
      val writer = new KafkaWriter(options, schema)
      try {
        rows.foreach(writer.write)
        writer.commit()
      } finally writer.close()
    }
    new WrittenRelation(context, schema)
  }

  private def caseInsensitive(parameters: Map[String, String]) = new CaseInsensitiveStringMap(
    new util.HashMap[String, String](parameters.asJava))
}

private[kafka] final class KafkaRelation(override val sqlContext: SQLContext, options: SourceOptions)
    extends BaseRelation
    with TableScan {
  override def schema: StructType = RecordRow.schema(options.includeHeaders)

  // The rows are Spark's internal ones already.
  override def needConversion: Boolean = false

  override def buildScan(): RDD[Row] = {
    val batch = new KafkaBatch(options)
    val partitions = batch.planInputPartitions().toSeq.map(Option(_))
    val rows: RDD[InternalRow] = new DataSourceRDD(
      sqlContext.sparkContext, partitions, batch.createReaderFactory(), columnarReads = false, customMetrics = Map.empty)
    rows.asInstanceOf[RDD[Row]]
  }

  override def toString: String = s"Kafka ${options.subscription}"
}

/** Spark asks for a relation after a write and does not read it. */
private[kafka] final class WrittenRelation(override val sqlContext: SQLContext, override val schema: StructType)
    extends BaseRelation
