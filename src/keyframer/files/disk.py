"""Temporary files, locks and renames: the file system operations of writing."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from contextlib import suppress
from typing import IO

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]

TEMPORARY = re.compile(r"\.kf-[0-9a-f]{12}")
"""names of files that are being written"""
_ABANDONED = 600.0
"""seconds: without locks, the writer of a temporary file this old is considered gone"""


def temporary_name(target: str) -> str:
    """Return a short random name in the folder of the target, valid for targets of any length."""
    return os.path.join(os.path.dirname(target), f".kf-{os.urandom(6).hex()}")


def open_temporary(target: str) -> tuple[IO[bytes], str]:
    """Open a new file in the folder of the target, locked while it is open so that `is_abandoned` knows it is in use.

    If it will replace a file, only its owner can read it until it gets the permissions of that file.
    """
    mode = 0o600 if os.path.exists(target) else 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        path = temporary_name(target)
        descriptor = os.open(path, flags, mode)
        lock(descriptor, wait=True)
        if os.path.lexists(path):  # else another process removed it before it was locked
            return os.fdopen(descriptor, "wb"), path
        os.close(descriptor)


def lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file and return whether that succeeded; closing the file or ending the process unlocks it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another process has it, or the disk does not support locks
        return False
    return True


def is_abandoned(descriptor: int, older_than: float = 0.0) -> bool:
    """Return whether the writer of this file is gone and the file is at least ``older_than`` seconds old; if so, we
    have locked it where locks are supported."""
    age = time.time() - os.fstat(descriptor).st_mtime
    return age >= older_than if lock(descriptor, wait=False) else fcntl is None and age >= _ABANDONED


_ACCESS_LIST = "system.posix_acl_access"


def keep_permissions(descriptor: int, target: str) -> None:
    """Give an open file the owner, group, mode and access list of the file that it will replace, if there is one.

    Raises PermissionError if that is not allowed: the owner of a file never changes silently.
    """
    try:
        wanted = os.stat(target)
    except OSError:  # a new file, or a link that leads nowhere
        return
    if os.name != "posix":
        return
    current = os.fstat(descriptor)
    if (current.st_uid, current.st_gid) != (wanted.st_uid, wanted.st_gid):
        try:
            os.fchown(descriptor, wanted.st_uid, wanted.st_gid)
        except PermissionError:
            raise PermissionError(1, "its owner or group cannot be preserved") from None
    if hasattr(os, "getxattr"):  # before the mode, which limits the rights that the list grants
        _keep_access_list(descriptor, target)
    os.fchmod(descriptor, stat.S_IMODE(wanted.st_mode))


def _keep_access_list(descriptor: int, target: str) -> None:
    try:
        wanted = os.getxattr(target, _ACCESS_LIST)
    except OSError:  # the target has no list; the new file may have got one from its folder
        with suppress(OSError):
            os.removexattr(descriptor, _ACCESS_LIST)
    else:
        os.setxattr(descriptor, _ACCESS_LIST, wanted)


def rename_new(temporary: str, target: str) -> None:
    """Rename a file; raises FileExistsError if the target exists by now."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise OutputExists(target) from None
    except OSError:  # no hard links here (FAT, some network disks): check once more, then rename
        if os.path.lexists(target):
            raise OutputExists(target) from None
        os.replace(temporary, target)
    else:
        with suppress(OSError):  # the target exists; the next run removes the temporary name
            os.unlink(temporary)


class OutputExists(FileExistsError):
    """An output exists and may not be replaced."""

    def __init__(self, target: str) -> None:
        super().__init__(f"{target} exists (pass overwrite=True to replace it)")
        self.target = target


def start_writeback(descriptor: int) -> None:
    """Let the system start to write the file to the disk, without waiting for it: syncing several files then takes
    about as long as syncing one.
    """
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):  # not a file of a disk
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)  # Linux begins to write the pages at once


def sync_folder(folder: str) -> None:
    """Make new names durable; only POSIX systems can open a folder."""
    if os.name != "posix":
        return
    with suppress(OSError):  # a folder without read permission, a network disk: the file itself is already durable
        descriptor = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def digest_of(path: str) -> str | None:
    """Return the SHA-256 of a file; None if it does not exist, is not a regular file or may not be read."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
