// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import java.util.UUID

import scala.collection.mutable

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkIllegalArgumentException
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, SupportsWrite, Table}
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, SupportsRealTimeMode}
import org.apache.spark.sql.execution.{CommandExecutionMode, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2._
import org.apache.spark.sql.execution.streaming.checkpointing.{OffsetSeqLog, OffsetSeqMetadata}
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, WatermarkPropagator}
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.OutputMode

final case class PlannedSink(table: Table, options: Map[String, String])

/** The first epoch of a real-time query, planned as Spark would plan it, and never run: no offset is asked for, and
  * nothing is written, not even the schema of the state.
  *
  * Reaches into Spark: `IncrementalExecution`, `StreamingDataSourceV2ScanRelation.relation.realTimeModeDuration`.
  *
  * @param query what the sink would be given, analysed
  * @param sink where it is written; none if only the way there is asked for
  * @param checkpoint of an earlier run, whose pinned settings count
  */
final class FirstEpoch(session: SparkSession, query: LogicalPlan, sink: Option[PlannedSink], checkpoint: Option[Path]) {
  import FirstEpoch._

  /** The plan, and the number of shuffle partitions that the checkpoint has pinned. */
  def plan(): (SparkPlan, Option[Int]) = {
    // As Spark does: what is set for this query must not be seen by others.
    val own = session.cloneSession()
    val partitions = own.sessionState.conf.numShufflePartitions
    own.conf.set(SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL.key, partitions.toString)
    own.withActive {
      // Never made: Spark only wants to know what it would be called.
      val folder = s"file:/headrace-check-${UUID.randomUUID()}"
      val streams = mutable.LinkedHashMap.empty[StreamingRelationV2, StreamingDataSourceV2ScanRelation]
      try {
        val streaming = query.transform {
          case relation: StreamingRelationV2 =>
            streams.getOrElseUpdate(relation, scanOf(relation, s"$folder/sources/${streams.size}"))
        }
        checkDistinct(streaming)
        Off.foreach(own.conf.set(_, "false"))
        val pinned = checkpoint.flatMap(pinnedIn(own, _))
        (execution(own, withSink(streaming), s"$folder/state").executedPlan, pinned)
      } finally streams.values.foreach(_.stream.stop())
    }
  }

  private def withSink(streaming: LogicalPlan): LogicalPlan = sink match {
    case Some(PlannedSink(table: SupportsWrite, options)) =>
      WriteToMicroBatchDataSource(
        DataSourceV2Relation.create(table, None, None), streaming, Id.toString, options, OutputMode.Update(), Some(0L))
    case _ => streaming
  }

  private def execution(own: SparkSession, plan: LogicalPlan, state: String) = new IncrementalExecution(
    own,
    plan,
    OutputMode.Update(),
    state,
    Id,
    Id,
    0L,
    None,
    OffsetSeqMetadata(0L, System.currentTimeMillis(), own.conf),
    WatermarkPropagator.noop(),
    // In its first epoch a query writes down the schema of its state.
    isFirstBatch = false,
    mode = CommandExecutionMode.SKIP,
    isRealTimeMode = true)
}

private object FirstEpoch {
  private val Id = new UUID(0L, 0L)
  private val DurationMs = 60000L

  /** Settings that Spark turns off for a real-time query. */
  private val Off = Seq(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key, SQLConf.SORT_BEFORE_REPARTITION.key)

  private def scanOf(relation: StreamingRelationV2, folder: String): StreamingDataSourceV2ScanRelation = {
    val builder = relation.table.asInstanceOf[SupportsRead].newScanBuilder(relation.extraOptions)
    builder match {
      case pruning: SupportsPushDownRequiredColumns => pruning.pruneColumns(DataTypeUtils.fromAttributes(relation.output))
      case _ => ()
    }
    val scan = builder.build()
    val stream = scan.toMicroBatchStream(folder)
    stream match {
      case able: MicroBatchStream with SupportsRealTimeMode => able.prepareForRealTimeMode()
      case other =>
        throw new SparkIllegalArgumentException(
          "STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED", Map("className" -> other.getClass.getName))
    }
    StreamingDataSourceV2ScanRelation(
      StreamingDataSourceV2Relation(
        relation.table, relation.output, relation.catalog, relation.identifier, relation.extraOptions, folder,
        Some(DurationMs), relation.sourceIdentifyingName),
      scan,
      relation.output,
      stream,
      startOffset = Some(stream.deserializeOffset("{}")))
  }

  /** Spark counts streams, and two places that read the same one are too many for it. */
  private def checkDistinct(plan: LogicalPlan): Unit = {
    val streams = plan.collect { case scan: StreamingDataSourceV2ScanRelation => scan.stream }
    if (streams.distinct.size != streams.size)
      throw new SparkIllegalArgumentException(
        "STREAMING_REAL_TIME_MODE.IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED", Map("sources" -> streams.mkString(", ")))
  }

  /** Puts the settings of an earlier run in force.
    *
    * Reaches into Spark: `OffsetSeqLog`, whose entries hold them.
    */
  private def pinnedIn(own: SparkSession, checkpoint: Path): Option[Int] = {
    val log = new OffsetSeqLog(own, new Path(checkpoint, "offsets").toString, readOnly = true)
    log.getLatest().flatMap(_._2.metadataOpt).flatMap { metadata =>
      OffsetSeqMetadata.setSessionConf(metadata, own.sessionState.conf)
      OffsetSeqMetadata.readValueOpt(metadata, SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL).map(_.toInt)
    }
  }
}
