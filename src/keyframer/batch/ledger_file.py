"""The file of a ledger: locked by one run at a time, and readable in read-only folders."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile

LOCK = ".lock"
"""the ending of the file that is held, beside the ledger"""


class Held(Exception):
    """Another run is at work."""


def hold(path: str) -> int | None:
    """Hold the output folder for one run; the system lets go of it when the process ends, however it ends."""
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    for name in (path, path + LOCK):
        if os.path.lexists(name) and not stat.S_ISREG(os.lstat(name).st_mode):  # a link may lead to anything
            raise OSError(errno.EINVAL, f"{name} is not a regular file")
    try:
        import fcntl
    except ImportError:  # Windows: SQLite's own locks keep the ledger whole
        return None
    descriptor = os.open(path + LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Held(f"another run is at work in this folder ({path} is in use)") from None
    except OSError:  # a disk without locks
        pass
    return descriptor


def copy_to_read(path: str) -> tempfile.TemporaryDirectory[str] | None:
    """A folder with a copy, called ``ledger``, where the disk is read-only; None where it is not.

    SQLite writes beside what it reads. The log of a run that was killed comes along: it has the last rows.
    """
    if os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
        return None
    folder = tempfile.TemporaryDirectory(prefix="keyframer-")
    try:
        for ending in ("", "-wal"):
            if os.path.exists(path + ending):
                shutil.copyfile(path + ending, os.path.join(folder.name, "ledger" + ending))
    except OSError:
        folder.cleanup()
        raise
    return folder
