// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import org.HdrHistogram.Histogram

/** The buckets in which latencies are shown: the same everywhere, so that they can be added up. Four a doubling, from a tenth
  * of a millisecond to two minutes, and one for all beyond.
  */
private[observe] object Ladder {
  val uppersMicros: Array[Long] =
    Iterator.from(0).map(step => math.round(100 * math.pow(2, step / 4.0))).takeWhile(_ < 126L * 1000 * 1000).toArray

  def empty(): Array[Long] = new Array[Long](uppersMicros.length + 1)

  /** The bucket of a value. */
  def of(micros: Long): Int = {
    val found = java.util.Arrays.binarySearch(uppersMicros, micros)
    if (found >= 0) found else -found - 1
  }

  def add(tally: Tally, buckets: Array[Long]): Unit =
    tally.values.indices.foreach(at => buckets(of(tally.values(at))) += tally.counts(at))

  def of(histogram: Histogram): Array[Long] = {
    val buckets = empty()
    add(Tally.of(histogram), buckets)
    buckets
  }
}
