"""Scenes saved in the five formats themselves."""

from __future__ import annotations

import os
from pathlib import Path

from keyframer.files import write_bytes
from keyframer.formats import encode, format_by_name
from keyframer.scene import Scene
from keyframer.scene.report import LossReport


def save(
    name: str, scene: Scene, path: Path, dialect: str | None, overwrite: bool, options: dict[str, object]
) -> LossReport:
    """Write the document and what belongs beside it: all of it, or nothing where a file is in the way."""
    format = format_by_name(name)
    if dialect is not None:
        options = {**options, "dialect": dialect}
    if name == "hale3d" and path.suffix.lower() == ".mdl":
        options.setdefault("file", "model")
    written = format.from_scene(scene, options)
    files = [(path, encode(written.document))]
    files += [(path.with_suffix(suffix), content) for suffix, content in written.companions]
    for each, _ in files:
        if not overwrite and os.path.lexists(each):
            raise FileExistsError(f"{each} exists (pass overwrite=True to replace it)")
    for each, content in files:
        write_bytes(each, content, overwrite=overwrite)
    written.report.written = [str(each) for each, _ in files]
    return written.report
