"""The records of a Hale3D model (``.mdl``): meshes whose vertices are attached to joints, as in ``.md5mesh``.

This format is not documented; the layout was found from the one real file and explains every byte of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array
from keyframer.formats.hale3d.dialect import text
from keyframer.formats.hale3d.records import unquoted
from keyframer.formats.hale3d.sniff import MODEL_ID
from keyframer.text import show_name
from keyframer.wire.cursor import Cursor, frozen
from keyframer.wire.field_types import Chars, LinkedArray, declare, exact_floats, i32, u32
from keyframer.wire.lossless_json import array_from_json, array_to_json
from keyframer.wire.record import Record, record

_TYPE_NAMES = {"<f4": "f32", "<u4": "u32", "<i4": "i32"}


class CountedAhead(LinkedArray):
    """An array whose count is stored ``count_at`` bytes after the start of the record; errors give this offset."""

    def __init__(self, dtype: npt.DTypeLike, count: str, count_at: int) -> None:
        super().__init__(dtype, count)
        self.count_at = count_at

    def read(self, cursor: Cursor, record: Any, name: str) -> Array:
        count = self.count_in(record)
        cursor.need_entries(count, self.dtype.itemsize, name, (record.offset or 0) + self.count_at)
        return cursor.array(self.dtype, count, name)


class Table(CountedAhead):
    """Rows of named columns as one structured array; in JSON, one object for each row."""

    def __init__(self, dtype: npt.DTypeLike, count: str, count_at: int) -> None:
        super().__init__(dtype, count, count_at)
        columns = []
        for name in self.dtype.names or ():
            column = self.dtype[name]
            times = f"{column.shape[0]} x " if column.shape else ""
            columns.append(f"{times}{_TYPE_NAMES[column.base.str]} {name}")
        self.entry_name = ", ".join(columns)
        self.type_name = f"{count} x ({self.entry_name})"

    def checked(self, value: Any) -> Array:
        array = np.asarray(value)
        if array.dtype != self.dtype or array.ndim != 1:
            raise ValueError(f"expected rows of ({self.entry_name})")
        return array

    def to_json(self, value: Any) -> object:
        names = self.dtype.names or ()
        columns = [array_to_json(value[name]) for name in names]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def from_json(self, value: object) -> Array:
        names = self.dtype.names or ()
        if not isinstance(value, list):
            raise ValueError("expected a list of rows")
        for index, row in enumerate(value):
            if not isinstance(row, dict) or set(row) != set(names):
                raise ValueError(f"row {index}: expected an object with {', '.join(names)}")
        rows = np.empty(len(value), self.dtype)
        for name in names:
            column = self.dtype[name]
            width = column.shape[0] if column.shape else None
            try:
                rows[name] = array_from_json([row[name] for row in value], column.base, width)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return frozen(rows)


def table(dtype: npt.DTypeLike, count: str, count_at: int, description: str) -> Any:
    return declare(Table(dtype, count, count_at), description)


def triple_table(count: str, count_at: int, description: str) -> Any:
    return declare(CountedAhead(("<u4", (3,)), count, count_at), description)


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
    material: bytes = text("path of the material")
    vertices: Array = table(
        VERTEX, "vertex_count", 0, "texture coordinates (t runs down), first weight, number of weights"
    )
    weights: Array = table(WEIGHT, "weight_count", 4, "bias, joint, position in the joint's space")
    triangles: npt.NDArray[np.uint32] = triple_table("triangle_count", 8, "three vertices, clockwise seen from outside")


@record
class ModelJoint(Record):
    """A joint in its bind pose, in model space."""

    repeats = True
    segment = "joint"

    parent: int = i32("parent, -1 for a root", default=-1)
    position: tuple[float, ...] = exact_floats("position in model space, x y z", 3)
    orientation: tuple[float, ...] = exact_floats("orientation in model space, x y z; w = -sqrt(1 - x² - y² - z²)", 3)
    name: bytes = text("name")

    @property
    def shown_name(self) -> str:
        """Return the name for output, without quotes."""
        return show_name(unquoted(self.name))
