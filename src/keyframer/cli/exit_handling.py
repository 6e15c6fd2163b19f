"""Exit codes, and the handling of closed pipes, interrupts and internal errors."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING

from keyframer.cli.messages import failure
from keyframer.errors import FormatError
from keyframer.text import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

SUCCESS = 0
FINDINGS = 1
"""issues at or above ``--fail-on``, a difference, or parts left out by ``--salvage``"""
USAGE = 2
INPUTS_FAILED = 3
"""some inputs failed, or are not finished because the cluster of ``batch`` was lost"""
INTERNAL = 4
INTERRUPTED = 130
PIPE_CLOSED = 141
"""the code that shells report for programs ended by SIGPIPE"""

CODES = {
    SUCCESS: "success",
    FINDINGS: "issues at or above --fail-on, a difference, or parts left out by --salvage",
    USAGE: "wrong usage",
    INPUTS_FAILED: "some inputs failed or could not be processed, or stdout could not be written",
    INTERNAL: "internal error (please report it; KEYFRAMER_DEBUG=1 shows the traceback)",
    INTERRUPTED: "interrupted by Ctrl-C",
    PIPE_CLOSED: "the reader of the output closed the pipe (no message)",
}


class _PipeClosed(BaseException):
    """The reader of stdout closed the pipe. Not an Exception, so that no command takes it for a failure of a file."""


class _Stream(io.FileIO):
    """stdout or stderr. After the first failure further output is dropped, so that the command can continue."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        remaining = memoryview(data).cast("B")
        size = len(remaining)
        try:
            while self.failure is None and remaining:
                written = super().write(remaining)
                if written is None:
                    _wait_for(self)
                else:
                    remaining = remaining[written:]
        except OSError as error:
            self.failure = error
            if error.errno == errno.EPIPE and self.fileno() == 1:
                raise _PipeClosed from None
        return size


def _wait_for(stream: _Stream) -> None:
    """Wait until a non-blocking descriptor accepts output."""
    from select import select

    select((), (stream,), ())


def run_guarded(run: Callable[[Sequence[str] | None], int], arguments: Sequence[str] | None) -> int:
    """Run a command and turn failures that are not caused by a file into an exit code. There is a traceback only if
    ``KEYFRAMER_DEBUG`` is set.
    """
    _reopen_closed_streams()
    original = sys.stdout, sys.stderr
    stdout, stderr = _replace_stream(sys.stdout, 1), _replace_stream(sys.stderr, 2)
    sys.stdout, sys.stderr = stdout, stderr
    try:
        code = _run(run, arguments)
        stdout.flush()
        return code if not _has_failed(stdout) or code not in (SUCCESS, FINDINGS) else INPUTS_FAILED
    except _PipeClosed:
        return PIPE_CLOSED
    finally:
        stderr.flush()
        sys.stdout, sys.stderr = original


def _has_failed(stdout: Any) -> bool:
    """Return whether writing to stdout failed, after reporting it."""
    buffer = getattr(stdout, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    if not isinstance(raw, _Stream) or raw.failure is None:
        return False
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
        print(
            f"keyframer: internal error: {type(error).__name__}: {safe_text(str(error))[:500]} "
            "(please report it; KEYFRAMER_DEBUG=1 shows the traceback)",
            file=sys.stderr,
        )
        return INTERNAL


def _reopen_closed_streams() -> None:
    """Reopen standard streams that were closed at the start (``>&-``); otherwise an output file would get their
    descriptor number.

    The new stdout cannot be written, stderr is discarded, and stdin is empty.
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


def _replace_stream(stream: Any, number: int) -> Any:
    """Return the stream with a `_Stream` below it; a stream of another descriptor is returned unchanged."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is no buffer
    if type(raw) is not io.FileIO or raw.fileno() != number:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        return stream
    stream.flush()
    raw_stream: Any = _Stream(number, "w", closefd=False)
    return io.TextIOWrapper(
        raw_stream if raw is buffer else io.BufferedWriter(raw_stream),
        stream.encoding,
        "backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
