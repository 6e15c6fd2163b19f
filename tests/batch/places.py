"""Trees of small files for batches, with modification times in the past so that batches trust them."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from keyframer.batch import InputFile
from keyframer.batch.storage import local_stamp
from tests.samples import sample_files

GOOD = next(path for path in sample_files("nodeanim") if path.name == "u16_u16.nanim").read_bytes()
OTHER = next(path for path in sample_files("3ds") if path.name == "bare_editor.3ds").read_bytes()
BAD = b"\x00\x01\x02 nothing of ours"


def age(path: Path, seconds: float = 3_600) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def put(path: Path, data: bytes = GOOD, seconds: float = 3_600) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    age(path, seconds)
    return path


def input_files(folder: Path) -> list[InputFile]:
    return [
        InputFile(str(path), path.relative_to(folder).as_posix(), local_stamp(str(path)))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def without_hash(name: str) -> str:
    """Return a name without the content hash that may be in it."""
    return re.sub(r"\.[0-9a-f]{12}\.", ".", name)


def temporaries(folder: Path) -> list[Path]:
    return list(folder.rglob(".kf-*"))
