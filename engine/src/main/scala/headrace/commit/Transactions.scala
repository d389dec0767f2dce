// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import java.time.Duration
import java.util.{ArrayDeque => Queue}

import headrace.{CrashPoint, HeadraceException, TaskScope}
import headrace.kafka.Outlet
import headrace.observe.Sent
import org.apache.kafka.clients.producer.{Callback, ProducerConfig, ProducerRecord, RecordMetadata}
import org.apache.kafka.common.TopicPartition
import org.apache.spark.TaskContext
import org.apache.spark.headrace.TaskThread

/** Sends the rows of a task in transactions, together with the offsets of the records they came from: exactly once.
  *
  * A transaction ends at a cut, on a thread of its own. What the task sends meanwhile is kept and follows when it is
  * committed: the stream does not stop, the order stays, and one producer is enough.
  */
private[headrace] final class Transactions(
    plan: ProgressPlan,
    settings: Map[String, String],
    task: TaskContext)
    extends Progress
    with Outlet {
  import Transactions._

  private val scope = TaskScope.of(task)
  private val store = new OffsetStore(plan, settings, task)
  private val producer = store.inheritance.getOrElse {
    val preferred = Map(
      ProducerConfig.TRANSACTION_TIMEOUT_CONFIG -> plan.timeoutMs.toString,
      ProducerConfig.MAX_BLOCK_MS_CONFIG -> BlockMs)
    store.create(preferred ++ settings.filter { case (name, _) => preferred.contains(name) })
  }
  // All of these are guarded by this; those that others only look at are volatile too.
  private val kept = new Queue[Kept]()
  // Letters whose records are behind the cut at which the open transaction will end.
  private val letters = new Queue[ProducerRecord[Array[Byte], Array[Byte]]]()
  private val open = new Queue[Sent]()
  private var isOpen = false
  private var committed = Map.empty[TopicPartition, Long]
  private var due: Cut = _
  @volatile private var waiting: Cut = _
  @volatile private var committing = false
  @volatile private var closed = false
  // To the next epoch.
  private var left = false

  private val noted: Callback = (_: RecordMetadata, cause: Exception) => if (cause != null && !closed) fail(cause)

  private val committer = new Thread(() => run(), s"headrace-commit-${task.taskAttemptId()}")
  committer.setDaemon(true)
  task.addTaskCompletionListener[Unit](_ => close())
  if (store.inheritance.isEmpty) store.persistently(closed)(producer.initTransactions())
  committer.start()

  override def resume(starts: Map[TopicPartition, Long]): Map[TopicPartition, Long] = {
    val resumed = store.resume(starts)
    // Where nothing comes, nothing needs to be recorded.
    synchronized { committed = resumed }
    resumed
  }

  override def send(record: ProducerRecord[Array[Byte], Array[Byte]], sent: Sent): Unit = synchronized {
    scope.throwIfSinkFailed()
    while (committing && kept.size >= MostKept) {
      // With a limit: whoever reports a failed send must not wait for this lock.
      wait(LookMs)
      scope.throwIfSinkFailed()
    }
    if (committing) kept.add(Kept(record, sent)): Unit else sendNow(record, sent)
  }

  /** A letter is written by the operator that its record failed in, and may be ahead of rows before it. In the transaction
    * of those it would be committed without the offset of its record, and again after a crash.
    */
  override def sendLetter(letter: ProducerRecord[Array[Byte], Array[Byte]], sequence: Long): Unit = synchronized {
    val cut = waiting
    if (cut != null && sequence > cut.sequence) letters.add(letter): Unit else send(letter, null)
  }

  private def sendLetters(): Unit = {
    letters.forEach(sendNow(_, null))
    letters.clear()
  }

  private def sendNow(record: ProducerRecord[Array[Byte], Array[Byte]], sent: Sent): Unit = {
    if (!isOpen) producer.beginTransaction()
    isOpen = true
    if (sent != null) open.add(sent)
    producer.send(record, noted): Unit
  }

  // The commit waits for all of them.
  override def settle(): Unit = ()

  // The task's end closes it: others of the task send here too.
  override def release(): Unit = ()

  // What it sends is seen by nobody if its place was taken.
  override def stoodStill(): Unit = ()

  override def isReady: Boolean = waiting == null && !committing

  override def cut(now: Cut): Unit = waiting = now

  override def hasCuts: Boolean = waiting != null

  override def passed(sequence: Long): Unit = synchronized {
    val cut = waiting
    if (cut != null && cut.sequence < sequence) {
      waiting = null
      due = cut
      committing = true
      notifyAll()
    }
  }

  private def run(): Unit =
    try while (!closed && !scope.hasSinkFailed) {
        val cut = synchronized {
          while (due == null) wait()
          due
        }
        commit(cut.offsets)
      }
    // Interrupted wherever it was.
    catch { case _: Exception if closed => () }

  /** Ends the transaction, with the offsets up to which its sends go. Called while others only keep what they send. */
  private def commit(offsets: Map[TopicPartition, Long]): Unit =
    try {
      CrashPoint.reach("transaction-due")
      val (news, hasSent) = synchronized((offsets.filterNot { case (at, offset) => committed.get(at).contains(offset) }, isOpen))
      if (hasSent || news.nonEmpty) {
        if (!hasSent) producer.beginTransaction()
        store.put(producer, news)
        CrashPoint.reach("transaction-sent")
        store.persistently(closed)(producer.commitTransaction())
        CrashPoint.reach("transaction-committed")
        scope.meter.foreach(_.commit())
      }
      synchronized {
        committed ++= news
        due = null
        isOpen = false
        open.forEach(_.deliver())
        open.clear()
        sendLetters()
        kept.forEach(one => sendNow(one.record, one.sent))
        kept.clear()
        committing = false
        notifyAll()
      }
    } catch { case failed: Exception if !closed => fail(failed) }

  override def finish(offsets: Map[TopicPartition, Long]): Unit = {
    synchronized {
      while (committing) {
        wait(LookMs)
        scope.throwIfSinkFailed()
      }
      waiting = null
      sendLetters()
      committing = true
    }
    commit(offsets)
    scope.throwIfSinkFailed()
    store.bequeath(producer, synchronized(committed))
    left = true
  }

  private def fail(cause: Exception): Unit = {
    // The first one counts; asking why takes a while.
    if (!scope.hasSinkFailed) scope.sinkFailed(store.failure(cause)(reason =>
      new HeadraceException(
        "TRANSACTION_FAILED",
        s"A transaction of this query failed ($reason). It is aborted, and readers of committed records see nothing of it; " +
          "its records are read again at the next start, and nothing is written twice. Check the brokers, and start again.",
        Map("group" -> plan.group),
        cause)))
  }

  private def close(): Unit = {
    closed = true
    committer.interrupt()
    TaskThread.join(committer)
    // Aborts what is open, so that it holds back no reader.
    if (!left) OffsetStore.close(producer, AbortWithin)
  }
}

private object Transactions {
  private final case class Kept(record: ProducerRecord[Array[Byte], Array[Byte]], sent: Sent)

  /** So many rows may wait for a commit; then the task does. */
  private val MostKept = 10000
  private val LookMs = 100L
  // Brokers that are away are waited for by calling again, and in between it is seen whether the task is over.
  private val BlockMs = "10000"
  private val AbortWithin = Duration.ofSeconds(3)
}
