// SPDX-License-Identifier: Apache-2.0
package headrace.observe

/** Why a run has failed.
  *
  * @param message whole, with what to do about it
  */
private[observe] final case class Failure(condition: Option[String], message: String)

private[observe] object Failure {
  // A stack trace begins with a line of its own.
  private val Ours = "(?s)headrace\\.HeadraceException: \\[([A-Z0-9_]+)\\] (.*?)(?=\\n\\s+at |\\nCaused by: |\\z)".r
  private val First = "(?s)\\A(?:[\\w.$]+: )?(?:\\[([A-Z0-9_.]+)\\] )?(.*?)(?=\\n\\s+at |\\nCaused by: |\\z)".r

  /** Finds the error that says most in the text of a chain of them: ours, else the first. */
  def of(text: String): Failure = Ours.findFirstMatchIn(text).orElse(First.findFirstMatchIn(text)).fold(
    Failure(None, text))(found => Failure(Option(found.group(1)), found.group(2).trim))
}
