"""The records of a Hale3D model (``.mdl``): meshes whose vertices hang on joints, as in ``.md5mesh``.

There is no document for this format; the layout is that of the one real file, which it explains to the last byte.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.formats.hale3d.dialect_text import text
from keyframer.formats.hale3d.mesh_tables import table, triple_table
from keyframer.formats.hale3d.records import unquoted
from keyframer.formats.hale3d.sniff import MODEL_ID
from keyframer.text import show_name
from keyframer.wire.exact_floats import exact_floats
from keyframer.wire.field_types import Chars, declare, i32, u32
from keyframer.wire.record import Record, record

VERTEX = np.dtype([("st", "<f4", (2,)), ("first_weight", "<u4"), ("weight_count", "<u4")])
WEIGHT = np.dtype([("bias", "<f4"), ("joint", "<i4"), ("position", "<f4", (3,))])


@record
class Model(Record):
    """The header; meshes and then joints are inside. Counts are made new as in `Animation`."""

    id: bytes = declare(Chars(4), "the bytes H3DM", MODEL_ID)
    version: int = u32("version; 1 in the one real file", default=1)
    mesh_count: int = u32("meshes")
    joint_count: int = u32("joints")


@record
class Mesh(Record):
    """One material's surface."""

    repeats = True

    vertex_count: int = u32("vertices")
    weight_count: int = u32("weights")
    triangle_count: int = u32("triangles")
    material: bytes = text("path of the material")
    vertices: npt.NDArray[Any] = table(
        VERTEX, "vertex_count", 0, "texture coordinates (t runs down), first weight, number of weights"
    )
    weights: npt.NDArray[Any] = table(WEIGHT, "weight_count", 4, "bias, joint, position in the joint's space")
    triangles: npt.NDArray[np.uint32] = triple_table("triangle_count", 8, "three vertices, clockwise seen from outside")


@record
class ModelJoint(Record):
    """A joint in its bind pose, in model space."""

    repeats = True

    parent: int = i32("parent, -1 for a root", default=-1)
    position: tuple[float, ...] = exact_floats("position in model space, x y z", 3)
    orientation: tuple[float, ...] = exact_floats("orientation in model space, x y z; w = -sqrt(1 - x² - y² - z²)", 3)
    name: bytes = text("name")

    @property
    def segment(self) -> str:
        return "joint"

    @property
    def shown_name(self) -> str:
        """The name for people, without quotes."""
        return show_name(unquoted(self.name))
