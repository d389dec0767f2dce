// SPDX-License-Identifier: Apache-2.0
package headrace.probe

import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileSystem

/** The local file system that everybody in a JVM shares; to be called in SQL, which runs it on the executors. */
object SharedClass {
  def name(): String = FileSystem.get(URI.create("file:///"), new Configuration()).getClass.getName
}
