"""Reads inputs, and writes outputs atomically."""

from __future__ import annotations

from keyframer.files.input_bytes import check_size, is_endless, read_bytes, read_named
from keyframer.files.output_checks import OutputExists, OutputRefused, PathLike, check_output, note_input, running
from keyframer.files.writing import content_name, sweep, write_bytes, write_set

__all__ = [
    "OutputExists",
    "OutputRefused",
    "PathLike",
    "check_output",
    "check_size",
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
