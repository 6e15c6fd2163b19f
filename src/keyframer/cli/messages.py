"""Messages on stderr: one line per failure, and notes unless ``-q`` is given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from keyframer.errors import FormatError, known_offset, reason_of
from keyframer.formats.foreign_files import NOT_READ
from keyframer.text import safe_text

if TYPE_CHECKING:
    import argparse


def failure(name: str, error: Exception) -> None:
    """Print ``keyframer: FILE: CODE at 0x.. in PATH: message``; code and place only for errors in the content."""
    text = safe_text(one_line(error, name))
    label = "" if text.startswith(f"{safe_text(name)} ") else f"{shown_name(name)}: "
    print(f"keyframer: {label}{text}", file=sys.stderr)


def note(options: argparse.Namespace, text: str) -> None:
    """Print a message, unless ``-q`` is given."""
    if not options.quiet:
        print(f"keyframer: {safe_text(text)}", file=sys.stderr)


def detail(options: argparse.Namespace, text: str) -> None:
    """Print a message if ``-v`` is given."""
    if options.verbose:
        print(f"keyframer: {safe_text(text)}", file=sys.stderr)


class StatusLine:
    """One line on stderr that is overwritten; nothing if stderr is not a terminal, or with ``-q``."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._on = not options.quiet and sys.stderr.isatty()

    def show(self, text: str) -> None:
        if self._on:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        self.show("")


def one_line(error: Exception, name: str | None = None) -> str:
    """Return the message of a failure with its hints, truncated to 1,000 characters; ``name`` is the file."""
    parts = [_text_of(error, name), *getattr(error, "__notes__", ())]
    if isinstance(error, FormatError) and error.code.startswith("LIMIT_"):
        from keyframer.limits import Limits

        limit = error.code.removeprefix("LIMIT_").lower()
        parts += [f"--limit {limit}=N allows more"] if limit in Limits.__slots__ else []
    text = "; ".join(parts)
    return text if len(text) <= 1_000 else f"{text[:999]}…"


def _text_of(error: Exception, name: str | None) -> str:
    """Return the message, with code, offset and path if the error is in the content of a file."""
    if isinstance(error, (OSError, MemoryError)):
        return as_format_error(error, name).message
    if isinstance(error, FormatError):
        is_placeless = known_offset(error.code, error.offset, error.path) is None
        if is_placeless or error.message.endswith(NOT_READ):
            return error.message
    return str(error)


def as_format_error(error: Exception, name: str | None = None) -> FormatError:
    """Return any failure as a `FormatError` with code, place and message; ``name`` is the file."""
    if isinstance(error, FormatError):
        return error
    reason = reason_of(error, name) if isinstance(error, OSError) else str(error)
    code = "RUN_REFUSED" if isinstance(error, (ValueError, LookupError)) else "IO_READ_FAILED"
    return FormatError(code, 0, "/", reason or type(error).__name__)


def error_record(error: Exception, name: str | None = None) -> dict[str, object]:
    """Return a failure as part of a JSON record; ``name`` is the file."""
    located = as_format_error(error, name)
    offset = known_offset(located.code, located.offset, located.path)
    record: dict[str, object] = {"code": located.code, "offset": offset, "path": safe_text(located.path)}
    line = getattr(located, "line", None)
    if line is not None:
        record["line"] = line
    record["message"] = safe_text(located.message)[:1_000]
    return record


def shown_name(name: str) -> str:
    """Make the name of a file safe to show, truncated to 300 characters."""
    text = safe_text(name)
    return text if len(text) <= 300 else f"{text[:150]}…{text[-149:]}"
