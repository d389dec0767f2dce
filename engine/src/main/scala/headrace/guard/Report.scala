// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import java.lang.management.ManagementFactory

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import headrace.HeadraceException
import headrace.commit.CommitRule
import headrace.kafka.{KafkaTable, SourceLoad}
import org.apache.spark.headrace.Slots
import org.apache.spark.sql.catalyst.streaming.{StreamingRelationV2, WriteToStreamStatement}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.RealTimeTrigger
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter

/** What a rehearsal found, as JSON for Python, which turns it into a verdict and advice. */
private[guard] object Report {
  private val mapper = new ObjectMapper

  /** Settings of the application that the size of a query is compared with, and that advice is about. */
  private val Settings = Seq(
    "spark.master",
    "spark.driver.memory",
    "spark.executor.memory",
    "spark.executor.instances",
    "spark.executor.cores",
    "spark.cores.max",
    "spark.task.cpus",
    "spark.executor.extraJavaOptions",
    "spark.shuffle.streaming.writerMaxMemory",
    "spark.shuffle.streaming.readerMaxMemory")

  private val ProducerWaits = Set("linger.ms", "acks", "compression.type")

  /** The query did not even get to where it could be judged. */
  def ofRefusal(finding: Finding): String = {
    val report = mapper.createObjectNode()
    add(report, Seq(finding))
    report.toString
  }

  /** @param path the physical operators that records pass; none if there is no plan */
  def of(
      session: SparkSession,
      start: WriteToStreamStatement,
      findings: Seq[Finding],
      path: Option[Seq[SparkPlan]],
      pinned: Option[Int]): String = {
    val report = mapper.createObjectNode()
    start.userSpecifiedName.foreach(report.put("name", _))
    start.trigger match {
      case RealTimeTrigger(durationMs) => report.put("real_time_ms", durationMs)
      case other => report.put("trigger", other.getClass.getSimpleName.stripSuffix("$"))
    }
    add(report, findings)
    addSources(report, start)
    path.foreach { nodes =>
      nodes.headOption.flatMap(plan => CommitRule.whyNot(plan, session.sparkContext))
        .foreach(report.put("commits_at_epoch_end", _))
      PlanCheck.shuffles(nodes).foreach(report.withArray("shuffles").add(_))
      PlanCheck.stages(nodes)(_.getClass.getName.contains("python")).foreach(report.withArray("python_stages").add(_))
      PlanCheck.stages(nodes)(_.isInstanceOf[StateStoreWriter]).foreach(report.withArray("state_stages").add(_))
    }
    pinned.foreach(report.put("pinned_partitions", _))
    Facts.add(report, session, start.inputQuery)
    addApplication(report, session)
    report.toString
  }

  private def add(report: ObjectNode, findings: Seq[Finding]): Unit = findings.foreach { found =>
    report.withArray("findings").addObject()
      .put("where", found.where)
      .put("condition", found.rule.condition)
      .put("allowed", found.rule.allowed)
      .put("what", found.rule.what)
      .put("reason", found.rule.reason)
      .put("instead", found.rule.instead)
  }

  private def addSources(report: ObjectNode, start: WriteToStreamStatement): Unit = {
    start.inputQuery.foreach {
      case StreamingRelationV2(_, name, _: KafkaTable, options, _, _, _, _, _) =>
        val node = report.withArray("sources").addObject().put("name", name)
        Try(SourceLoad.waits(options)).foreach(_.foreachEntry((key, value) => node.withObject("/client").put(key, value)))
        Try(SourceLoad.of(options)) match {
          case Success(load) =>
            node.put("tasks", load.tasks)
            load.records.foreachEntry((partition, records) => node.withObject("/records").put(partition.toString, records))
          case Failure(unknown: HeadraceException) => node.put("unknown", unknown.getCondition)
          case Failure(other) => throw other
        }
      case _ => ()
    }
    start.sink match {
      case table: KafkaTable => Try(table.producer).foreach(_.foreachEntry { (key, value) =>
          if (ProducerWaits(key)) report.withObject("/producer").put(key, value)
        })
      case _ => ()
    }
  }

  private def addApplication(report: ObjectNode, session: SparkSession): Unit = {
    val context = session.sparkContext
    report.put("slots", Slots.total(context))
    val settings = report.withObject("/settings")
    Settings.foreach(key => context.getConf.getOption(key).foreach(settings.put(key, _)))
    ManagementFactory.getGarbageCollectorMXBeans.asScala.foreach(bean => report.withArray("collectors").add(bean.getName))
  }
}
