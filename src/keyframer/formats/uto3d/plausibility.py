"""Does a record look like one that an exporter wrote? Only asked where several ways of reading remain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from keyframer.formats.uto3d.records import AnyLight, Mesh
from keyframer.wire.record import Record

_UNIT_ERROR = 0.01


def is_plausible(record: Record) -> bool:
    """Whether its name is text, its switches are 0 or 1, its rotation is one, and its faces name vertices."""
    fields: Any = record
    if any(byte < 0x20 for byte in fields.name):
        return False
    if hasattr(record, "rotation") and not (fields.hidden <= 1 and _is_rotation(fields.rotation)):
        return False
    if isinstance(record, AnyLight):
        return fields.type in record.types and bool(fields.use_attenuation <= 1)
    return _is_plausible_mesh(record) if isinstance(record, Mesh) else True


def _is_rotation(quaternion: Any) -> bool:
    """Unit length, or all zero, which the MAXScript exporter writes for none."""
    length = math.hypot(*map(float, quaternion))
    return length == 0.0 or abs(length - 1.0) <= _UNIT_ERROR


def _is_plausible_mesh(mesh: Mesh) -> bool:
    if len(mesh.faces) == 0:
        return True
    inside = np.min(mesh.faces) >= 0 and np.max(mesh.faces) < len(mesh.vertices)
    empty_uv_faces = len(mesh.uvs) > 0 or bool((np.asarray(mesh.uv_faces) == -1).all())
    return bool(inside and np.max(mesh.edges) <= 7 and empty_uv_faces)


def plausible_prefix(records: list[Record]) -> int:
    """How many records from the first look right."""
    return next((index for index, record in enumerate(records) if not is_plausible(record)), len(records))
