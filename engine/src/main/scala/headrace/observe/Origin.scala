// SPDX-License-Identifier: Apache-2.0
package headrace.observe

/** When the record was created and read that a row comes from. Immutable, so it may wait in any queue beside its row. */
private[headrace] trait Origin {
  /** Its producer's time, or `Origin.Unknown` where the broker has put its own in its place. */
  def creationMs: Long

  /** When the source handed it on. */
  def readMicros: Long

  /** When the row entered this stage. */
  def enteredMicros: Long

  /** The partition it was read from, if it was read in this task. */
  def partition: PartitionMeter = null
}

private[headrace] object Origin {
  val Unknown: Long = Long.MinValue

  /** Of a row that was read elsewhere: before a shuffle, or on the other side of a function that mixes rows. */
  final class Carried(val creationMs: Long, val readMicros: Long, val enteredMicros: Long) extends Origin

  /** Of a row that no record has brought about: a timer has, or the end of the epoch. */
  object Timer extends Origin {
    override def creationMs: Long = Unknown
    override def readMicros: Long = Unknown
    override def enteredMicros: Long = Unknown
  }

  /** The same, without the record itself: for rows of which nobody can tell whether they are of exactly this one. */
  def carried(origin: Origin): Origin = origin match {
    case null | Timer => origin
    case known => new Carried(known.creationMs, known.readMicros, known.enteredMicros)
  }
}
