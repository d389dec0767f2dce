// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import org.apache.spark.SparkContext
import org.HdrHistogram.Histogram

/** The board as JSON. What is not known is null. */
private[observe] object Document {
  private val mapper = new ObjectMapper

  def of(context: Option[SparkContext], runs: Seq[Run], executors: Seq[Executor], nowMs: Long): String = {
    val root = mapper.createObjectNode()
    root.put("time_ms", nowMs)
    application(root, context)
    val queries = root.putArray("queries")
    runs.foreach(run => query(queries.addObject(), run, nowMs))
    val jvms = root.putArray("executors")
    executors.foreach(executor => jvm(jvms.addObject(), executor))
    mapper.writeValueAsString(root)
  }

  private def application(root: ObjectNode, context: Option[SparkContext]): Unit = context match {
    case Some(spark) =>
      root.putObject("application").put("id", spark.applicationId).put("name", spark.appName).put("spark", spark.version): Unit
    case None => root.putNull("application"): Unit
  }

  private def query(node: ObjectNode, run: Run, nowMs: Long): Unit = {
    val isOver = run.endedMs.isDefined
    node.put("id", run.id.orNull).put("run", run.run).put("name", run.name.orNull)
    node.put("mode", run.isRealTime.map(if (_) "real-time" else "micro-batch").orNull)
    node.put("state", run.state).put("started_ms", run.startedMs)
    node.put("ended_ms", run.endedMs.map(long).orNull)
    run.failure match {
      case Some(failure) =>
        node.putObject("error").put("condition", failure.condition.orNull).put("message", failure.message)
      case None => node.putNull("error")
    }
    node.put("delivery", run.epoch.flatMap(_.delivery).orNull)
    epoch(node, run)
    boundaries(node.putArray("boundaries"), run)
    commits(node, run, nowMs)
    latency(node.putObject("latency"), run, nowMs)
    slices(node.putArray("slices"), run, nowMs)
    node.put("creation", creation(run))
    if (isOver) node.putNull("rate") else rate(node, run, nowMs)
    if (isOver) node.putNull("lag") else lag(node, run, nowMs)
    partitions(node.putArray("partitions"), run, nowMs)
    StageNodes.add(node.putArray("stages"), run, nowMs)
    WorkerNodes.add(node.putArray("python"), run, nowMs)
    val tail = node.putArray("tail")
    run.tail.foreach(record =>
      tail.addObject().put("time_ms", record.timeMs).put("topic", record.topic).put("key", record.key).put("value", record.value))
    node.put("dead_letters", run.counts.letters): Unit
  }

  private def epoch(node: ObjectNode, run: Run): Unit = run.epoch match {
    case Some(epoch) =>
      node.putObject("epoch").put("number", epoch.number).put("started_ms", epoch.startedMs)
        .put("interval_ms", epoch.intervalMs.map(long).orNull): Unit
    case None => node.putNull("epoch"): Unit
  }

  private def boundaries(list: ArrayNode, run: Run): Unit = run.boundaries.all.foreach(one =>
    list.addObject().put("time_ms", one.timeMs).put("gap_ms", one.gapMs.toDouble).put("epoch", one.epoch))

  private def commits(node: ObjectNode, run: Run, nowMs: Long): Unit = {
    val commits = node.putObject("commits")
    commits.put("last_ms", run.commits.last.map(long).orNull)
    commits.put("age_ms", run.commits.last.map(last => long(nowMs - last)).orNull)
    val times = commits.putArray("times_ms")
    run.commits.since(nowMs).foreach(times.add(_))
    commits.put("interval_ms", run.commits.intervalMs.orElse(run.epoch.flatMap(_.intervalMs)).map(long).orNull): Unit
  }

  private def latency(node: ObjectNode, run: Run, nowMs: Long): Unit = {
    val recently = run.recently(nowMs)
    val sums = Array.fill(4)(Measure.histogram())
    recently.foreach { since =>
      val news = since.told.news
      news.parts.queueing.addTo(sums(Run.Queueing))
      news.parts.processing.addTo(sums(Run.Processing))
      news.parts.delivery.addTo(sums(Run.Delivery))
      Run.endToEnd(news).foreach(_.addTo(sums(Run.EndToEnd)))
    }
    parts(node.putObject("recent"), sums, recently.map(_.counts).foldLeft(Counts.None)(_ + _))
    parts(node.putObject("total"), run.totals, run.counts)
  }

  private def parts(node: ObjectNode, sums: Array[Histogram], counts: Counts): Unit = {
    quantiles(node, "end_to_end", sums(Run.EndToEnd))
    quantiles(node, "queueing", sums(Run.Queueing))
    quantiles(node, "processing", sums(Run.Processing))
    quantiles(node, "delivery", sums(Run.Delivery))
    node.putObject("timers").put("count", counts.timers)
    node.putObject("untold").put("count", counts.untold): Unit
  }

  def quantiles(node: ObjectNode, name: String, sum: Histogram): Unit =
    if (sum.getTotalCount == 0) node.putNull(name): Unit
    else {
      val found = node.putObject(name)
      found.put("count", sum.getTotalCount)
      Seq("p50" -> 50.0, "p90" -> 90.0, "p99" -> 99.0, "p999" -> 99.9).foreach { case (quantile, at) =>
        found.put(quantile, sum.getValueAtPercentile(at) / 1000.0)
      }
      found.put("max", sum.getMaxValue / 1000.0).put("mean", sum.getMean / 1000.0)
      buckets(found.putArray("buckets"), Ladder.of(sum))
    }

  private def buckets(list: ArrayNode, counts: Array[Long]): Unit = counts.indices.filter(counts(_) > 0).foreach { at =>
    val bucket = list.addArray()
    if (at < Ladder.uppersMicros.length) bucket.add(Ladder.uppersMicros(at) / 1000.0) else bucket.addNull()
    bucket.add(counts(at))
  }

  private def slices(list: ArrayNode, run: Run, nowMs: Long): Unit = run.slices.since(nowMs).foreach { case (ms, slice) =>
    val node = list.addObject().put("time_ms", ms).put("in", slice.in).put("out", slice.out)
    buckets(node.putArray("buckets"), slice.buckets)
  }

  private def creation(run: Run): String =
    if (run.read == 0) null else if (run.counts.undated == 0) "known" else if (run.counts.undated < run.read) "mixed" else "unknown"

  private def rate(node: ObjectNode, run: Run, nowMs: Long): Unit = {
    val (told, seconds) = run.lastSeconds(nowMs)
    val rate = node.putObject("rate")
    rate.put("in", told.map(_.read).sum.toDouble / seconds)
    rate.put("out", told.map(_.counts.delivered).sum.toDouble / seconds): Unit
  }

  private def lag(node: ObjectNode, run: Run, nowMs: Long): Unit = {
    val known = run.partitions.map(_.news).filter(_.lag.isDefined)
    if (known.isEmpty) node.putNull("lag"): Unit
    else {
      val behind = known.filter(_.lag.exists(_ > 0))
      val seconds =
        if (behind.exists(_.createdMs.isEmpty)) None
        else Some(behind.flatMap(_.createdMs).map(created => math.max(0L, nowMs - created) / 1000.0).maxOption.getOrElse(0.0))
      node.putObject("lag").put("records", known.flatMap(_.lag).sum).put("seconds", seconds.map(double).orNull): Unit
    }
  }

  private def partitions(list: ArrayNode, run: Run, nowMs: Long): Unit = {
    val (told, seconds) = run.lastSeconds(nowMs)
    val recently = run.recently(nowMs)
    run.partitions.foreach { state =>
      val news = state.news
      val key = (news.topic, news.partition)
      val sum = Measure.histogram()
      recently.flatMap(_.told.news.partitions).filter(one => (one.topic, one.partition) == key).foreach(_.endToEnd.addTo(sum))
      val node = list.addObject().put("topic", news.topic).put("partition", news.partition)
      node.put("rate", told.flatMap(_.rows.get(key)).sum.toDouble / seconds)
      node.put("lag_records", news.lag.map(long).orNull)
      node.put("p99", if (sum.getTotalCount == 0) null else double(sum.getValueAtPercentile(99.0) / 1000.0))
      node.put("count", run.countOf(news)).put("host", state.told.host).put("executor", state.told.executor)
      news.busiest match {
        case Some(busy) => node.putObject("busiest_key").put("key", busy.key).put("share", busy.share)
        case None => node.putNull("busiest_key")
      }
    }
  }

  private def jvm(node: ObjectNode, executor: Executor): Unit = {
    node.put("id", executor.id).put("host", executor.host)
    node.put("gc_ms_per_s", executor.gcMsPerSecond.map(double).orNull).put("gc_max_ms", executor.gcMaxMs)
    node.put("heap_used_mb", executor.latest.heapUsed / 1048576).put("heap_max_mb", executor.latest.heapMax / 1048576): Unit
  }

  def long(value: Long): java.lang.Long = value

  def double(value: Double): java.lang.Double = value
}
