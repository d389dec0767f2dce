// SPDX-License-Identifier: Apache-2.0
package headrace.observe

/** The parts of a latency. */
private[headrace] final case class Parts(queueing: Tally, processing: Tally, delivery: Tally, endToEnd: Tally)

/** How many rows since the task began.
  *
  * @param in those that came in, from the source or through a shuffle
  * @param out those that were handed on, to the sink or into a shuffle
  * @param delivered those that the brokers have acknowledged, or committed
  * @param timers those that came to the sink without a record behind them
  * @param untold those of which nobody can tell
  * @param undated records that were read without a creation time
  */
private[headrace] final case class Counts(
    in: Long,
    out: Long,
    delivered: Long,
    timers: Long,
    untold: Long,
    letters: Long,
    undated: Long) {
  def +(more: Counts): Counts = Counts(
    in + more.in, out + more.out, delivered + more.delivered, timers + more.timers, untold + more.untold,
    letters + more.letters, undated + more.undated)

  def -(before: Counts): Counts = this + Counts(
    -before.in, -before.out, -before.delivered, -before.timers, -before.untold, -before.letters, -before.undated)
}

private[headrace] object Counts {
  val None: Counts = Counts(0, 0, 0, 0, 0, 0, 0)
}

/** @param rows since the task began
  * @param lag records that are not read yet, if a fetch has told
  * @param createdMs when the last record was created
  */
private[headrace] final case class PartitionNews(
    topic: String,
    partition: Int,
    rows: Long,
    lag: Option[Long],
    createdMs: Option[Long],
    busiest: Option[BusyKey],
    endToEnd: Tally)

/** @param busyNanos how long it had at least one batch, since the task began
  * @param batches how long each batch took
  */
private[headrace] final case class WorkerNews(
    pid: Option[Long],
    functions: Seq[String],
    rows: Long,
    busyNanos: Long,
    batches: Tally,
    memoryBytes: Option[Long],
    alive: Option[Boolean])

/** What a task has to tell: tallies since it last did, counts since it began.
  *
  * @param inbox how full the buffer is that rows from the stage before wait in, from 0 to 1
  */
private[headrace] final case class TaskNews(
    id: TaskId,
    parts: Parts,
    stage: Tally,
    partitions: Seq[PartitionNews],
    counts: Counts,
    workers: Seq[WorkerNews],
    inbox: Option[Double],
    readyMs: Long,
    endedMs: Long,
    commits: Array[Long])

/** A record that went out. */
private[headrace] final case class TailRecord(run: String, timeMs: Long, topic: String, key: String, value: String)

/** @param gcMs how long the garbage collector has held the JVM up since it began
  * @param gcMaxMs the longest of those since this was last told
  */
private[headrace] final case class JvmNews(gcMs: Long, gcMaxMs: Double, heapUsed: Long, heapMax: Long)

/** What an executor has to tell.
  *
  * @param number counts what it has told
  */
private[headrace] final case class ExecutorNews(
    number: Long,
    executor: String,
    host: String,
    tasks: Seq[TaskNews],
    tail: Seq[TailRecord],
    jvm: JvmNews)
