// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import jdk.jfr.Recording
import jdk.jfr.consumer.{RecordedEvent, RecordingFile}

/** What Java's flight recorder sees of this JVM, from its creation until it is first asked. */
final class JvmEvents {
  private val recording = new Recording()
  recording.enable("jdk.ProcessStart").withoutStackTrace(): Unit
  recording.enable("jdk.FileForce").withoutThreshold().withoutStackTrace(): Unit
  recording.start()

  private lazy val events: Seq[RecordedEvent] = {
    val file = Files.createTempFile("events", ".jfr")
    try {
      recording.stop(): Unit
      recording.dump(file)
      RecordingFile.readAllEvents(file).asScala.toSeq
    } finally {
      recording.close()
      Files.delete(file)
    }
  }

  /** The command line of every process that was started. */
  def processes(): Array[String] = fields("jdk.ProcessStart", "command")

  /** Every file and folder that was synced, in the order in which it was done. */
  def synced(): Array[String] = fields("jdk.FileForce", "path")

  def close(): Unit = recording.close()

  private def fields(event: String, field: String): Array[String] =
    events.filter(_.getEventType.getName == event).sortBy(_.getEndTime).map(_.getString(field)).toArray
}
