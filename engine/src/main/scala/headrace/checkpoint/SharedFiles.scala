// SPDX-License-Identifier: Apache-2.0
package headrace.checkpoint

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileSystem
import org.apache.spark.SparkConf

/** The local file system that everybody in a JVM shares.
  *
  * Hadoop makes it once, by the settings of whoever asks first, and that is spark-submit: it looks for the jars of the
  * application before it can load a class from them. So the class cannot be a setting that spark-submit gets to see, and once
  * the application runs, the one that is there must make room.
  *
  * Reaches into Spark: `RocksDBFileManager`, which takes the shared file system for snapshots of state.
  */
private[headrace] object SharedFiles {
  private val Prefix = "spark.hadoop."
  private val Class = "fs.file.impl"

  /** Makes the shared file system ours, unless the user has named one. */
  def settle(settings: SparkConf): Unit = {
    val conf = new Configuration()
    settings.getAllWithPrefix(Prefix).foreach { case (key, value) => conf.set(key, value) }
    val wanted = conf.getTrimmed(Class, "").isEmpty
    if (wanted) {
      conf.setClass(Class, classOf[LocalFiles], classOf[FileSystem])
      conf.setClassLoader(classOf[LocalFiles].getClassLoader)
    }
    val shared = FileSystem.get(LocalFiles.Root, conf)
    if (shared.isInstanceOf[LocalFiles] != wanted) {
      // Takes it out of Hadoop's cache. Whoever still holds it can go on using it: it keeps nothing open.
      shared.close()
      FileSystem.get(LocalFiles.Root, conf): Unit
    }
  }
}
