// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import java.util.Collections

import org.apache.spark.api.python.{PythonEvalType, SimplePythonFunction}
import org.apache.spark.sql.{Dataset, Encoders, Row}
import org.apache.spark.sql.catalyst.expressions.{Attribute, PythonUDF}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.classic.{Dataset => ClassicDataset}
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode}
import org.apache.spark.sql.types.StructType

/** Queries that a Python program makes only with pandas and pyarrow at hand, or not at all; none of them ever runs.
  *
  * Reaches into Spark: Python functions and plans as such are private to its packages.
  */
object Plans {
  private def function(schema: StructType, children: Seq[Attribute]): PythonUDF = PythonUDF(
    "function",
    SimplePythonFunction(
      Seq.empty[Byte],
      Collections.emptyMap[String, String](),
      Collections.emptyList[String](),
      "python3",
      "3",
      Collections.emptyList(),
      null),
    schema,
    children,
    PythonEvalType.SQL_MAP_PANDAS_ITER_UDF,
    udfDeterministic = true)

  private def make(rows: Dataset[Row])(plan: LogicalPlan => LogicalPlan): Dataset[Row] = rows match {
    case classic: ClassicDataset[Row] => ClassicDataset.ofRows(classic.sparkSession, plan(classic.logicalPlan))
    case other => throw new IllegalArgumentException(s"not a dataset of a classic session: $other")
  }

  def mapInPandas(rows: Dataset[Row]): Dataset[Row] = make(rows) { child =>
    MapInPandas(function(child.schema, child.output), toAttributes(child.schema), child, isBarrier = true, None)
  }

  def mapInArrow(rows: Dataset[Row]): Dataset[Row] = make(rows) { child =>
    MapInArrow(function(child.schema, child.output), toAttributes(child.schema), child, isBarrier = true, None)
  }

  def applyInPandasWithState(rows: Dataset[Row]): Dataset[Row] = make(rows) { child =>
    FlatMapGroupsInPandasWithState(
      function(child.schema, child.output),
      child.output.take(1),
      toAttributes(child.schema),
      child.schema,
      OutputMode.Update(),
      GroupStateTimeout.NoTimeout(),
      child)
  }

  def flatMapGroupsWithState(rows: Dataset[Row]): Dataset[Row] = {
    val strings = Encoders.tuple(Encoders.STRING, Encoders.STRING)
    val count = (_: String, found: Iterator[(String, String)], _: GroupState[Long]) => found
    rows.selectExpr("cast(key as string) key", "cast(value as string) value").as(strings)
      .groupByKey((row: (String, String)) => row._1)(Encoders.STRING)
      .flatMapGroupsWithState(OutputMode.Update(), GroupStateTimeout.NoTimeout())(count)(Encoders.scalaLong, strings)
      .toDF("key", "value")
  }
}
