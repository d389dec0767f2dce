// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._

import headrace.python.Most
import net.razorvine.pickle.Unpickler
import org.apache.spark.{JobArtifactSet, TaskContext}
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.python.{ArrowPythonRunner, BatchEvalPythonExec, EvaluatePython}
import org.apache.spark.sql.execution.python.EvalPythonExec.ArgumentMetadata
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructField, StructType, UserDefinedType}
import org.apache.spark.sql.types.DataType.equalsIgnoreCompatibleCollation
import org.apache.spark.unsafe.types.UTF8String

/** Calls of Python functions that give one value for each row, through Spark's own workers and their protocol.
  *
  * Reaches into Spark: `BatchEvalPythonExec.getInputIterator` and `EvaluatePython` turn rows into pickles and back;
  * `JobArtifactSet` and `SparkSession.sessionUUID` say which files and which log belong to the workers. All are private
  * to Spark's packages, and so this stands in one.
  *
  * @param input the columns that the arguments are made of
  * @param results the columns that the functions fill
  * @param withErrors whether a row whose function failed is answered too, with the error in one more column
  */
final class ScalarCalls private (
    functions: Seq[PythonUDF],
    input: Seq[Attribute],
    results: Seq[Attribute],
    evalType: Int,
    metrics: Map[String, SQLMetric],
    setup: PythonSetup,
    withErrors: Boolean)
    extends Serializable {
  @transient private lazy val arguments = new Arguments(functions)

  def names: Seq[String] = functions.map(_.name)

  /** Whether each batch is answered before the next one is taken; functions of iterators do as they like. */
  def answersEachBatch: Boolean = ScalarCalls.ByBatch(evalType)

  /** How large a batch may become. */
  def most: Most = if (evalType == PythonEvalType.SQL_BATCHED_UDF) Most() else Most().within(setup.most)

  /** Makes the row of all arguments from a row of the input; one for each task. */
  def argumentsOf(task: TaskContext): InternalRow => InternalRow = {
    val projection = MutableProjection.create(arguments.values, input)
    projection.initialize(task.partitionId())
    projection
  }

  /** The results for rows of arguments, in their order.
    *
    * @param batches rows that are sent together; asked for by a thread of Spark's
    * @param answered called when Python has answered so many rows
    * @param watch looks after the worker
    */
  def answers(
      batches: Iterator[Iterator[InternalRow]],
      answered: Int => Unit,
      watch: WorkerWatch,
      task: TaskContext): Iterator[InternalRow] =
    if (evalType == PythonEvalType.SQL_BATCHED_UDF) pickled(batches, answered, watch, task)
    else inArrow(batches, answered, watch, task)

  private def inArrow(
      batches: Iterator[Iterator[InternalRow]],
      answered: Int => Unit,
      watch: WorkerWatch,
      task: TaskContext): Iterator[InternalRow] = {
    val wanted = results.map(plain)
    def runner =
      new PromptArrowRunner(arguments.chains, evalType, arguments.metadata, arguments.schema, metrics, setup, watch, marks)
    PromptRunners.started(() => runner.compute(batches, task.partitionId(), task)).flatMap { batch =>
      answered(batch.numRows())
      val found = (0 until (if (withErrors) results.size else batch.numCols())).map(batch.column(_).dataType())
      if (!equalsIgnoreCompatibleCollation(wanted, found))
        throw QueryExecutionErrors.arrowDataTypeMismatchError("pandas_udf()", wanted, found)
      batch.rowIterator.asScala
    }
  }

  private def plain(result: Attribute): DataType =
    result.dataType.transformRecursively { case udt: UserDefinedType[_] => udt.sqlType }

  private def marks: Map[String, String] =
    if (withErrors) PromptRunners.withErrors(StructType(results.map(column => StructField(column.name, plain(column)))))
    else Map.empty

  private def pickled(
      batches: Iterator[Iterator[InternalRow]],
      answered: Int => Unit,
      watch: WorkerWatch,
      task: TaskContext): Iterator[InternalRow] = {
    EvaluatePython.registerPicklers()
    val pickles =
      batches.flatMap(BatchEvalPythonExec.getInputIterator(_, arguments.schema, Int.MaxValue, setup.binaryAsBytes))
    def runner = new PromptPickleRunner(arguments.chains, arguments.metadata, metrics, setup, watch, marks)
    val unpickler = new Unpickler
    val one = new GenericInternalRow(1)
    val error = new GenericInternalRow(1)
    val both = new JoinedRow
    val single = functions.size == 1
    val nothing = new GenericInternalRow(functions.size)
    val fromPython = EvaluatePython.makeFromJava(
      if (single) functions.head.dataType else StructType(functions.map(f => StructField("", f.dataType, f.nullable))))
    def row(result: Any): InternalRow =
      if (single) {
        one(0) = fromPython(result)
        one
      } else fromPython(result).asInstanceOf[InternalRow]
    PromptRunners.started(() => runner.compute(pickles, task.partitionId(), task))
      .flatMap { pickle =>
        val results = unpickler.loads(pickle).asInstanceOf[java.util.ArrayList[Any]].asScala
        answered(results.size)
        results
      }
      .map { result =>
        metrics("pythonNumRowsReceived") += 1
        if (withErrors) {
          val pair = result.asInstanceOf[Array[Any]]
          error(0) = Option(pair(1)).map(text => UTF8String.fromString(text.toString)).orNull
          both(if (pair(1) == null) row(pair(0)) else nothing, error)
        } else row(result)
      }
  }
}

