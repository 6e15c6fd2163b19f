"""The headers of Hale3D animations and models, and the layouts of their text.

Animations (``.anim``) are in the order and the terms of their specification. Models (``.mdl``), meshes whose vertices
are attached to joints as in ``.md5mesh``, are not documented; their layout was found from the one real file and
explains every byte of it. No specification defines how a ``std::string`` is stored. In the real files, text ends with
NUL. Two other layouts are equally natural for a C++ writer. One of them is used if a file read in it ends exactly with
its last record, but does not with text that ends with NUL.
"""

from __future__ import annotations

from enum import Enum

from keyframer.formats.hale3d import ANIMATION_ID, MODEL_ID
from keyframer.formats.kit.joint_pairs.records import (
    BOUNDS_FLOATS,
    COMPONENTS,
    VERTEX,
    WEIGHT,
    Frames,
    Joint,
    Mesh,
    ModelJoint,
    unquoted,
)
from keyframer.wire.encoding_style import Style
from keyframer.wire.field_types import Chars, declare, u32
from keyframer.wire.record import Record, record

__all__ = [
    "BOUNDS_FLOATS",
    "COMPONENTS",
    "VERTEX",
    "WEIGHT",
    "Animation",
    "Dialect",
    "Frames",
    "Joint",
    "Mesh",
    "Model",
    "ModelJoint",
    "unquoted",
]


@record
class Animation(Record):
    """The header, with the joints and the frames as children.

    The counts are recomputed from the children on writing, unless a `RawRun` is among them: then the counts of the file
    are kept. Without frames the component count is kept, too.
    """

    id: bytes = declare(Chars(4), "ID, the bytes H3DA", ANIMATION_ID)
    version: int = u32("Version; 1 in the one real file", default=1)
    frame_count: int = u32("Frame count")
    frame_rate: int = u32("Frame rate, frames per second", default=24)
    joint_count: int = u32("Joint count")
    component_count: int = u32("Animated component count")


@record
class Model(Record):
    """The header, with meshes and then joints as children. Counts are recomputed as in `Animation`."""

    id: bytes = declare(Chars(4), "the bytes H3DM", MODEL_ID)
    version: int = u32("version; 1 in the one real file", default=1)
    mesh_count: int = u32("meshes")
    joint_count: int = u32("joints")


class Dialect(Enum):
    """The layouts of text in the order in which they are tried: a file that fits the second also fits the third."""

    NUL_ENDED = "nul-ended"
    """8-bit text and one NUL, as in the real files"""
    LENGTH_WITH_NUL = "length-with-nul"
    """u32 number of bytes, then the bytes; the last one is a NUL"""
    LENGTH = "length"
    """u32 number of bytes, then the bytes"""

    def __str__(self) -> str:
        return self.value

    @property
    def style(self) -> Style:
        """The layout of text for `Plan.adapted`."""
        return _STYLES[self]


_STYLES = {
    Dialect.NUL_ENDED: Style(),
    Dialect.LENGTH_WITH_NUL: Style(text="u32_nul"),
    Dialect.LENGTH: Style(text="u32"),
}
