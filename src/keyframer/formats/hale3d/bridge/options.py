"""Options for reading Hale3D files, and their companions."""

from __future__ import annotations

from pathlib import Path

from keyframer.errors import FormatError
from keyframer.fields import dataclass
from keyframer.files import PathLike, read_bytes
from keyframer.formats.document import Document
from keyframer.formats.hale3d.document import decode
from keyframer.formats.hale3d.model import Model
from keyframer.formats.hale3d.records import Animation
from keyframer.formats.kit.scene_reading import companion_paths


@dataclass(frozen=True, slots=True)
class Options:
    """Options. An animation has no meshes and a model has no motion: together they are a scene."""

    model: PathLike | Document | None = None
    """the ``.mdl`` that an animation moves"""
    animation: PathLike | Document | None = None
    """the ``.anim`` that moves a model"""
    found: str = ""
    """the name of an automatically detected companion: if it does not match, it is ignored"""


def companions(document: Document, path: Path) -> dict[str, object]:
    """Return the other file of the pair, if it has the same stem and is in the same folder."""
    wanted, suffix = ("model", ".mdl") if document.first(Animation) is not None else ("animation", ".anim")
    for candidate in companion_paths(path, suffix):
        try:
            companion = decode(read_bytes(candidate))
        except (OSError, FormatError):
            continue
        if companion.first(Model if wanted == "model" else Animation) is not None:
            return {wanted: companion, "found": candidate.name}
    return {}
