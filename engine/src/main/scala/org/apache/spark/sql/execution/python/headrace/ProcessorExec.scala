// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.execution.python.headrace

import scala.concurrent.duration.NANOSECONDS
import scala.jdk.CollectionConverters._

import headrace.python.ProcessorRows
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.{JobArtifactSet, TaskContext}
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, JoinedRow, PythonUDF, SortOrder, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.TransformWithStateInPySpark.UserFacingDataType
import org.apache.spark.sql.catalyst.plans.physical.{BroadcastDistribution, Distribution, IdentityBroadcastMode, UnspecifiedDistribution}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.{ArrowPythonRunner, PandasGroupUtils}
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.StatefulProcessorHandleImpl
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateSchemaValidationResult, StateStore, StateStoreOps}
import org.apache.spark.sql.headrace.PromptRunners
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch}
import org.apache.spark.util.CompletionIterator

/** A stateful processor written in Python, in a real-time query: rows reach it as they come, not sorted by key.
  *
  * Everything about the state (its format, its schema, its names in the checkpoint) is Spark's operator's, so that a
  * checkpoint goes from one mode to the other.
  *
  * Reaches into Spark: `TransformWithStateInPySparkExec` is extended. Spark's rules for stateful operators find it by its
  * class and copy it, by `copy` or by its constructor; the copy must stay ours.
  */
