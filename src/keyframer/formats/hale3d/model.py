"""The records of a Hale3D model (``.mdl``): meshes whose vertices are attached to joints, as in ``.md5mesh``.

This format is not documented; the layout was found from the one real file and explains every byte of it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.formats.hale3d.records import unquoted
from keyframer.formats.hale3d.sniff import MODEL_ID
from keyframer.text import show_name
from keyframer.wire.field_types import Chars, declare, exact_floats, i32, linked_array, strz, u32
from keyframer.wire.record import Record, record

VERTEX = np.dtype([("st", "<f4", (2,)), ("first_weight", "<u4"), ("weight_count", "<u4")])
WEIGHT = np.dtype([("bias", "<f4"), ("joint", "<i4"), ("position", "<f4", (3,))])


@record
class Model(Record):
    """The header, with meshes and then joints as children. Counts are recomputed as in `Animation`."""

    id: bytes = declare(Chars(4), "the bytes H3DM", MODEL_ID)
    version: int = u32("version; 1 in the one real file", default=1)
    mesh_count: int = u32("meshes")
    joint_count: int = u32("joints")


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
