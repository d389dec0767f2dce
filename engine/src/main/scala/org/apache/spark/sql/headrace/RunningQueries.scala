// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import java.util.UUID

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.RealTimeTrigger

/** The queries that run in any session of the application.
  *
  * Reaches into Spark: `SharedState.activeStreamingQueries` is private to Spark's package, and its events do not tell the
  * trigger of a query that has started.
  */
object RunningQueries {
  /** None if there is no such query, or no longer. */
  def isRealTime(id: UUID): Option[Boolean] = for {
    session <- SparkSession.getDefaultSession
    query <- Option(session.sharedState.activeStreamingQueries.get(id))
  } yield query.trigger.isInstanceOf[RealTimeTrigger]
}
