// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import java.util.concurrent.ConcurrentLinkedQueue

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.record.TimestampType

/** Which task this is, of which epoch of which run of a query. */
private[headrace] final case class TaskId(run: String, epoch: Long, stage: Int, task: Int, attempt: Long)

/** Counts the rows of one task and times them. Each of its parts is written by one thread: the source's, the task's or the
  * producer's; a further one collects. Nothing here locks, and nothing is made for a record.
  */
private[headrace] final class TaskMeter(val id: TaskId) {
  private[observe] val queueing = new Measure
  private val processing = new Measure
  private val stage = new Measure
  private val delivery = new Measure
  // Of rows whose partition is not known here.
  private val endToEnd = new Measure
  @volatile private var partitions = Vector.empty[PartitionMeter]
  @volatile private var workers = Vector.empty[WorkerMeter]
  @volatile private var inbox: Option[() => Double] = None
  private val commits = new ConcurrentLinkedQueue[java.lang.Long]()
  // Only their own threads write them; whoever collects may see them a little later.
  private var entered = 0L
  private var handedOn = 0L
  private var delivered = 0L
  private var timers = 0L
  private var untold = 0L
  private var letters = 0L
  @volatile private var readyMs = 0L
  @volatile private var endedMs = 0L

  /** The source reads this partition. */
  def reading(partition: TopicPartition): PartitionMeter = synchronized {
    val meter = new PartitionMeter(partition, this)
    partitions :+= meter
    meter
  }

  /** A worker runs these functions for the task. */
  def running(worker: WorkerMeter): Unit = synchronized { workers :+= worker }

  /** The task takes its rows from a buffer, which is so full, from 0 to 1. */
  def waitsBefore(fullness: () => Double): Unit = inbox = Some(fullness)

  def sourceIsReady(): Unit = readyMs = System.currentTimeMillis()

  def sourceHasEnded(): Unit = endedMs = System.currentTimeMillis()

  /** A row came in through a shuffle. */
  def enter(): Unit = entered += 1

  /** A row leaves the stage through a shuffle; returns when. */
  def handOn(origin: Origin): Long = {
    val now = Clock.micros()
    handedOn += 1
    if (origin != null && (origin ne Origin.Timer)) stage.record(now - origin.enteredMicros)
    now
  }

  /** A row has come to the sink. */
  def arrive(origin: Origin): Sent = {
    val now = handOn(origin)
    if (origin == null) untold += 1
    else if (origin eq Origin.Timer) timers += 1
    else processing.record(now - origin.readMicros)
    if (origin == null) new Sent(this, now, Origin.Unknown, null) else new Sent(this, now, origin.creationMs, origin.partition)
  }

  /** What was sent can be seen by its readers. */
  def deliver(sentMicros: Long, creationMs: Long, partition: PartitionMeter): Unit = {
    val now = Clock.micros()
    delivered += 1
    delivery.record(now - sentMicros)
    if (creationMs != Origin.Unknown)
      (if (partition == null) endToEnd else partition.endToEnd).record(now - creationMs * 1000)
  }

  def letter(): Unit = letters += 1

  def commit(): Unit = commits.add(System.currentTimeMillis()): Unit

  /** Everything since the last call. */
  def news(): TaskNews = synchronized {
    val read = partitions.map(_.news())
    val made = Iterator.continually(Option(commits.poll())).takeWhile(_.isDefined).flatten.map(_.longValue).toArray
    TaskNews(
      id,
      Parts(queueing.news(), processing.news(), delivery.news(), endToEnd.news()),
      stage.news(),
      read,
      Counts(
        entered + partitions.map(_.rows).sum, handedOn, delivered, timers, untold, letters, partitions.map(_.undated).sum),
      workers.map(_.news()),
      inbox.map(_()),
      readyMs,
      endedMs,
      made)
  }

  /** Everything since the task began. */
  def all(): Parts = synchronized {
    Parts(queueing.all(), processing.all(), delivery.all(), Tally.sum((endToEnd +: partitions.map(_.endToEnd)).map(_.all())))
  }
}

/** Counts the records that a task reads from one partition. */
private[headrace] final class PartitionMeter(partition: TopicPartition, task: TaskMeter) {
  private[observe] val endToEnd = new Measure
  private[observe] var rows = 0L
  private var createdMs = Origin.Unknown
  private[observe] var undated = 0L
  private var unread = 0L
  private val keys = new BusyKeys
  @volatile private var isLagKnown = false

  /** A record is handed on; returns when. */
  def read(record: ConsumerRecord[Array[Byte], Array[Byte]]): Long = {
    val now = Clock.micros()
    rows += 1
    unread -= 1
    keys.see(record.key)
    if (record.timestampType == TimestampType.CREATE_TIME) {
      createdMs = record.timestamp
      task.queueing.record(now - record.timestamp * 1000)
    } else undated += 1
    now
  }

  /** So many records of the partition are not read yet. */
  def isBehind(records: Long): Unit = {
    unread = records
    isLagKnown = true
  }

  private[observe] def news(): PartitionNews = PartitionNews(
    partition.topic,
    partition.partition,
    rows,
    Option.when(isLagKnown)(math.max(0L, unread)),
    Option.when(createdMs != Origin.Unknown)(createdMs),
    keys.busiest,
    endToEnd.news())
}
