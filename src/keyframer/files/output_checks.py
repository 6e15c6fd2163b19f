"""What may become an output: no device, pipe, socket or folder, no input of the same run, no other output of it.

A run is what begins with `running`: a command, or a job of a batch. Python code that calls `save` or `write` is in no
run; it may replace what it read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from keyframer.files.disk import OutputExists, PathLike

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class OutputRefused(OSError):
    """A file that must not be written, whether or not existing files may be replaced; the message names it."""


class Run:
    """Files that were read and written so far, known by device and number: names and links may be many."""

    def __init__(self) -> None:
        self.inputs: set[tuple[int, int]] = set()
        self.outputs: set[tuple[int, int]] = set()


_RUN: ContextVar[Run | None] = ContextVar("_RUN", default=None)


@contextmanager
def running() -> Iterator[Run]:
    """Until the end of this block, what is read is an input, and no output takes the place of one."""
    run = Run()
    token = _RUN.set(run)
    try:
        yield run
    finally:
        _RUN.reset(token)


def current_run() -> Run | None:
    return _RUN.get()


def note_input(source: PathLike | os.stat_result) -> None:
    """Remember a file as an input of the run, if there is a run; a name that leads nowhere is none."""
    run = _RUN.get()
    if run is None:
        return
    try:
        run.inputs.add(_identity(source if isinstance(source, os.stat_result) else os.stat(source)))
    except (OSError, ValueError):  # ValueError: a NUL in a name
        return


def note_output(path: str, run: Run | None) -> None:
    if run is not None:
        with suppress(OSError):
            run.outputs.add(_identity(os.stat(path)))


def check_output(path: PathLike, *, overwrite: bool, run: Run | None = None) -> None:
    """Raise `OutputRefused` or FileExistsError if the path must not become an output. A link to an ordinary file may
    be replaced: the link, not the file."""
    target = os.fspath(path)
    if not os.path.lexists(target):
        return
    try:
        there = os.stat(target)
    except OSError:  # a link that leads nowhere
        there = None
    if there is not None:
        if not stat.S_ISREG(there.st_mode):
            kind = _KINDS.get(stat.S_IFMT(there.st_mode), "something else")
            raise OutputRefused(f"{target} is {kind}, not a regular file")
        run = run or _RUN.get()
        if run is not None and _identity(there) in run.inputs:
            raise OutputRefused(f"{target} is an input of this run: an output never replaces one")
        if run is not None and _identity(there) in run.outputs:
            raise OutputRefused(f"{target} is already an output of this run")
    if not overwrite:
        raise OutputExists(target)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
