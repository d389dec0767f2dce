// SPDX-License-Identifier: Apache-2.0
package headrace.commit

import headrace.HeadraceException

/** What the sink promises. */
private[headrace] sealed abstract class Delivery(val name: String, val defaultIntervalMs: Long) extends Serializable

private[headrace] object Delivery {
  case object AtLeastOnce extends Delivery("at-least-once", 1000)

  /** Results can be seen when they are committed, so that must be soon. */
  case object ExactlyOnce extends Delivery("exactly-once", 50)

  val All: Seq[Delivery] = Seq(AtLeastOnce, ExactlyOnce)

  def refusal(reason: String): HeadraceException = new HeadraceException(
    "EXACTLY_ONCE_IMPOSSIBLE",
    s"This query cannot deliver exactly once: $reason. It ends before its first record; nothing was read or written. Take out " +
      "the option 'delivery' for at-least-once delivery, or change the query.",
    Map("reason" -> reason))
}