object ScalarCalls {
  /** How functions are called whose arguments and results are pickled. */
  val Pickled: Int = PythonEvalType.SQL_BATCHED_UDF

  private val ByBatch = Set(
    PythonEvalType.SQL_BATCHED_UDF, PythonEvalType.SQL_ARROW_BATCHED_UDF, PythonEvalType.SQL_SCALAR_PANDAS_UDF,
    PythonEvalType.SQL_SCALAR_ARROW_UDF)

  /** On the driver, while a plan is executed. */
  def of(
      functions: Seq[PythonUDF],
      results: Seq[Attribute],
      child: SparkPlan,
      evalType: Int,
      metrics: Map[String, SQLMetric],
      withErrors: Boolean): ScalarCalls =
    new ScalarCalls(functions, child.output, results, evalType, metrics, PythonSetup.of(child), withErrors)
}

/** What Spark's workers are told, read on the driver. */
private[headrace] final case class PythonSetup(
    timeZone: String,
    largeVarTypes: Boolean,
    runnerConf: Map[String, String],
    binaryAsBytes: Boolean,
    artifacts: Option[String],
    logged: Option[String],
    most: Most)

private[headrace] object PythonSetup {
  def of(plan: SparkPlan): PythonSetup = of(
    plan.conf,
    JobArtifactSet.getCurrentJobArtifactState.map(_.uuid),
    Option(plan.session).filter(_.sessionState.conf.pythonWorkerLoggingEnabled).map(_.sessionUUID))

  def of(conf: SQLConf, artifacts: Option[String], logged: Option[String]): PythonSetup = PythonSetup(
    conf.sessionLocalTimeZone,
    conf.arrowUseLargeVarTypes,
    ArrowPythonRunner.getPythonRunnerConfMap(conf),
    conf.pysparkBinaryAsBytes,
    artifacts,
    logged,
    Most(conf.arrowMaxRecordsPerBatch, conf.arrowMaxBytesPerBatch))
}

/** The arguments of all functions, each value once, and the functions that are called one inside the other. */
private[headrace] final class Arguments(functions: Seq[PythonUDF]) {
  private val distinct = new ArrayBuffer[Expression]
  private val calls = functions.map(chain)

  val chains: Seq[(ChainedPythonFunctions, Long)] = calls.map(_._1)
  val metadata: Array[Array[ArgumentMetadata]] = calls.map(_._2.map(place).toArray).toArray

  def values: Seq[Expression] = distinct.toSeq

  def schema: StructType = StructType(distinct.toSeq.zipWithIndex.map { case (value, at) =>
    StructField(s"_$at", value.dataType)
  })

  private def chain(function: PythonUDF): ((ChainedPythonFunctions, Long), Seq[Expression]) = function.children match {
    case Seq(inner: PythonUDF) =>
      val ((chained, _), arguments) = chain(inner)
      ((ChainedPythonFunctions(chained.funcs :+ function.func), function.resultId.id), arguments)
    case arguments => ((ChainedPythonFunctions(Seq(function.func)), function.resultId.id), arguments)
  }

  private def place(argument: Expression): ArgumentMetadata = {
    val (name, value) = argument match {
      case NamedArgumentExpression(name, value) => (Some(name), value)
      case value => (None, value)
    }
    val known = distinct.indexWhere(_.semanticEquals(value))
    if (known < 0) distinct += value
    ArgumentMetadata(if (known < 0) distinct.size - 1 else known, name)
  }
}
