// SPDX-License-Identifier: Apache-2.0
package headrace.checkpoint

import java.io.{File, FileNotFoundException, IOException}
import java.nio.file.{Files, FileSystemException, Path => LocalPath}
import java.nio.file.attribute.{FileTime, PosixFileAttributeView, UserPrincipal}
import java.util.{Map => JMap}
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{FileStatus, FSLinkResolver, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/** Local files without checksums: overrides exactly what Hadoop starts a process for.
  *
  * That is `chmod`, `chown`, `ls` and `readlink`; Hadoop calls the first for every file and folder that it makes. What can be
  * seen of a file is the same. (`ln`, for links, is left: Hadoop refuses to make any unless told otherwise.)
  */
private[headrace] final class RawLocalFiles extends RawLocalFileSystem {
  import RawLocalFiles._

  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val file = local(path)
    val mode = permission.toShort.toInt
    // chmod leaves a folder the bits by which what is made in it belongs to the folder's group, unless they are spelt out.
    val kept = if (Files.isDirectory(file)) attributes(path, "mode").get("mode").asInstanceOf[Int] & KeptOfFolders else 0
    Files.setAttribute(file, "unix:mode", mode | kept): Unit
  }

  override def setOwner(path: Path, user: String, group: String): Unit = {
    if (user == null && group == null) throw new IOException(s"Neither an owner nor a group was given for $path.")
    val file = local(path)
    val view = Files.getFileAttributeView(file, classOf[PosixFileAttributeView])
    val names = file.getFileSystem.getUserPrincipalLookupService
    // The group first: who has given a file away cannot change it any more.
    if (group != null) view.setGroup(names.lookupPrincipalByGroupName(group))
    if (user != null) view.setOwner(names.lookupPrincipalByName(user))
  }

  override def getFileStatus(path: Path): FileStatus = {
    val found = attributes(path, "size,isDirectory,lastModifiedTime,lastAccessTime,mode,uid,gid")
    def time(name: String): Long = found.get(name).asInstanceOf[FileTime].toMillis
    new FileStatus(
      found.get("size").asInstanceOf[Long],
      found.get("isDirectory").asInstanceOf[Boolean],
      1,
      getDefaultBlockSize(path),
      time("lastModifiedTime"),
      time("lastAccessTime"),
      new FsPermission((found.get("mode").asInstanceOf[Int] & Permissions).toShort),
      nameOf(path, users, found.get("uid").asInstanceOf[Int], "owner"),
      nameOf(path, groups, found.get("gid").asInstanceOf[Int], "group"),
      new Path(pathToFile(path).getPath).makeQualified(getUri, getWorkingDirectory))
  }

  /** Of a file that is no folder, Hadoop would return a status that asks `ls` for its owner. */
  override def listStatus(path: Path): Array[FileStatus] =
    if (pathToFile(path).isDirectory) super.listStatus(path) else Array(getFileStatus(path))

  override def getFileLinkStatus(path: Path): FileStatus = linkTarget(path).fold(getFileStatus(path)) { target =>
    val status = linkStatus(path, target)
    status.setSymlink(FSLinkResolver.qualifySymlinkTarget(getUri, status.getPath, target))
    status
  }

  override def getLinkTarget(path: Path): Path =
    linkTarget(path).getOrElse(getFileStatus(path).getSymlink)

  private def linkStatus(link: Path, target: Path): FileStatus =
    try {
      val of = getFileStatus(link)
      new FileStatus(
        of.getLen, false, of.getReplication.toInt, of.getBlockSize, of.getModificationTime, of.getAccessTime, of.getPermission,
        of.getOwner, of.getGroup, target, link)
    } catch {
      // A link to nothing.
      case _: FileNotFoundException => new FileStatus(0, false, 0, 0, 0, 0, FsPermission.getDefault, "", "", target, link)
    }

  /** As in Hadoop, the name is taken as it is: one with a scheme is never found to be a link. */
  private def linkTarget(path: Path): Option[Path] = {
    val named = new File(path.toString).toPath
    Option.when(Files.isSymbolicLink(named))(new Path(Files.readSymbolicLink(named).toString))
  }

  private def local(path: Path): LocalPath = pathToFile(path).toPath

  private def attributes(path: Path, names: String): JMap[String, AnyRef] =
    try Files.readAttributes(local(path), s"unix:$names")
    catch {
      case e: FileSystemException =>
        val missing = new FileNotFoundException(s"File $path does not exist")
        missing.initCause(e)
        throw missing
    }

  /** Number and name are read together, so that the cache cannot mix up two owners of one file. */
  private def nameOf(path: Path, known: ConcurrentHashMap[Int, String], number: Int, kind: String): String =
    Option(known.get(number)).getOrElse {
      val read = attributes(path, "uid,gid,owner,group")
      val name = read.get(kind).asInstanceOf[UserPrincipal].getName
      known.put(read.get(if (kind == "owner") "uid" else "gid").asInstanceOf[Int], name)
      name
    }
}

private[headrace] object RawLocalFiles {
  /** All that Hadoop knows of a mode: who may what, and the sticky bit. */
  private val Permissions = Integer.parseInt("1777", 8)
  private val KeptOfFolders = Integer.parseInt("6000", 8)

  // The system may ask the network for a name; owners of files are few, and keep theirs.
  private val users = new ConcurrentHashMap[Int, String]()
  private val groups = new ConcurrentHashMap[Int, String]()
}
