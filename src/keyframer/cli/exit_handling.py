"""Exit codes, and how a run ends when it does not end by itself."""

from __future__ import annotations

import errno
import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

FINE = 0
FINDINGS = 1
"""findings at or above ``--fail-on``, a difference, something repaired or lost"""
USAGE = 2
NOT_ALL_DONE = 3
"""some inputs could not be done"""
INTERNAL = 4
INTERRUPTED = 130
PIPE_CLOSED = 141
"""as a shell says it of programs that SIGPIPE ends"""

CODES = {
    FINE: "fine",
    FINDINGS: "findings at or above --fail-on, a difference, something repaired or lost",
    USAGE: "wrong usage",
    NOT_ALL_DONE: "some inputs could not be done, or stdout could not be written",
    INTERNAL: "internal error (please report it; KEYFRAMER_DEBUG=1 shows where)",
    INTERRUPTED: "stopped by Ctrl-C",
    PIPE_CLOSED: "whoever read the output has gone (no message)",
}


class _PipeClosed(BaseException):
    """Whoever read our output has gone. Not an Exception: no command takes it for a failure of the file at hand."""


class _Stream(io.FileIO):
    """stdout or stderr. After the first failure what comes is dropped, so that the command can go on with the rest."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while self.failure is None and rest:
                written = super().write(rest)
                if written is None:
                    _wait_for(self)
                else:
                    rest = rest[written:]
        except OSError as error:
            self.failure = error
            if error.errno == errno.EPIPE and self.fileno() == 1:
                raise _PipeClosed from None
        return size


def _wait_for(stream: _Stream) -> None:
    """A descriptor that somebody made non-blocking takes nothing for the moment."""
    from select import select

    select((), (stream,), ())


def guarded(run: Callable[[Sequence[str] | None], int], arguments: Sequence[str] | None) -> int:
    """Run, and turn what may go wrong outside of any file into an exit code; never a traceback."""
    _fill_descriptors()
    before = sys.stdout, sys.stderr
    stdout, stderr = _take_over(sys.stdout, 1), _take_over(sys.stderr, 2)
    sys.stdout, sys.stderr = stdout, stderr
    try:
        code = _run(run, arguments)
        stdout.flush()
        return code if not _has_failed(stdout) or code not in (FINE, FINDINGS) else NOT_ALL_DONE
    except _PipeClosed:
        return PIPE_CLOSED
    finally:
        stderr.flush()
        sys.stdout, sys.stderr = before


def _has_failed(stdout: Any) -> bool:
    """Whether not everything reached stdout; says so."""
    buffer = getattr(stdout, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    if not isinstance(raw, _Stream) or raw.failure is None:
        return False
    from keyframer.cli.messages import failure
    from keyframer.errors import FormatError

    reason = f"cannot be written: {raw.failure.strerror or raw.failure}"
    failure("<stdout>", FormatError("RUN_OUTPUT_REFUSED", 0, "/", reason))
    return True


def _run(run: Callable[[Sequence[str] | None], int], arguments: Sequence[str] | None) -> int:
    try:
        return run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("KEYFRAMER_DEBUG"):
            raise
        from keyframer.text import safe_text

        print(
            f"keyframer: internal error: {type(error).__name__}: {safe_text(str(error))[:500]} "
            "(please report it; KEYFRAMER_DEBUG=1 shows where)",
            file=sys.stderr,
        )
        return INTERNAL


def _fill_descriptors() -> None:
    """Open what was closed before we were started (``>&-``), else an output file would get its number.

    What stands for stdout cannot be written; stderr goes nowhere; stdin is empty.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    for number, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), "utf-8")
    sys.stderr = sys.stderr or io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w", closefd=False)), "utf-8")


def _take_over(stream: Any, number: int) -> Any:
    """The stream with `_Stream` below it; one that does not lead to this descriptor stays where it is."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is no buffer between
    if type(raw) is not io.FileIO or raw.fileno() != number:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        return stream
    stream.flush()
    below: Any = _Stream(number, "w", closefd=False)
    return io.TextIOWrapper(
        below if raw is buffer else io.BufferedWriter(below),
        stream.encoding,
        "backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
