"""Reads inputs, and writes outputs atomically."""

from __future__ import annotations

from keyframer.files.runs import (
    OutputExists,
    OutputRefused,
    PathLike,
    check_output,
    check_size,
    check_writable,
    is_endless,
    note_input,
    read_bytes,
    read_named,
    running,
)
from keyframer.files.writing import content_name, sweep, write_bytes, write_set

__all__ = [
    "OutputExists",
    "OutputRefused",
    "PathLike",
    "check_output",
    "check_size",
    "check_writable",
    "content_name",
    "is_endless",
    "note_input",
    "read_bytes",
    "read_named",
    "running",
    "sweep",
    "write_bytes",
    "write_set",
]
