"""What a user may decide about a Hale3D file, and the file that belongs to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from keyframer.errors import FormatError
from keyframer.files import PathLike, read_bytes
from keyframer.formats.document import Document
from keyframer.formats.hale3d.document import decode
from keyframer.formats.hale3d.model import Model
from keyframer.formats.hale3d.records import Animation
from keyframer.formats.kit.scene_reading import neighbours


@dataclass(frozen=True, slots=True)
class Options:
    """An animation has no surface and a model does not move: together they are a scene."""

    model: PathLike | Document | None = None
    """the ``.mdl`` that an animation moves"""
    animation: PathLike | Document | None = None
    """the ``.anim`` that moves a model"""
    found: str = ""
    """the name of the companion where it was found beside the file: if it does not fit, it is left alone"""


def companions(document: Document, path: Path) -> dict[str, object]:
    """The other half of the pair, if it stands beside the file under the same stem."""
    wanted, suffix = ("model", ".mdl") if document.first(Animation) is not None else ("animation", ".anim")
    for candidate in neighbours(path, suffix):
        try:
            other = decode(read_bytes(candidate))
        except (OSError, FormatError):
            continue
        if other.first(Model if wanted == "model" else Animation) is not None:
            return {wanted: other, "found": candidate.name}
    return {}
