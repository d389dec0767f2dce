// SPDX-License-Identifier: Apache-2.0
package headrace.kafka

import headrace.HeadraceException
import org.slf4j.LoggerFactory

/** Records that were there once and cannot be read any more: an error, or with `failOnDataLoss=false` a report. */
private[kafka] object DataLoss {
  private val log = LoggerFactory.getLogger("headrace.kafka.DataLoss")

  def report(failOnDataLoss: Boolean, what: String): Unit =
    if (failOnDataLoss) {
      throw new HeadraceException(
        "KAFKA_DATA_LOSS",
        s"$what Progress in the checkpoint is untouched. If the loss is acceptable, start again with option " +
          "failOnDataLoss=false; else restore the topic or start from a new checkpoint.")
    } else log.warn("{} The query goes on because failOnDataLoss=false.", what)
}
