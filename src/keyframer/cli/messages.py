"""What goes to stderr: one line for each failure, notes, and nothing at all with ``-q`` but failures."""

from __future__ import annotations

import sys

from keyframer.errors import FormatError
from keyframer.text import safe_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def failure(name: str, error: Exception) -> None:
    """``keyframer: FILE: CODE at 0x.. in PATH: message``."""
    print(f"keyframer: {shown_name(name)}: {safe_text(one_line(error))}", file=sys.stderr)


def note(options: argparse.Namespace, text: str) -> None:
    """Something worth knowing; not with ``-q``."""
    if not options.quiet:
        print(f"keyframer: {safe_text(text)}", file=sys.stderr)


def detail(options: argparse.Namespace, text: str) -> None:
    """Something for those who asked with ``-v``."""
    if options.verbose:
        print(f"keyframer: {safe_text(text)}", file=sys.stderr)


def one_line(error: Exception) -> str:
    located = isinstance(error, (FormatError, OSError, MemoryError))  # else nothing is wrong with the file as such
    said = [str(as_format_error(error)) if located else str(error), *getattr(error, "__notes__", ())]
    if isinstance(error, FormatError) and error.code.startswith("LIMIT_"):
        from keyframer.limits import Limits

        name = error.code.removeprefix("LIMIT_").lower()
        said += [f"--limit {name}=N allows more"] if name in Limits.__slots__ else []
    text = "; ".join(said)
    return text if len(text) <= 1_000 else f"{text[:999]}…"


def as_format_error(error: Exception) -> FormatError:
    """Failures of the system look like failures of the file: code, place, words."""
    if isinstance(error, FormatError):
        return error
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    code = "RUN_REFUSED" if isinstance(error, (ValueError, LookupError)) else "IO_READ_FAILED"
    return FormatError(code, 0, "/", reason or type(error).__name__)


def error_record(error: Exception) -> dict[str, object]:
    """A failure as part of a JSON record."""
    located = as_format_error(error)
    record: dict[str, object] = {"code": located.code, "offset": located.offset, "path": safe_text(located.path)}
    line = getattr(located, "line", None)
    if line is not None:
        record["line"] = line
    record["message"] = safe_text(located.message)[:1_000]
    return record


def shown_name(name: str) -> str:
    """The name of a file, safe and of bearable length."""
    text = safe_text(name)
    return text if len(text) <= 300 else f"{text[:150]}…{text[-149:]}"
