"""Scenes saved in the five formats themselves."""

from __future__ import annotations

import os
from pathlib import Path

from keyframer.exchange.unpacked import Unpacked
from keyframer.files import write_bytes
from keyframer.formats import encode, format_by_name
from keyframer.scene import Scene
from keyframer.scene.report import LossReport

_HALE3D_FILES = {".anim": "animation", ".mdl": "model"}
"""which of the two files of a pair is meant by a name"""


def save(
    name: str, scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, object]
) -> LossReport:
    """Write the document and what belongs beside it, images that stood inside the source too: all of it, or nothing
    where a file is in the way. An image that is there already, byte for byte, is in nobody's way."""
    format = format_by_name(name)
    if dialect is not None:
        options = {**options, "dialect": dialect}
    if name == "hale3d" and path.suffix.lower() in _HALE3D_FILES:
        options = {"file": _HALE3D_FILES[path.suffix.lower()], **options}
    unpacked = Unpacked(name, scene)
    written = format.from_scene(unpacked.scene, options)
    unpacked.report(written.report)
    files = [(path, encode(written.document))]
    files += [(path.with_suffix(suffix), content) for suffix, content in written.companions]
    images = [(path.parent / each, content) for each, content in unpacked.files.items()]
    files += [(each, content) for each, content in images if not _is_there(each, content)]
    for each, _ in files:
        if not overwrite and os.path.lexists(each):
            raise FileExistsError(f"{each} exists (pass overwrite=True to replace it)")
    for each, content in files:
        write_bytes(each, content, overwrite=overwrite)
    written.report.written = [str(each) for each, _ in files]
    return written.report


def _is_there(path: Path, content: bytes) -> bool:
    try:
        return not path.is_symlink() and path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False
