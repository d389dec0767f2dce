// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import scala.collection.mutable

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.scheduler.{SparkListener, SparkListenerStageSubmitted, SparkListenerTaskEnd, SparkListenerTaskStart}

private[probe] final case class SeenStage(query: String, run: String, epoch: Long)

private[probe] final case class SeenTask(
    stage: Int,
    index: Int,
    executor: String,
    startedMs: Long,
    endedMs: Option[Long],
    succeeded: Boolean)

/** Notes when the tasks of streaming queries began and ended. */
final class TaskRecorder extends SparkListener {
  private val stages = mutable.Map.empty[Int, SeenStage]
  private val seen = mutable.LinkedHashMap.empty[Long, SeenTask]

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit = synchronized {
    val properties = Option(event.properties)
    for {
      query <- properties.flatMap(p => Option(p.getProperty("sql.streaming.queryId")))
      run <- properties.flatMap(p => Option(p.getProperty("spark.jobGroup.id")))
      epoch <- properties.flatMap(p => Option(p.getProperty("streaming.sql.batchId")))
    } stages(event.stageInfo.stageId) = SeenStage(query, run, epoch.toLong)
  }

  override def onTaskStart(event: SparkListenerTaskStart): Unit = synchronized {
    seen(event.taskInfo.taskId) =
      SeenTask(event.stageId, event.taskInfo.index, event.taskInfo.executorId, event.taskInfo.launchTime, None, succeeded = false)
  }

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit = synchronized {
    seen.updateWith(event.taskInfo.taskId)(_.map(
      _.copy(endedMs = Some(event.taskInfo.finishTime), succeeded = event.taskInfo.successful))): Unit
  }

  /** All tasks so far as a JSON array, in the order in which they began. */
  def tasks(): String = synchronized {
    val json = new ObjectMapper()
    val list = json.createArrayNode()
    for (task <- seen.values; stage <- stages.get(task.stage)) {
      val entry = list.addObject()
        .put("query", stage.query).put("run", stage.run).put("stage", task.stage).put("index", task.index).put("epoch", stage.epoch)
        .put("executor", task.executor).put("started_ms", task.startedMs).put("succeeded", task.succeeded)
      task.endedMs.foreach(ended => entry.put("ended_ms", ended))
    }
    json.writeValueAsString(list)
  }
}
