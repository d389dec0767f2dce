// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import headrace.guard.SlotLedger
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.headrace.RunningQueries
import org.apache.spark.sql.streaming.StreamingQueryListener.{QueryIdleEvent, QueryProgressEvent, QueryStartedEvent, QueryTerminatedEvent}

/** Tells the board how the queries of an application fare, of all its sessions: Spark posts what it tells listeners of
  * queries on the bus of the application too.
  */
private[headrace] final class QueryWatch extends SparkListener {
  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case started: QueryStartedEvent =>
      Board.started(
        started.runId.toString, started.id.toString, Option(started.name), RunningQueries.isRealTime(started.id))
    case progress: QueryProgressEvent => Board.progressed(progress.progress.runId.toString, progress.progress.batchId)
    case idle: QueryIdleEvent => Board.idle(idle.runId.toString)
    case ended: QueryTerminatedEvent =>
      // A source of ours has done so; others know nothing of it.
      SlotLedger.release(ended.runId.toString)
      Board.ended(ended.runId.toString, ended.exception.map(Failure.of))
    case _ => ()
  }
}
