// SPDX-License-Identifier: Apache-2.0
package headrace.guard

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import headrace.HeadraceException

/** One line of the table of what real-time mode runs.
  *
  * @param condition the error's name, for callers to match
  * @param what the feature, in the user's words
  * @param classes Spark's classes that stand for it
  */
private[guard] final case class Rule(
    condition: String,
    what: String,
    classes: Set[String],
    allowed: Boolean,
    reason: String,
    instead: String) {

  def refusal(where: String): HeadraceException = new HeadraceException(
    condition,
    s"$what cannot run in real-time mode ($where): $reason The query did not start, nothing was read or written. $instead",
    Map("what" -> what, "where" -> where))
}

/** What the table says of one part of a query. */
private[guard] final case class Finding(where: String, rule: Rule) {
  def refusal: HeadraceException = rule.refusal(where)
}

/** The table itself: a resource, because the docs and the command line show it too. */
private[guard] object Rules {
  private val all: Seq[Rule] = {
    val stream = getClass.getResourceAsStream("/headrace/rules.json")
    try new ObjectMapper().readTree(stream).get("rules").elements().asScala.map(rule).toSeq
    finally stream.close()
  }

  private def rule(node: JsonNode): Rule = Rule(
    node.get("condition").asText(),
    node.get("what").asText(),
    node.get("classes").elements().asScala.map(_.asText()).toSet,
    node.get("headrace").asText() == "yes",
    node.path("reason").asText(""),
    node.path("instead").asText(""))

  def find(className: String): Option[Rule] = all.find(_.classes.contains(className))

  def ofSink(className: String): Rule = find(className).getOrElse(named("SINK_UNKNOWN").copy(what = s"The sink $className"))

  def named(condition: String): Rule =
    all.find(_.condition == condition).getOrElse(throw new IllegalStateException(s"rules.json has no rule $condition"))
}
