"""Inputs and outputs of a run: whole inputs are read within the size limit; a device, pipe, socket, folder, input or
other output of the same run is refused as an output.

A run is one command, or one job of a batch; `running` starts it. Python code that calls `save` or `write` is not in a
run and may replace files that it read.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO

from keyframer.catalogue import IO_CHANGED_DURING_READ, LIMIT_FILE_SIZE
from keyframer.errors import wrong_type
from keyframer.files.member_names import may_be_member
from keyframer.limits import DEFAULT_LIMITS, Limits, add_input

PathLike = str | os.PathLike[str]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class OutputExists(FileExistsError):
    """An output exists and may not be replaced."""

    def __init__(self, target: str) -> None:
        super().__init__(f"{target} exists (pass overwrite=True to replace it)")
        self.target = target


class OutputRefused(OSError):
    """A file that must not be written even if existing files may be replaced; the message names it."""


class Run:
    """The files read and written so far, by device and inode: a file can have several names."""

    def __init__(
        self,
        *,
        is_job: bool,
        writer: str,
        upload: Callable[[str, bytes], None] | None,
        depend_on: Callable[[PathLike], None] | None,
    ) -> None:
        self.is_job = is_job
        """whether this is a job of a batch: an existing output with the same content then counts as written"""
        self.writer = writer
        """part of the names of temporary files, so that `sweep` can tell those of this batch from others"""
        self.upload = upload
        """gets name and content of each output instead of a disk"""
        self.depend_on = depend_on
        """gets the path of each file that an input names, before it is opened"""
        self.inputs: set[tuple[int, int]] = set()
        self.outputs: set[tuple[int, int]] = set()
        self.written: list[tuple[str, str]] = []
        """path and SHA-256 of each output, the main file of a set first"""

    def note_output(self, path: str, sha256: str) -> None:
        self.written.append((path, sha256))
        with suppress(OSError):
            self.outputs.add(_identity(os.stat(path)))


_RUN: ContextVar[Run | None] = ContextVar("_RUN", default=None)


@contextmanager
def running(
    *,
    is_job: bool = False,
    writer: str = "",
    upload: Callable[[str, bytes], None] | None = None,
    depend_on: Callable[[PathLike], None] | None = None,
) -> Iterator[Run]:
    """Start a run: inside this block, files that are read are inputs, which no output may replace.

    ``writer`` is empty or eight hex digits. With ``upload`` nothing is written to disks: it gets the name and the
    content of each output, the named file of a set last. ``depend_on`` gets the files that `read_named` opens.
    """
    run = Run(is_job=is_job, writer=writer, upload=upload, depend_on=depend_on)
    token = _RUN.set(run)
    try:
        yield run
    finally:
        _RUN.reset(token)


def current_run() -> Run | None:
    return _RUN.get()


def note_input(source: PathLike | os.stat_result) -> None:
    """Register a file as an input of the current run, if there is a run; missing files are ignored."""
    run = _RUN.get()
    if run is None:
        return
    try:
        run.inputs.add(_identity(source if isinstance(source, os.stat_result) else os.stat(source)))
    except (OSError, ValueError):  # ValueError: a NUL in a name
        return


def check_output(path: PathLike, *, overwrite: bool) -> None:
    """Raise `OutputRefused` or FileExistsError if the path must not become an output. A link to a regular file may
    be replaced: the link, not the file."""
    target, run = os.fspath(path), _RUN.get()
    if not os.path.lexists(target):
        return
    try:
        status = os.stat(target)
    except OSError:  # a link that leads nowhere
        status = None
    if status is not None:
        if not stat.S_ISREG(status.st_mode):
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "a special file")
            raise OutputRefused(f"{target} is {kind}, not a regular file")
        if run is not None and _identity(status) in run.inputs:
            raise OutputRefused(f"{target} is an input of this run and must not be replaced")
        if run is not None and _identity(status) in run.outputs:
            raise OutputRefused(f"{target} is already an output of this run")
    if not overwrite and not (run is not None and run.is_job):  # a job compares the contents first
        raise OutputExists(target)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


_TO_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)  # Windows changes line ends otherwise
_SHELL_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""beginnings of the paths of ``<(command)`` and other pipes of a shell"""


def read_bytes(source: PathLike | IO[bytes], limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return the whole content of a path or binary stream, and enlarge the open budget by its size. A path may be that
    of a file in a container.

    Raises OSError if the source cannot be read, `FormatError` if it is over the limit or changes meanwhile.
    """
    if isinstance(source, (str, os.PathLike)) and may_be_member(os.fspath(source)):
        return _read_member(os.fspath(source), limits)
    data = _read(source, limits)
    add_input(len(data))
    return data


def read_named(path: PathLike, limits: Limits) -> bytes:
    """Return the content of a file that an input names, and tell the current run about it, even if it is missing.

    Raises OSError and `FormatError` like `read_bytes`, and OSError if it is not a regular file.
    """
    run = current_run()
    if run is not None and run.depend_on is not None:
        run.depend_on(path)
    if not may_be_member(os.fspath(path)) and not stat.S_ISREG(os.stat(path).st_mode):
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


def _read_member(path: str, limits: Limits) -> bytes:
    from keyframer.files.members import place_of

    place = place_of(path)
    if place is None or place.file is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return place.read(limits)


def _read_sized(file: int, size: int) -> bytes:
    """Read a file of ``size`` bytes, and one more byte if it has grown."""
    data = os.read(file, size + 1)
    while len(data) < size and (part := os.read(file, size + 1 - len(data))):  # some network disks return fewer
        data += part
    return data


def _read_at_most(stream: IO[bytes], limits: Limits) -> bytes:
    if not hasattr(stream, "read"):
        raise wrong_type(stream, "a path, a stream open for binary reading, or bytes")
    parts: list[bytes] = []
    size = 0
    while True:
        part = stream.read(1 << 20)
        if not isinstance(part, bytes):
            raise TypeError("expected a binary stream (open the file with mode 'rb')")
        if not part:
            break
        parts.append(part)
        size += len(part)
        check_size(size, limits)
    return b"".join(parts)


def check_writable(stream: object) -> None:
    """Raise TypeError unless this is a stream for writing, ValueError for a text stream."""
    if not hasattr(stream, "write"):
        raise wrong_type(stream, "a path or a stream open for binary writing")
    if isinstance(stream, io.TextIOBase):
        raise ValueError("expected a binary stream (open the file with mode 'wb')")


def check_size(size: int, limits: Limits) -> None:
    """Refuse an input that is larger than the limit."""
    if size > limits.file_size:
        raise LIMIT_FILE_SIZE.failure(0, "/", size=size, limit=limits.file_size)
