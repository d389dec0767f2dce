// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import headrace.observe.Document.{double, long}

/** The Python workers of a run as JSON. */
private[observe] object WorkerNodes {
  def add(list: ArrayNode, run: Run, nowMs: Long): Unit = if (run.endedMs.isEmpty) {
    val byTask = run.recently(nowMs).map(_.told).groupBy(_.news.id.attempt)
    val now = byTask.toSeq.sortBy(_._1).map(_._2).filter(told => run.epoch.exists(_.number == told.last.news.id.epoch))
    for (told <- now; at <- told.last.news.workers.indices) worker(list.addObject(), run, told, at)
  }

  /** @param told what the task has told lately, the newest last
    * @param at which of its workers
    */
  private def worker(node: ObjectNode, run: Run, told: Seq[Told], at: Int): Unit = {
    val last = told.last
    val worker = last.news.workers(at)
    node.put("pid", worker.pid.map(long).orNull).put("host", last.host).put("executor", last.executor)
    val functions = node.putArray("functions")
    worker.functions.foreach(functions.add(_))
    node.put("stage", StageNodes.of(run, last.news.id).map(Int.box).orNull).put("task", last.news.id.task)
    node.put("rows", worker.rows)
    node.put("busy", busy(told, at).map(double).orNull)
    val batches = Tally.histogram(told.flatMap(_.news.workers.lift(at)).map(_.batches))
    node.put("batch_p50", if (batches.getTotalCount == 0) null else double(batches.getValueAtPercentile(50.0) / 1000.0))
    node.put("memory_mb", worker.memoryBytes.map(bytes => double(bytes / 1048576.0)).orNull)
    node.put("alive", worker.alive.map(Boolean.box).orNull): Unit
  }

  /** The share of the time in which the worker had something to do; none before there are two moments to compare. */
  private def busy(told: Seq[Told], at: Int): Option[Double] = {
    val spentNanos = (told.last.timeMs - told.head.timeMs) * 1000000.0
    val before = told.head.news.workers.lift(at).fold(0L)(_.busyNanos)
    Option.when(spentNanos > 0)(math.min(1.0, (told.last.news.workers(at).busyNanos - before) / spentNanos))
  }
}
