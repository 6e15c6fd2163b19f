"""Containers of every kind, made by the programs of their time or by those of today, from the files of a folder."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path


def zipped(folder: Path, path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder).as_posix())


Maker = Callable[[Path, Path], None]
"""packs a folder into a file"""
MAKERS: dict[str, Maker] = {"zip": zipped}
"""by the extension of the file that they make"""
