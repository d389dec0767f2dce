// SPDX-License-Identifier: Apache-2.0
package headrace

import java.util.{Collections, Map => JMap}
import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}

import scala.util.control.NonFatal

import headrace.checkpoint.SharedFiles
import headrace.commit.Relay
import headrace.guard.SlotLedger
import headrace.kafka.{ConsumerPool, ProducerPool}
import headrace.observe.{Board, Clock, ExecutorNews, Meters, QueryWatch}
import headrace.python.WorkerSockets
import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator
import org.apache.spark.SparkContext
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, PluginContext, SparkPlugin}
import org.slf4j.LoggerFactory

/** The engine's part in the life of an application: one half in the driver, one in every executor. */
final class HeadracePlugin extends SparkPlugin {
  override def driverPlugin(): DriverPlugin = new HeadraceDriver
  override def executorPlugin(): ExecutorPlugin = new HeadraceExecutor
}

private[headrace] object HeadracePlugin {
  /** Spark's executor id of the driver itself; the constant in Spark is not public. */
  val Driver = "driver"

  /** How often the executors tell the driver what they have to tell. */
  private[headrace] val TellMs = 500L

  /** How much of it waits for a driver that does not answer. */
  private[headrace] val MostUntold = 120
}

/** Executor to driver: "these epochs should end" (empty: just asking), and what the tasks there have to tell. The answer is
  * the driver's whole board.
  */
private[headrace] final case class SignalExchange(ends: Map[String, Long], news: Seq[ExecutorNews])

private[headrace] final class HeadraceDriver extends DriverPlugin {
  override def init(context: SparkContext, plugin: PluginContext): JMap[String, String] = {
    // Spark's allowlist is off (see the settings table) and still warns about every operator and sink it does not know;
    // what may run is checked, and said, by our guard.
    Configurator.setLevel("org.apache.spark.sql.execution.streaming.runtime.RealTimeModeAllowlist", Level.ERROR)
    SharedFiles.settle(plugin.conf())
    WorkerSockets.settle(plugin.conf())
    SlotLedger.clear()
    Board.begin(context)
    context.addSparkListener(new QueryWatch)
    Collections.emptyMap()
  }

  override def receive(message: Any): AnyRef = message match {
    case SignalExchange(ends, news) =>
      EpochSignal.merge(ends)
      news.foreach(Board.takeOnce)
      EpochSignal.snapshot()
    case other =>
      throw new IllegalArgumentException(s"the Headrace driver plugin got an unknown message: ${other.getClass}")
  }
}

private[headrace] final class HeadraceExecutor extends ExecutorPlugin {
  import HeadracePlugin.{MostUntold, TellMs}

  private val log = LoggerFactory.getLogger(classOf[HeadraceExecutor])
  private var chores: ScheduledExecutorService = _
  private var untold = Vector.empty[ExecutorNews]

  override def init(context: PluginContext, extra: JMap[String, String]): Unit = {
    SharedFiles.settle(context.conf())
    WorkerSockets.settle(context.conf())
    EpochSignal.begin()
    ConsumerPool.configure(context.conf)
    ProducerPool.configure(context.conf)
    chores = Executors.newSingleThreadScheduledExecutor { task =>
      val thread = new Thread(task, "headrace-chores")
      thread.setDaemon(true)
      thread
    }
    every(interval(context, "consumer"))(ConsumerPool.evict())
    every(interval(context, "producer"))(ProducerPool.evict())
    every(2000)(Relay.evict())
    // In local mode driver and executor share one JVM and therefore one board: nothing to copy.
    val isDriver = context.executorID() == HeadracePlugin.Driver
    every(TellMs)(if (isDriver) Board.takeOwn() else swap(context))
    every(1000)(Clock.set())
    Meters.hear(asks = true)
  }

  /** Spark's name for how often idle clients are looked for; not positive: never. */
  private def interval(context: PluginContext, client: String): Long =
    context.conf().getTimeAsMs(s"spark.kafka.$client.cache.evictorThreadRunInterval", "1m")

  /** A periodic task that throws is never run again; a driver that is briefly busy must not switch it off. */
  private def every(ms: Long)(chore: => Unit): Unit = if (ms > 0) {
    val guarded: Runnable = () =>
      try chore
      catch { case NonFatal(e) => log.warn("A chore of the engine failed and will be tried again.", e) }
    chores.scheduleWithFixedDelay(guarded, ms, ms, TimeUnit.MILLISECONDS): Unit
  }

  private def swap(context: PluginContext): Unit = {
    // A driver that does not answer may have heard it or not: it is told again, and takes it once.
    untold = (untold :+ Meters.news()).takeRight(MostUntold)
    EpochSignal.merge(context.ask(SignalExchange(EpochSignal.snapshot(), untold)).asInstanceOf[Map[String, Long]])
    untold = Vector.empty
  }

  override def shutdown(): Unit = {
    if (chores != null) chores.shutdownNow()
    // Spark lets tasks that run go on when an application ends, and the next one may begin in the same JVM.
    EpochSignal.endAll()
    Meters.hear(asks = false)
    ConsumerPool.closeAll()
    ProducerPool.closeAll()
    Relay.closeAll()
  }
}
