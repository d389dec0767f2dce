// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._

import headrace.kafka.EpochPlanner
import org.apache.spark.{SparkEnv, TaskContext}

/** The meters of the tasks that run in this JVM. */
private[headrace] object Meters {
  private val running = new ConcurrentHashMap[TaskContext, TaskMeter]()
  private val ended = new ConcurrentLinkedQueue[TaskMeter]()
  private val Setting = "spark.headrace.observe"
  @volatile private var isHeard = false
  private var told = 0L

  /** Somebody asks for news from now on, or no longer: what nobody asks for would gather. */
  def hear(asks: Boolean): Unit = {
    isHeard = asks
    ended.clear()
  }

  /** Whether records are measured in this application. */
  def areOn: Boolean = SparkEnv.get.conf.getBoolean(Setting, defaultValue = true)

  /** The meter of a task, if it belongs to a streaming query. It goes away with the task, and nothing of it is lost. */
  def of(task: TaskContext): Option[TaskMeter] = for {
    _ <- Option.when(areOn && isHeard)(())
    run <- Option(task.getLocalProperty(EpochPlanner.RunProperty))
    epoch <- Option(task.getLocalProperty(EpochPlanner.EpochProperty)).flatMap(_.toLongOption)
  } yield running.computeIfAbsent(
    task,
    measured => {
      measured.addTaskCompletionListener[Unit] { _ =>
        Option(running.remove(measured)).foreach(ended.add)
      }
      new TaskMeter(TaskId(run, epoch, measured.stageId(), measured.partitionId(), measured.taskAttemptId()))
    })

  /** What there is to tell of this JVM since the last call. */
  def news(): ExecutorNews = synchronized {
    val env = SparkEnv.get
    val last = Iterator.continually(ended.poll()).takeWhile(_ != null).toList
    val tasks = (last ++ running.values.asScala).map(_.news())
    told += 1
    ExecutorNews(told, env.executorId, env.blockManager.blockManagerId.host, tasks, Tail.news(), Pauses.news())
  }
}
