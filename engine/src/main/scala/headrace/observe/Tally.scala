// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import org.HdrHistogram.{Histogram, SingleWriterRecorder}

/** How often each value occurred, in microseconds. Values are those of [[Measure]]'s histograms, so tallies add up exactly. */
private[headrace] final case class Tally(values: Array[Long], counts: Array[Long]) {
  def addTo(histogram: Histogram): Unit =
    values.indices.foreach(at => histogram.recordValueWithCount(values(at), counts(at)))

  def count: Long = counts.sum
}

private[headrace] object Tally {
  val Empty: Tally = Tally(Array.empty, Array.empty)

  def sum(tallies: Seq[Tally]): Tally = of(histogram(tallies))

  def histogram(tallies: Seq[Tally]): Histogram = {
    val all = Measure.histogram()
    tallies.foreach(_.addTo(all))
    all
  }

  def of(histogram: Histogram): Tally =
    if (histogram.getTotalCount == 0) Empty
    else {
      val values = Array.newBuilder[Long]
      val counts = Array.newBuilder[Long]
      histogram.recordedValues().forEach { step =>
        values += step.getValueIteratedTo
        counts += step.getCountAtValueIteratedTo
      }
      Tally(values.result(), counts.result())
    }
}

/** One part of the latency of a task's records. Written by one thread, and read by another without holding it up. */
private[headrace] final class Measure {
  // Made with the first value: most tasks have no use for most of their measures.
  @volatile private var recorder: SingleWriterRecorder = _
  private lazy val sum = Measure.histogram()
  private lazy val untold = Measure.histogram()
  private var spare: Histogram = _

  def record(micros: Long): Unit = {
    if (recorder == null) recorder = new SingleWriterRecorder(1, Measure.Most, Measure.Digits)
    recorder.recordValue(math.min(math.max(micros, 0L), Measure.Most))
  }

  /** What was recorded since this was last asked. */
  def news(): Tally = synchronized {
    if (recorder == null) Tally.Empty
    else {
      collect()
      val news = Tally.of(untold)
      untold.reset()
      news
    }
  }

  /** What was recorded in all. */
  def all(): Tally = synchronized {
    if (recorder == null) Tally.Empty
    else {
      collect()
      Tally.of(sum)
    }
  }

  private def collect(): Unit = {
    spare = recorder.getIntervalHistogram(spare)
    sum.add(spare)
    untold.add(spare)
  }
}

private[headrace] object Measure {
  /** An hour: beyond that nobody asks how long exactly. */
  private val Most = 3600L * 1000 * 1000
  // Values differ by less than one per cent from what was recorded; three digits would take six times the memory.
  private val Digits = 2

  def histogram(): Histogram = new Histogram(1, Most, Digits)
}
