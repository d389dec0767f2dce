// SPDX-License-Identifier: Apache-2.0
package org.apache.spark.sql.headrace

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.PosixFilePermissions
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.SparkEnv
import org.apache.spark.util.Utils

/** What Spark starts in the place of Python for the workers of real-time queries: Python, with our part of the worker.
  *
  * That part lies inside this very jar, which every executor has, and Python can import from a jar. Workers of other
  * queries are started as ever.
  *
  * Reaches into Spark: `Utils.getLocalDir` is a folder that goes away with the executor. That a runner's `pythonExec` is
  * run as `pythonExec -m module` stands in `PythonWorkerFactory`.
  */
private[headrace] object WorkerLauncher {
  private val launchers = new ConcurrentHashMap[String, String]()

  private lazy val jar = Paths.get(getClass.getProtectionDomain.getCodeSource.getLocation.toURI).toString

  /** The launcher for an interpreter, on this executor. */
  def of(python: String): String = launchers.compute(
    python,
    // Another application in this JVM has taken its local folder with it.
    (_, known) => if (known != null && Files.exists(Paths.get(known))) known else write(python).toString)

  private def write(python: String): Path = {
    val folder = Files.createTempDirectory(Paths.get(Utils.getLocalDir(SparkEnv.get.conf)), "headrace-worker-")
    val launcher = folder.resolve("python")
    val start = s"import sys; sys.path.append(${pythonText(jar)}); from headrace_worker.start import main; main()"
    Files.write(launcher, s"#!/bin/sh\nexec ${shellText(python)} -c ${shellText(start)} \"$$@\"\n".getBytes(UTF_8))
    Files.setPosixFilePermissions(launcher, PosixFilePermissions.fromString("rwxr-xr-x"))
  }

  private def pythonText(text: String): String = "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\""

  private def shellText(text: String): String = "'" + text.replace("'", "'\\''") + "'"
}
