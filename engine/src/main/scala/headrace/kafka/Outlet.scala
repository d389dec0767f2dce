// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.TaskScope
import headrace.observe.Sent
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.spark.TaskContext

/** Where a task sends its records. */
private[headrace] trait Outlet {
  /** Sends a record at once. Throws if an earlier one failed.
    *
    * @param sent told when the record can be seen by its readers; null if nobody wants to know
    */
  def send(record: ProducerRecord[Array[Byte], Array[Byte]], sent: Sent): Unit

  /** Sends a dead letter at once.
    *
    * @param sequence of its record among those of the task
    */
  def sendLetter(letter: ProducerRecord[Array[Byte], Array[Byte]], sequence: Long): Unit

  /** Waits, if it must, until what was sent cannot be lost any more. */
  def settle(): Unit

  /** Nothing more is sent by whoever calls this. */
  def release(): Unit
}

private[kafka] object Outlet {
  /** That of the task's transactions, if it has any; else one that sends by itself. */
  def of(settings: Map[String, String], task: TaskContext): Outlet =
    TaskScope.of(task).outlet.getOrElse(new Sending(settings, Some(task)))
}
