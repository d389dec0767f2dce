// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.{EpochSignal, HeadracePlugin}
import org.apache.kafka.common.{TopicPartition, Uuid}
import org.apache.spark.{SparkContext, TaskContext}
import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

/** Which partitions the tasks of an epoch read. Asks the brokers nothing unless the watcher saw a change. */
private[kafka] final class EpochPlanner(options: SourceOptions, broker: Broker, settings: ReaderSettings)
    extends AutoCloseable {
  import EpochPlanner._

  private val shared = settings.copy(consumer = options.consumer(settings.consumer("group.id"), shared = true))
  private val log = LoggerFactory.getLogger(classOf[EpochPlanner])
  private var watcher: Option[TopicWatcher] = None
  private var ids: Map[String, Uuid] = Map.empty
  private var planned: Map[TopicPartition, Long] = Map.empty
  private var last = Option.empty[((String, Long, Map[TopicPartition, Long]), Seq[InputPartition])]
  private var places: Map[Set[TopicPartition], String] = Map.empty
  @volatile private var running: Option[(String, Long)] = None

  /** The run of the query this source belongs to, once its first epoch was planned. */
  def run: Option[String] = running.map(_._1)

  def topicIds: Map[String, String] = ids.map { case (name, id) => name -> id.toString }

  def latest: Map[TopicPartition, Long] = watcher.fold(Map.empty[TopicPartition, Long])(_.latest)

  /** One group of partitions for each task: a group a partition, or `maxPartitions` groups. An epoch is planned once,
    * however often it is asked for: what has changed since the last one is news only then.
    */
  def groups(start: Map[TopicPartition, Long]): Seq[InputPartition] = {
    val (run, epoch) = currentEpoch()
    val asked = (run, epoch, start)
    if (!last.exists(_._1 == asked)) last = Some(asked -> plan(start, run, epoch))
    last.get._2
  }

  private def plan(start: Map[TopicPartition, Long], run: String, epoch: Long): Seq[InputPartition] = {
    running = Some(run -> epoch)
    val rests = EpochSignal.plan(run, epoch)
    planned = current(start)
    val sorted = planned.keys.toSeq.sortBy(tp => (tp.topic, tp.partition))
    val tasks = SourceLoad.tasks(sorted.size, options.maxPartitions)
    (0 until tasks).map { task =>
      val mine = sorted.indices.filter(_ % tasks == task).map(sorted).toSet
      val own = if (mine.size > 1) shared else settings
      GroupPartition(planned.filter { case (tp, _) => mine(tp) }, run, epoch, rests, places.get(mine), own)
    }
  }

  /** Where the epoch ended. A partition no task reported stays where it began: left out, it would be read anew. */
  def merge(ends: Seq[TaskEnd]): Map[TopicPartition, Long] = {
    places = ends.filter(_.executorId != HeadracePlugin.Driver)
      .map(end => end.offsets.keySet -> s"executor_${end.host}_${end.executorId}").toMap
    planned ++ ends.flatMap(_.offsets)
  }

  /** The start offsets with partitions that came and went since. */
  private def current(start: Map[TopicPartition, Long]): Map[TopicPartition, Long] = {
    val topics = broker.confirm(start.keySet, watching().topics)
    val existing = Broker.partitions(topics)
    val gone = start.keySet -- existing
    if (gone.nonEmpty)
      DataLoss.report(options.failOnDataLoss, s"Partitions ${gone.mkString(", ")} are gone with unread records, if any.")
    val anew = ids.collect { case (name, id) if topics.get(name).exists(_.id != id) => name }.toSet
    anew.foreach(name =>
      DataLoss.report(options.failOnDataLoss, s"Topic '$name' was deleted and created anew; what was unread is lost."))
    ids ++= topics.map { case (name, topic) => name -> topic.id }
    val kept = start.filter { case (tp, _) => existing(tp) && !anew(tp.topic) }
    val added = existing -- kept.keySet
    if (added.nonEmpty) log.info("Reading new partitions from their first record: {}", added.mkString(", "))
    kept ++ Added.earliest(broker, options, added)
  }

  private def watching(): TopicWatcher = watcher.getOrElse {
    val every = options.partitionRefreshMs.getOrElse(WatchEveryMs)
    val created = new TopicWatcher(broker, every, () => running.foreach { case (run, epoch) => EpochSignal.end(run, epoch) })
    watcher = Some(created)
    created
  }

  override def close(): Unit = watcher.foreach(_.close())
}

private[headrace] object EpochPlanner {
  /** Reaches into Spark: `spark.jobGroup.id` and `streaming.sql.batchId`, set on a query's thread and passed to its tasks. A
    * run of a query is a job group named by its id; the other is Spark's number of the epoch.
    */
  val RunProperty = "spark.jobGroup.id"
  val EpochProperty = "streaming.sql.batchId"

  /** Set for tasks whose records and progress are committed together. */
  val TransactedProperty = "headrace.transacted"

  private val WatchEveryMs = 2000L

  /** The run and the epoch that this thread plans. */
  def currentEpoch(): (String, Long) = {
    val context = SparkContext.getOrCreate()
    (context.getLocalProperty(RunProperty), context.getLocalProperty(EpochProperty).toLong)
  }

  /** The run that this thread belongs to, if it does to one. */
  def currentRun(): Option[String] = Option(SparkContext.getOrCreate().getLocalProperty(RunProperty))

  /** Ends the epoch of a task early, wherever its records are read. */
  def endEpochOf(task: TaskContext): Unit = for {
    run <- Option(task.getLocalProperty(RunProperty))
    epoch <- Option(task.getLocalProperty(EpochProperty)).flatMap(_.toLongOption)
  } EpochSignal.end(run, epoch)
}
