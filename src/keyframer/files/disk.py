"""The steps on the disk that writing is made of: temporary files, locks, renames."""

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
"""seconds: without locks, a temporary file this old has no writer any more"""


def temporary_name(target: str) -> str:
    """A short random name beside the target, so that it fits beside names of any legal length."""
    return os.path.join(os.path.dirname(target), f".kf-{os.urandom(6).hex()}")


def open_temporary(target: str) -> tuple[IO[bytes], str]:
    """A new file beside the target, locked for as long as it is open: that is how `is_abandoned` knows it is in use.

    Where it will replace something, only its writer can read it until it has the permissions of what it replaces.
    """
    mode = 0o600 if os.path.exists(target) else 0o666
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        path = temporary_name(target)
        descriptor = os.open(path, flags, mode)
        lock(descriptor, wait=True)
        if os.path.lexists(path):  # else somebody swept it before it was locked
            return os.fdopen(descriptor, "wb"), path
        os.close(descriptor)


def lock(descriptor: int, *, wait: bool) -> bool:
    """Whether the lock on an open file is ours now; it ends when the file is closed, or with the process."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # somebody else has it, or the disk knows no locks
        return False
    return True


def is_abandoned(descriptor: int, older_than: float = 0.0) -> bool:
    """Whether nobody writes this file any more; where that is so and locks are known, the lock is ours."""
    age = time.time() - os.fstat(descriptor).st_mtime
    return age >= older_than if lock(descriptor, wait=False) else fcntl is None and age >= _ABANDONED


_ACCESS_LIST = "system.posix_acl_access"


def keep_permissions(descriptor: int, target: str) -> None:
    """Give an open file owner, group, mode and access list of the file that it will replace, if there is one.

    PermissionError where that is not allowed: a file never changes hands in silence.
    """
    try:
        wanted = os.stat(target)
    except OSError:  # a new file, or a link that leads nowhere
        return
    if os.name != "posix":
        return
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (wanted.st_uid, wanted.st_gid):
        try:
            os.fchown(descriptor, wanted.st_uid, wanted.st_gid)
        except PermissionError:
            raise PermissionError(1, "it belongs to another user or group, and that cannot be kept") from None
    if hasattr(os, "getxattr"):  # before the mode, which decides how much of a list is in force
        _keep_access_list(descriptor, target)
    os.fchmod(descriptor, stat.S_IMODE(wanted.st_mode))


def _keep_access_list(descriptor: int, target: str) -> None:
    try:
        wanted = os.getxattr(target, _ACCESS_LIST)
    except OSError:  # it has none; the new file may have got one from its folder
        with suppress(OSError):
            os.removexattr(descriptor, _ACCESS_LIST)
    else:
        os.setxattr(descriptor, _ACCESS_LIST, wanted)


def rename_new(temporary: str, target: str) -> None:
    """Give the file its name unless somebody else took it meanwhile (FileExistsError)."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise OutputExists(target) from None
    except OSError:  # no hard links here (FAT, some network disks): a last look, then rename
        if os.path.lexists(target):
            raise OutputExists(target) from None
        os.replace(temporary, target)
    else:
        with suppress(OSError):  # it has its name; a second one is swept by the next run
            os.unlink(temporary)


class OutputExists(FileExistsError):
    """Something has the name of an output, and may not be replaced."""

    def __init__(self, target: str) -> None:
        super().__init__(f"{target} exists (pass overwrite=True to replace it)")
        self.target = target


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
    """The SHA-256 of an ordinary file; None where there is none, or none that we may read."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
