// SPDX-License-Identifier: Apache-2.0
package headrace.observe

import java.util

/** The key that comes most often, and its share of the records; of a sample, and at least so much. */
private[headrace] final case class BusyKey(key: String, share: Double)

/** Finds the key that comes most often: by a sample of the records, and of that the few keys that may be it ("space saving",
  * Metwally and others, 2005: a key that is new takes the place of the rarest and its count, and that much is not
  * counted as certain).
  *
  * One thread counts; another one may look, and see a count that is a record old.
  */
private[observe] final class BusyKeys {
  import BusyKeys._

  private val keys = new Array[Array[Byte]](Places)
  private val hashes = new Array[Int](Places)
  private val counts = new Array[Int](Places)
  private val doubts = new Array[Int](Places)
  @volatile private var sampled = 0
  private var skip = 1
  private var random = Seed

  def see(key: Array[Byte]): Unit = {
    skip -= 1
    if (skip == 0) {
      // Not every so-manieth: keys may come in turns.
      random = random * 1103515245 + 12345
      // The first ones all: a short epoch with little traffic has no more.
      skip = if (sampled < FewestSampled) 1 else 1 + (random >>> 16) % MostSkipped
      if (sampled == MostSampled) forgetHalf()
      sampled += 1
      if (key != null) count(key)
    }
  }

  private def count(key: Array[Byte]): Unit = {
    val hash = util.Arrays.hashCode(key)
    var at, rarest = 0
    while (at < Places && !(hashes(at) == hash && keys(at) != null && util.Arrays.equals(keys(at), key))) {
      if (counts(at) < counts(rarest)) rarest = at
      at += 1
    }
    if (at < Places) counts(at) += 1
    else {
      keys(rarest) = key
      hashes(rarest) = hash
      doubts(rarest) = counts(rarest)
      counts(rarest) += 1
    }
  }

  // So that what was busy once does not stay it.
  private def forgetHalf(): Unit = {
    var at = 0
    while (at < Places) {
      counts(at) /= 2
      doubts(at) /= 2
      at += 1
    }
    sampled /= 2
  }

  def busiest: Option[BusyKey] = {
    val of = sampled
    val at = keys.indices.maxBy(place => counts(place) - doubts(place))
    Option.when(of >= FewestSampled && keys(at) != null)(
      BusyKey(Tail.text(keys(at)), math.min(1.0, (counts(at) - doubts(at)).toDouble / of)))
  }
}

private object BusyKeys {
  private val Places = 32
  private val MostSkipped = 31
  private val MostSampled = 4096
  // One of fewer says little: the share of a key that makes half of all records would be off by a tenth and more.
  private val FewestSampled = 100
  private val Seed = 17
}
