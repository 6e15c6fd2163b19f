"""Reads whole inputs within the size limit."""

from __future__ import annotations

import errno
import os
import stat
from typing import IO

from keyframer.catalogue import IO_CHANGED_DURING_READ, LIMIT_FILE_SIZE
from keyframer.files.output_checks import PathLike, current_run, note_input
from keyframer.limits import DEFAULT_LIMITS, Limits, add_input

_TO_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)  # Windows changes line ends otherwise
_SHELL_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""beginnings of the paths of ``<(command)`` and other pipes of a shell"""


def read_bytes(source: PathLike | IO[bytes], limits: Limits = DEFAULT_LIMITS, packed: int | None = None) -> bytes:
    """Return the whole content of a path or binary stream, and enlarge the open budget by its size.

    ``packed`` is the size of an archive member in its archive: the budget grows with that size, not with the unpacked
    one. Raises OSError if the source cannot be read, `FormatError` if it is over the limit or changes meanwhile.
    """
    data = _read(source, limits)
    add_input(len(data) if packed is None else packed)
    return data


def read_named(path: PathLike, limits: Limits) -> bytes:
    """Return the content of a file that an input names, and tell the current run about it, even if it is missing.

    Raises OSError and `FormatError` like `read_bytes`, and OSError if it is not a regular file.
    """
    run = current_run()
    if run is not None and run.depend_on is not None:
        run.depend_on(path)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    return read_bytes(path, limits)


def is_endless(path: PathLike) -> bool:
    """Return whether reading a path may never end: it is neither a regular file nor a pipe of the shell."""
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
        if current_run() is not None and is_endless(source):  # outside a run, Python code may wait for any pipe
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(source))
        name = os.fspath(source)
        file = os.open(name, _TO_READ)  # making a stream would take as long as reading a small file
        try:
            before = os.fstat(file)
            if stat.S_ISDIR(before.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
            note_input(before)
            size = before.st_size
            check_size(size, limits)
            if not size:  # pipes and /proc entries report 0
                with open(file, "rb", buffering=0, closefd=False) as stream:
                    return _read_at_most(stream, limits)
            data = _read_sized(file, size)
            after = os.fstat(file)
        finally:
            os.close(file)
        if len(data) != size or before.st_mtime_ns != after.st_mtime_ns:
            raise IO_CHANGED_DURING_READ.failure(0, "/")
        return data
    return _read_at_most(source, limits)


def _read_sized(file: int, size: int) -> bytes:
    """Read a file of ``size`` bytes, and one more byte if it has grown."""
    data = os.read(file, size + 1)
    while len(data) < size and (part := os.read(file, size + 1 - len(data))):  # some network disks return fewer
        data += part
    return data


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
