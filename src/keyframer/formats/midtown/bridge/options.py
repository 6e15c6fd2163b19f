"""Options for reading Midtown clips, and their skeletons."""

from __future__ import annotations

import math
from pathlib import Path

from keyframer.errors import FormatError
from keyframer.fields import dataclass
from keyframer.files import PathLike, read_bytes
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import companion_paths
from keyframer.formats.midtown.skeleton import Skeleton, read_skeleton


@dataclass(frozen=True, slots=True)
class Options:
    """Options; the defaults follow the retail game."""

    skeleton: PathLike | Skeleton | None = None
    """the ``.skel`` with the bones' names, offsets and tree"""
    in_place: bool = False
    """remove the forward motion, as the game does: a walk then stays in place"""
    euler_order: str = "YZX"
    """order of the rotations about X (roll), Y (pitch) and Z (heading): a product, read left to right for column
    vectors; two decompilations of the game agree on YZX, one other loader assumed XYZ"""
    fps: float = 30.0
    """frames per second, which the format does not store"""
    found: str = ""
    """the name of an automatically detected skeleton: if it does not match, it is ignored"""

    skeleton_error: str = ""
    """the reason why the detected skeleton cannot be read, if so"""

    def __post_init__(self) -> None:
        if sorted(self.euler_order) != ["X", "Y", "Z"]:
            raise ValueError(f"euler_order must be an order of X, Y and Z such as YZX, not {self.euler_order!r}")
        if not 0 < self.fps < math.inf:
            raise ValueError(f"fps must be positive, not {self.fps}")


def companions(document: Document, path: Path) -> dict[str, object]:
    """Return a skeleton of the same stem in the folder of the clip, or the reason why it cannot be read."""
    skeleton_error = ""
    for candidate in companion_paths(path, ".skel"):
        try:
            return {"skeleton": read_skeleton(read_bytes(candidate)), "found": candidate.name}
        except OSError as error:
            skeleton_error = skeleton_error or error.strerror or str(error)
        except FormatError as error:
            skeleton_error = skeleton_error or f"{error.code} at {error.offset:#x}: {error.message}"
    return {"skeleton": None, "skeleton_error": skeleton_error} if skeleton_error else {}
