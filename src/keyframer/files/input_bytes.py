"""Reading inputs whole, within the limit of their size."""

from __future__ import annotations

import errno
import os
import stat
from typing import IO

from keyframer.catalogue import IO_CHANGED_DURING_READ, LIMIT_FILE_SIZE
from keyframer.files.disk import PathLike
from keyframer.files.output_checks import current_run, note_input
from keyframer.limits import DEFAULT_LIMITS, Limits, feed

_SHELL_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""where ``<(command)`` and redirections of a shell are found"""


def read_bytes(source: PathLike | IO[bytes], limits: Limits = DEFAULT_LIMITS, packed: int | None = None) -> bytes:
    """The whole content of a path or of a binary stream; the budget that is open grows with it.

    ``packed`` is how many bytes it takes in its archive: these are its input, not what they become. Raises OSError
    where the system does, `FormatError` where the content is over the limit or changed meanwhile.
    """
    data = _read(source, limits)
    feed(len(data) if packed is None else packed)
    return data


def is_endless(path: PathLike) -> bool:
    """Return whether a path leads to a device or a named pipe, which may never end; pipes of the shell do end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # reported when it is opened
        return False
    if stat.S_ISREG(mode):
        return False
    from_shell = os.path.abspath(path).startswith(_SHELL_PIPES)
    return not (from_shell and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)))


def _read(source: PathLike | IO[bytes], limits: Limits) -> bytes:
    if isinstance(source, (str, os.PathLike)):
        if current_run() is not None and is_endless(source):  # Python code may wait for whom it likes
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(source))
        with open(source, "rb", buffering=0) as stream:  # read at once: a buffer takes as long to make as a small file
            before = os.fstat(stream.fileno())
            note_input(before)
            check_size(before.st_size, limits)
            sized = before.st_size > 0  # pipes and /proc entries say 0
            data = stream.read() if sized else _read_at_most(stream, limits)
            after = os.fstat(stream.fileno())
        if sized and (len(data) != before.st_size or before.st_mtime_ns != after.st_mtime_ns):
            raise IO_CHANGED_DURING_READ.failure(0, "/")
        return data
    return _read_at_most(source, limits)


def _read_at_most(stream: IO[bytes], limits: Limits) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := stream.read(1 << 20):
        if not isinstance(part, bytes):
            raise TypeError("expected a binary stream (open the file with mode 'rb')")
        parts.append(part)
        size += len(part)
        check_size(size, limits)
    return b"".join(parts)


def check_size(size: int, limits: Limits) -> None:
    """Refuse an input that is larger than the limit."""
    if size > limits.file_size:
        raise LIMIT_FILE_SIZE.failure(0, "/", size=size, limit=limits.file_size)
