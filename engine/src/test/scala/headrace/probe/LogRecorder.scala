// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.LogManager
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property

/** Keeps what this JVM logs, from its creation until it is closed. */
final class LogRecorder {
  private val lines = new ConcurrentLinkedQueue[String]()
  private val root = LogManager.getRootLogger.asInstanceOf[Logger]
  private val appender = new AbstractAppender(s"recorder-${hashCode()}", null, null, true, Property.EMPTY_ARRAY) {
    override def append(event: LogEvent): Unit = lines.add(s"${event.getLevel} ${event.getMessage.getFormattedMessage}"): Unit
  }
  appender.start()
  root.addAppender(appender)

  /** Each line begins with its level. */
  def text(): String = lines.asScala.mkString("\n")

  def close(): Unit = root.removeAppender(appender)
}
