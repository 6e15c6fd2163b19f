"""Small files of every format, made for this project: one folder for each format id.

The conformance suite runs over `sample_files`, so a file that is added there is tested.
"""

from __future__ import annotations

from pathlib import Path

from keyframer.formats import FORMATS

FOLDER = Path(__file__).parent
SAVED = tuple(known for known in FORMATS if (bridge := known.bridge()) is not None and bridge.writer() is not None)
"""formats that scenes can be saved in"""


def sample_files(format_name: str) -> list[Path]:
    """Return the samples of a format: not their modules, images, and the values expected of them (JSON)."""
    files = (FOLDER / format_name).iterdir()
    return sorted(path for path in files if path.suffix not in (".py", ".json") and path.is_file())


def all_samples() -> list[tuple[str, Path]]:
    return [(known.name, path) for known in FORMATS for path in sample_files(known.name)]


def saved_samples() -> list[tuple[str, Path]]:
    """Return the samples of the formats that scenes can be saved in."""
    return [(known.name, path) for known in SAVED for path in sample_files(known.name)]


def unhex(text: str) -> bytes:
    """Bytes from annotated hex: everything after a ``#`` is a comment."""
    return bytes.fromhex("".join(line.split("#")[0] for line in text.splitlines()))
