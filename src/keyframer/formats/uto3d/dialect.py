"""The dialect of a U3D (UTO!) scene: which known layouts its lights and meshes have. No field declares them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from keyframer.formats.uto3d.records import FlexporterLight, Light, LiteralLight, Mesh, MeshWithUvFaces
from keyframer.wire.record import Record


class LightLayout(StrEnum):
    """How lights are stored."""

    MAXSCRIPT = "maxscript"
    """target id, type of four bytes, more fields for some types (the engine and the importer use this layout, too)"""
    FLEXPORTER = "flexporter"
    """no target id, type of one byte, the same fields for all types"""
    LITERAL = "literal"
    """target id, type of one byte, more fields for some types: the specification taken literally"""


_LIGHTS: dict[type[Record], LightLayout] = {
    Light: LightLayout.MAXSCRIPT,
    FlexporterLight: LightLayout.FLEXPORTER,
    LiteralLight: LightLayout.LITERAL,
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Layout properties that are detected from the content; None if the content gives no evidence."""

    lights: LightLayout | None = None
    """how lights are stored"""
    uv_faces: bool | None = None
    """whether meshes without mapping coordinates have UV faces too (all -1)"""

    def __str__(self) -> str:
        parts = [f"{self.lights} lights"] if self.lights is not None else []
        if self.uv_faces is not None:
            parts.append("UV faces without UVs" if self.uv_faces else "no UV faces without UVs")
        return ", ".join(parts) or "no evidence"

    def agrees_with(self, other: Dialect) -> bool:
        """Return whether one file can have both dialects."""
        pairs = ((self.lights, other.lights), (self.uv_faces, other.uv_faces))
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in pairs)


def dialect_of(records: Iterable[Record]) -> Dialect:
    """Return the dialect of meshes and lights; raises ValueError for a mix of layouts, which no file can contain."""
    lights: set[LightLayout] = set()
    uv_faces: set[bool] = set()
    for record in records:
        if type(record) in _LIGHTS:
            lights.add(_LIGHTS[type(record)])
        elif isinstance(record, Mesh) and len(record.faces) and not len(record.uvs):
            uv_faces.add(isinstance(record, MeshWithUvFaces))
    if len(lights) > 1:
        raise ValueError(f"lights of several layouts ({', '.join(sorted(lights))}) cannot be in one file")
    if len(uv_faces) > 1:
        raise ValueError("meshes without UVs must all have UV faces (MeshWithUvFaces), or none of them (Mesh)")
    return Dialect(next(iter(lights), None), next(iter(uv_faces), None))
