// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import java.io.IOException

import org.apache.spark.SparkException
import org.apache.spark.api.python.{PythonException, PythonWorkerException}

/** What Spark throws when Python fails.
  *
  * Reaches into Spark: `PythonException` carries the traceback of a user's function and is private to Spark's package. A
  * worker that ended is a `SparkException` whose cause is an `IOException`, thrown in `BasePythonRunner.handleException`;
  * those of disks, which pass here too, have a condition.
  */
object PythonFailures {
  /** A user's function raised an exception. */
  object Raised {
    def unapply(failure: Throwable): Option[String] = failure match {
      case raised: PythonException => Some(Option(raised.getMessage).getOrElse("").trim)
      case _ => None
    }
  }

  /** The process that ran a user's function is gone. */
  object Lost {
    def unapply(failure: Throwable): Option[String] = failure match {
      case lost: PythonWorkerException => Some(lost.getMessage)
      case lost: SparkException if lost.getCondition == null && lost.getCause.isInstanceOf[IOException] =>
        Some(lost.getMessage)
      case _ => None
    }
  }
}
