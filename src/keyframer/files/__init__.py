"""Reads inputs, and writes outputs atomically."""

from __future__ import annotations

from keyframer.files.atomic_writing import OutputSet, collect_drafts, write_bytes, write_set
from keyframer.files.disk import OutputExists, PathLike
from keyframer.files.input_bytes import check_size, is_endless, read_bytes
from keyframer.files.journal import content_name, is_unfinished, sweep, sweep_once
from keyframer.files.output_checks import OutputRefused, check_output, note_input, running

__all__ = [
    "OutputExists",
    "OutputRefused",
    "OutputSet",
    "PathLike",
    "check_output",
    "check_size",
    "collect_drafts",
    "content_name",
    "is_endless",
    "is_unfinished",
    "note_input",
    "read_bytes",
    "running",
    "sweep",
    "sweep_once",
    "write_bytes",
    "write_set",
]
