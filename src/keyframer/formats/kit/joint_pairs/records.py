"""The records that animations of joints and their models share: joints, frames, meshes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Singles
from keyframer.text import show_name
from keyframer.wire.cursor import frozen
from keyframer.wire.field_types import exact_floats, i32, linked_array, strz, u32
from keyframer.wire.record import Record, record
from keyframer.wire.rows import float_rows

BOUNDS_FLOATS = 6
"""AABB::min and AABB::max precede the components of every frame"""
COMPONENTS = 6
"""Tx Ty Tz Qx Qy Qz, in the order of the flag bits of a joint"""


@record
class Joint(Record):
    """JointInfo and BaseFrameJoint, written back to back. Joints are identified by index, never by name."""

    repeats = True

    parent: int = i32("JointInfo::parent, -1 for a root", default=-1)
    flags: int = u32("JointInfo::flags, bits 0 to 5: Tx Ty Tz Qx Qy Qz are animated")
    start_index: int = u32("JointInfo::startIndex, the first component of this joint in a frame")
    # All 33 joints of the real file are named "origin", including the quotes: an error of its writer, kept unchanged.
    name: bytes = strz("JointInfo::name")
    position: tuple[float, ...] = exact_floats("BaseFrameJoint::position, x y z", 3)
    orientation: tuple[float, ...] = exact_floats(
        "BaseFrameJoint::orientation, x y z w as stored", 4, default=(0.0, 0.0, 0.0, 1.0)
    )

    @property
    def moving(self) -> list[int]:
        """Return the animated components: indices into Tx Ty Tz Qx Qy Qz, in the order of the numbers in a frame."""
        return [bit for bit in range(COMPONENTS) if self.flags >> bit & 1]

    @property
    def shown_name(self) -> str:
        """Return the name for output, without the quotes that the converter copied from the MD5 text."""
        return show_name(unquoted(self.name))


@record
class Frames(Record):
    """All frames, one row each: the six floats of the bounding box, then the animated components."""

    rows: Singles = float_rows("AABB::min, AABB::max, animated components")
    row_shape: tuple[int, int] = (0, 0)
    """frames and floats per frame according to the header; used only for reading"""

    @property
    def bounds(self) -> Singles:
        """Return boxes as ``(frames, 2, 3)``: min and max."""
        return self.rows[:, :BOUNDS_FLOATS].reshape(-1, 2, 3)

    @property
    def components(self) -> Singles:
        """Return the animated components as ``(frames, components)``."""
        return self.rows[:, BOUNDS_FLOATS:]

    @staticmethod
    def make(components: npt.ArrayLike, bounds: npt.ArrayLike | None = None) -> Frames:
        """Make frames of components ``(frames, components)`` and boxes ``(frames, 2, 3)`` (zeros if not given)."""
        table: Array = np.asarray(components, "<f4")
        if table.ndim != 2:
            raise ValueError(f"expected components (frames, components), not an array of shape {table.shape}")
        boxes = np.zeros((len(table), BOUNDS_FLOATS), "<f4") if bounds is None else np.asarray(bounds, "<f4")
        return Frames(frozen(np.hstack([boxes.reshape(len(table), BOUNDS_FLOATS), table])))


def unquoted(name: bytes) -> bytes:
    """Return a name without the quotes around it, if it has a pair."""
    return name[1:-1] if len(name) >= 2 and name[:1] == name[-1:] == b'"' else name


VERTEX = np.dtype([("st", "<f4", (2,)), ("first_weight", "<u4"), ("weight_count", "<u4")])
WEIGHT = np.dtype([("bias", "<f4"), ("joint", "<i4"), ("position", "<f4", (3,))])


@record
class Mesh(Record):
    """The surface of one material."""

    repeats = True

    vertex_count: int = u32("vertices")
    weight_count: int = u32("weights")
    triangle_count: int = u32("triangles")
    material: bytes = strz("path of the material")
    vertices: Array = linked_array(
        VERTEX, "vertex_count", "texture coordinates (t runs down), first weight, number of weights"
    )
    weights: Array = linked_array(WEIGHT, "weight_count", "bias, joint, position in the joint's space")
    triangles: npt.NDArray[np.uint32] = linked_array(
        ("<u4", (3,)), "triangle_count", "three vertices, clockwise seen from outside"
    )


@record
class ModelJoint(Record):
    """A joint in its bind pose, in model space."""

    repeats = True
    segment = "joint"

    parent: int = i32("parent, -1 for a root", default=-1)
    position: tuple[float, ...] = exact_floats("position in model space, x y z", 3)
    orientation: tuple[float, ...] = exact_floats("orientation in model space, x y z; w = -sqrt(1 - x² - y² - z²)", 3)
    name: bytes = strz("name")

    @property
    def shown_name(self) -> str:
        """Return the name for output, without quotes."""
        return show_name(unquoted(self.name))
