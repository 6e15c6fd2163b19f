"""Exit codes, and how a run ends when it does not end by itself."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FINE = 0
FINDINGS = 1
"""findings at or above ``--fail-on``, a difference, something repaired or lost"""
USAGE = 2
NOT_ALL_DONE = 3
"""some inputs could not be done"""
INTERNAL = 4
INTERRUPTED = 130

CODES = {
    FINE: "fine",
    FINDINGS: "findings at or above --fail-on, a difference, something repaired or lost",
    USAGE: "wrong usage",
    NOT_ALL_DONE: "some inputs could not be done",
    INTERNAL: "internal error (please report it; KEYFRAMER_DEBUG=1 shows where)",
}


def guarded(run: Callable[[Sequence[str] | None], int], arguments: Sequence[str] | None) -> int:
    """Run, and turn what may go wrong outside of any file into an exit code; never a traceback."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        code = run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _leave_quietly()
        return FINE
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


def _leave_quietly() -> None:
    """Whoever read our output has gone: nothing more may be written, not even by the interpreter at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
