// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.internal.SQLConf

/** Settings that are right for a real-time query and wrong for the rest of the application.
  *
  * Reaches into Spark: `SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL`, where a starting query has already put the number
  * of shuffle partitions when its sources are made.
  */
private[headrace] object RealTimeDefaults {
  private val Key = "spark.headrace.realtime.shufflePartitions"

  /** Called on the query's own copy of the session, before Spark pins the number in a new checkpoint. */
  def apply(session: SparkSession): Unit =
    if (!SQLConf.get.contains(SQLConf.SHUFFLE_PARTITIONS.key))
      session.conf.getOption(Key).foreach { partitions =>
        session.conf.set(SQLConf.SHUFFLE_PARTITIONS.key, partitions)
        session.conf.set(SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL.key, partitions)
      }
}