private[sql] final class ProcessorExec(
    functionExpr: Expression,
    groupingAttributes: Seq[Attribute],
    outputAttrs: Seq[Attribute],
    outputMode: OutputMode,
    timeMode: TimeMode,
    stateInfo: Option[StatefulOperatorStateInfo],
    batchTimestampMs: Option[Long],
    prevBatchTimestampMs: Option[Long],
    eventTimeWatermarkForLateEvents: Option[Long],
    eventTimeWatermarkForEviction: Option[Long],
    userFacingDataType: UserFacingDataType.Value,
    child: SparkPlan,
    isStreaming: Boolean,
    hasInitialState: Boolean,
    initialState: SparkPlan,
    initialStateGroupingAttrs: Seq[Attribute],
    initialStateSchema: StructType)
    extends TransformWithStateInPySparkExec(
      functionExpr, groupingAttributes, outputAttrs, outputMode, timeMode, stateInfo, batchTimestampMs,
      prevBatchTimestampMs, eventTimeWatermarkForLateEvents, eventTimeWatermarkForEviction, userFacingDataType, child,
      isStreaming, hasInitialState, initialState, initialStateGroupingAttrs, initialStateSchema) {

  override def copy(
      functionExpr: Expression,
      groupingAttributes: Seq[Attribute],
      outputAttrs: Seq[Attribute],
      outputMode: OutputMode,
      timeMode: TimeMode,
      stateInfo: Option[StatefulOperatorStateInfo],
      batchTimestampMs: Option[Long],
      prevBatchTimestampMs: Option[Long],
      eventTimeWatermarkForLateEvents: Option[Long],
      eventTimeWatermarkForEviction: Option[Long],
      userFacingDataType: UserFacingDataType.Value,
      child: SparkPlan,
      isStreaming: Boolean,
      hasInitialState: Boolean,
      initialState: SparkPlan,
      initialStateGroupingAttrs: Seq[Attribute],
      initialStateSchema: StructType): TransformWithStateInPySparkExec = new ProcessorExec(
    functionExpr, groupingAttributes, outputAttrs, outputMode, timeMode, stateInfo, batchTimestampMs,
    prevBatchTimestampMs, eventTimeWatermarkForLateEvents, eventTimeWatermarkForEviction, userFacingDataType, child,
    isStreaming, hasInitialState, initialState, initialStateGroupingAttrs, initialStateSchema)

  // An initial state is there in the first epoch only, whole, and each task takes what is its own (InitialState).
  override def requiredChildDistribution: Seq[Distribution] =
    Seq(
      super.requiredChildDistribution.head,
      if (hasInitialState) BroadcastDistribution(IdentityBroadcastMode) else UnspecifiedDistribution)

  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq.fill(children.size)(Nil)

  override def validateAndWriteStateSchema(
      hadoopConf: Configuration,
      batchId: Long,
      stateSchemaVersion: Int,
      info: StatefulOperatorStateInfo,
      stateSchemaDir: Path,
      session: SparkSession,
      operatorStateMetadataVersion: Int,
      stateStoreEncodingFormat: String,
      isRealTimeMode: Boolean): List[StateSchemaValidationResult] =
    super.validateAndWriteStateSchema(
      hadoopConf, batchId, stateSchemaVersion, info, stateSchemaDir, session, operatorStateMetadataVersion,
      stateStoreEncodingFormat, isRealTimeMode = true)

  override protected def doExecute(): RDD[InternalRow] = {
    metrics
    validateStateStoreProvider(isStreaming = true)
    val first = Option.when(hasInitialState)(InitialState(
      processorName,
      initialState.executeBroadcast[Array[InternalRow]](),
      initialState.output,
      initialStateGroupingAttrs,
      getStateInfo.numPartitions))
    child.execute().mapPartitionsWithStateStore[InternalRow](
      getStateInfo,
      schemaForKeyRow,
      schemaForValueRow,
      NoPrefixKeyStateEncoderSpec(schemaForKeyRow),
      session.sqlContext.sessionState,
      Some(session.streams.stateStoreCoordinator),
      useColumnFamilies = true,
      useMultipleValuesPerKey = true)((store, rows) => process(store, rows, first))
  }

  private val artifacts = JobArtifactSet.getCurrentJobArtifactState.map(_.uuid)
  private val (columns, arguments) = PandasGroupUtils.resolveArgOffsets(child.output, groupingAttributes)
  private val keySchema = DataTypeUtils.fromAttributes(groupingAttributes)
  private val timeZone = conf.sessionLocalTimeZone
  private val runnerConf = ArrowPythonRunner.getPythonRunnerConfMap(conf)

  private def call: ProcessorCall = {
    val function = functionExpr.asInstanceOf[PythonUDF]
    ProcessorCall(
      Seq((ChainedPythonFunctions(Seq(function.func)), function.resultId.id)),
      if (userFacingDataType == UserFacingDataType.PANDAS) PythonEvalType.SQL_TRANSFORM_WITH_STATE_PANDAS_UDF
      else PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF,
      arguments,
      DataTypeUtils.fromAttributes(columns).add(ValueDesk.Column),
      keySchema,
      timeZone,
      runnerConf,
      pythonMetrics,
      artifacts,
      batchTimestampMs,
      eventTimeWatermarkForEviction)
  }

  private def processorName = functionExpr.asInstanceOf[PythonUDF].name

  private def process(
      store: StateStore,
      rows: Iterator[InternalRow],
      first: Option[InitialState]): Iterator[InternalRow] = {
    val task = TaskContext.get()
    val startedNanos = System.nanoTime()
    val inTime = watermarkPredicateForDataForLateEvents match {
      case Some(predicate) if timeMode == TimeMode.EventTime() => applyRemovingRowsOlderThanWatermark(rows, predicate)
      case _ => rows
    }
    val guarded = GuardedStore.of(store, task)
    def handle = new StatefulProcessorHandleImpl(
      guarded,
      getStateInfo.queryRunId,
      ExpressionEncoder(keySchema).resolveAndBind().asInstanceOf[ExpressionEncoder[Any]],
      timeMode,
      isStreaming = true,
      batchTimestampMs,
      prevBatchTimestampMs,
      metrics,
      Some(() => System.currentTimeMillis()))
    val ofRecords = handle
    val values = new ValueDesk(guarded, keySchema, metrics, task)
    val whole = UnsafeProjection.create(output, output)
    val (ownColumns, key) =
      (UnsafeProjection.create(columns, child.output), UnsafeProjection.create(groupingAttributes, child.output))
    val sent = new JoinedRow
    val answers = ProcessorRows(
      inTime,
      row => sent(ownColumns(row), values.of(key(row))),
      processorName,
      hasTimers = timeMode == TimeMode.ProcessingTime(),
      task) { (batches, answered, watch) =>
      def runner = new ProcessorRunner(call, ofRecords, values.path, watch)
      PromptRunners.started(() => runner.compute(batches, task.partitionId(), task)).flatMap { batch =>
        answered()
        flat(batch).rowIterator.asScala
      }
    }
    def before = first.iterator.flatMap(_.handOver(call, handle, output, task))
    CompletionIterator[InternalRow, Iterator[InternalRow]](
      before ++ answers, {
        longMetric("allUpdatesTimeMs") += NANOSECONDS.toMillis(System.nanoTime() - startedNanos)
        longMetric("commitTimeMs") += timeTakenMs {
          ofRecords.doTtlCleanup()
          store.commit()
        }
        setStoreMetrics(store)
        setOperatorMetrics()
      }).map { row =>
      longMetric("numOutputRows") += 1
      whole(row)
    }
  }

  // Rows of a processor travel as one column of structs.
  private def flat(batch: ColumnarBatch): ColumnarBatch = {
    val struct = batch.column(0).asInstanceOf[ArrowColumnVector]
    val columns = new ColumnarBatch(output.indices.map(struct.getChild).toArray)
    columns.setNumRows(batch.numRows())
    columns
  }
}
