"""What goes to stderr: one line for each failure, notes, and nothing at all with ``-q`` but failures."""

from __future__ import annotations

import sys

from keyframer.errors import FormatError, reason_of
from keyframer.text import safe_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def failure(name: str, error: Exception) -> None:
    """``keyframer: FILE: CODE at 0x.. in PATH: message``; what is not about the content of the file has no place."""
    text = safe_text(one_line(error))
    subject = "" if text.startswith(f"{safe_text(name)} ") else f"{shown_name(name)}: "
    print(f"keyframer: {subject}{text}", file=sys.stderr)


def note(options: argparse.Namespace, text: str) -> None:
    """Something worth knowing; not with ``-q``."""
    if not options.quiet:
        print(f"keyframer: {safe_text(text)}", file=sys.stderr)


def detail(options: argparse.Namespace, text: str) -> None:
    """Something for those who asked with ``-v``."""
    if options.verbose:
        print(f"keyframer: {safe_text(text)}", file=sys.stderr)


def one_line(error: Exception) -> str:
    said = [_words(error), *getattr(error, "__notes__", ())]
    if isinstance(error, FormatError) and error.code.startswith("LIMIT_"):
        from keyframer.limits import Limits

        name = error.code.removeprefix("LIMIT_").lower()
        said += [f"--limit {name}=N allows more"] if name in Limits.__slots__ else []
    text = "; ".join(said)
    return text if len(text) <= 1_000 else f"{text[:999]}…"


def _words(error: Exception) -> str:
    """With code, offset and path where the content of a file is at fault; a missing file and a refused output are not
    that."""
    if isinstance(error, (OSError, MemoryError)):
        return as_format_error(error).message
    if isinstance(error, FormatError) and is_outside(error.code, error.offset, error.path):
        return error.message
    return str(error)


def is_outside(code: str, offset: int, path: str) -> bool:
    """Whether a failure is not about the content of a file, so that its code and its place say nothing."""
    return code in _OUTSIDE and offset == 0 and path == "/"


_OUTSIDE = ("IO_READ_FAILED", "RUN_OUTPUT_COLLISION", "RUN_OUTPUT_REFUSED", "RUN_REFUSED")


def as_format_error(error: Exception) -> FormatError:
    """Failures of the system look like failures of the file: code, place, words."""
    if isinstance(error, FormatError):
        return error
    reason = reason_of(error) if isinstance(error, OSError) else str(error)
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
