"""Small files of every format, made by us: one folder for each format id.

`sample_files` is what the conformance suite runs over, so a new sample is tested by being there.
"""

from __future__ import annotations

from pathlib import Path

from keyframer.formats import FORMATS

FOLDER = Path(__file__).parent


def sample_files(format_name: str) -> list[Path]:
    return sorted(path for path in (FOLDER / format_name).iterdir() if path.suffix != ".py" and path.is_file())


def all_samples() -> list[tuple[str, Path]]:
    return [(known.name, path) for known in FORMATS for path in sample_files(known.name)]


def unhex(text: str) -> bytes:
    """Bytes from annotated hex: everything behind a ``#`` is for the reader."""
    return bytes.fromhex("".join(line.split("#")[0] for line in text.splitlines()))
