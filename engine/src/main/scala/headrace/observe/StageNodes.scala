// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import com.fasterxml.jackson.databind.node.ArrayNode

/** The stages of a run as JSON: what was planned, and what its tasks tell. */
private[observe] object StageNodes {
  /** Above this many times its fair share, a task is hot. */
  private val Hot = 2.0

  def add(list: ArrayNode, run: Run, nowMs: Long): Unit = {
    val (told, seconds) = run.lastSeconds(nowMs)
    val recently = run.recently(nowMs)
    run.epoch.toSeq.flatMap(_.stages).foreach { stage =>
      def here(since: Since): Boolean = of(run, since.told.news.id).contains(stage.id)
      val node = list.addObject().put("id", stage.id).put("name", stage.name)
      val operators = node.putArray("operators")
      stage.operators.foreach(operators.add(_))
      val feeds = node.putArray("feeds")
      stage.feeds.foreach(feeds.add(_))
      node.put("tasks", stage.tasks)
      node.put("rows_out", told.filter(here).map(_.counts.out).sum.toDouble / seconds)
      val sum = Measure.histogram()
      recently.filter(here).foreach(_.told.news.stage.addTo(sum))
      Document.quantiles(node, "processing", sum)
      val behind = told.filter(since => of(run, since.told.news.id).exists(stage.feeds.contains))
      node.put("queue", behind.flatMap(_.told.news.inbox).maxOption.map(Document.double).orNull)
      skew(recently.filter(here), stage.tasks) match {
        case Some((hot, share)) => node.putObject("skew").put("hot", hot).put("share", share)
        case None => node.putNull("skew")
      }
    }
  }

  private def skew(told: Seq[Since], tasks: Int): Option[(Int, Double)] = {
    val rows = told.groupMapReduce(_.told.news.id.task)(_.counts.in)(_ + _)
    val all = rows.values.sum
    Option.when(tasks > 1 && all > 0)(rows.maxBy(_._2)).collect {
      case (task, most) if most.toDouble / all > Hot / tasks => (task, most.toDouble / all)
    }
  }

  /** The planned stage of a task. Spark numbers the stages of a job from the sources to the sink, as they are here; it is
    * known when all have told of themselves.
    */
  def of(run: Run, task: TaskId): Option[Int] = {
    val stages = run.stagesOf(task.epoch)
    Option.when(run.epoch.exists(_.stages.size == stages.size))(stages.indexOf(task.stage)).filter(_ >= 0)
  }
}
