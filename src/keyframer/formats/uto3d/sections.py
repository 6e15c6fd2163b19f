"""The sections of a U3D (UTO!) scene, in a fixed order, and the dialect of their records.

A section has a tag of four letters, but no length. No field declares which of the known layouts its lights and meshes
have.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile
from typing import ClassVar

from keyframer.formats.document import RawRun
from keyframer.formats.uto3d.records import (
    AnyController,
    AnyLight,
    BezierController,
    Bone,
    Camera,
    CameraTarget,
    Controller,
    FlexporterLight,
    Light,
    LiteralLight,
    Material,
    Mesh,
    MeshWithUvFaces,
    NoController,
    SampledController,
)
from keyframer.wire.field_types import exact_floats, i32, u8
from keyframer.wire.record import Record, record

SIGNATURE = b"UTO!"
TAG_SIZE = 4


@record
class FileHeader(Record):
    """The signature UTO!, the version, and all sections as children."""

    segment = "uto3d"

    version_major: int = u8("format version major", default=0)
    version_minor: int = u8("format version minor", default=9)


@record
class Main(Record):
    """The main section (MAIN): times, the global scale, and the number of records of each kind except targets."""

    TAG: ClassVar[bytes] = b"MAIN"

    first_frame: int = i32("first frame (the MAXScript exporter may write ticks)")
    last_frame: int = i32("last frame (the MAXScript exporter may write ticks)")
    frame_rate: int = i32("frame rate")
    delta_time: int = i32("delta time: frame = time / delta time")
    global_scale: float = exact_floats("global scale", default=1.0)
    object_count: int = i32("number of objects")
    camera_count: int = i32("number of cameras")
    light_count: int = i32("number of lights")
    material_count: int = i32("number of materials")
    controller_count: int = i32("number of controllers")
    bone_count: int = i32("number of bones")

    def count_offset(self, name: str) -> int:
        """Return the file offset of a count in this record."""
        before = takewhile(lambda plan: plan.name != name, self.plan.fields)
        return (self.offset or 0) + len(self.TAG) + sum(plan.kind.minimum for plan in before)


@record(kw_only=True)
class Section(Record):
    """A tag and the records after it, whose number is in MAIN."""

    TAG: ClassVar[bytes]
    layouts: ClassVar[tuple[type[Record], ...]]
    """possible types of its records, the most usual first; a file uses only one, except that it may mix controllers"""
    count_field: ClassVar[str]
    """the field of MAIN with the number of records"""
    may_have_fewer: ClassVar[bool] = False
    """whether known programs write fewer records than they declare in MAIN"""
    may_have_more: ClassVar[bool] = False
    """whether known programs write more records than they declare in MAIN"""

    claimed: tuple[int, int] | None = None
    """The number in MAIN and the actual number, if they differ.

    The number in MAIN is written again if the number of records has not changed; otherwise the actual number is
    written.
    """

    @property
    def segment(self) -> str:
        return self.TAG.decode("ascii").lower()

    @property
    def stored_count(self) -> int:
        """The number of records to write in MAIN."""
        actual = sum(not isinstance(child, RawRest) for child in self.children)
        return self.claimed[0] if self.claimed is not None and self.claimed[1] == actual else actual


@record
class MeshSection(Section):
    """The meshes (MESH)."""

    TAG = b"MESH"
    layouts = (Mesh, MeshWithUvFaces)
    count_field = "object_count"


@record
class CameraSection(Section):
    """The cameras (CAMS)."""

    TAG = b"CAMS"
    layouts = (Camera,)
    count_field = "camera_count"
    may_have_fewer = True  # the MAXScript exporter stores (cameras + targets) / 2, but omits free cameras


@record
class CameraTargetSection(Section):
    """The camera targets (CTGT). MAIN has no number of targets; that of the cameras is used, which is often wrong."""

    TAG = b"CTGT"
    layouts = (CameraTarget,)
    count_field = "camera_count"
    may_have_fewer = True  # free cameras have no target
    may_have_more = True  # the Flexporter stores the targets of lights here


@record
class LightSection(Section):
    """The lights (LITE)."""

    TAG = b"LITE"
    layouts = (Light, FlexporterLight, LiteralLight)
    count_field = "light_count"


@record
class MaterialSection(Section):
    """The materials (MATS)."""

    TAG = b"MATS"
    layouts = (Material,)
    count_field = "material_count"
    may_have_fewer = True  # the MAXScript exporter declares all materials, but writes only those that meshes use


@record
class BoneSection(Section):
    """The bones (BONE)."""

    TAG = b"BONE"
    layouts = (Bone,)
    count_field = "bone_count"


@record
class ControllerSection(Section):
    """The controllers (CTRL)."""

    TAG = b"CTRL"
    layouts = (Controller, SampledController, NoController, BezierController)
    count_field = "controller_count"


SECTIONS: tuple[type[Section], ...] = (
    MeshSection,
    CameraSection,
    CameraTargetSection,
    LightSection,
    MaterialSection,
    BoneSection,
    ControllerSection,
)
"""all sections except MAIN, in file order"""


@record
class RawRest(RawRun):
    """All bytes from the first unreadable record or tag. The next record cannot be found without lengths."""

    segment = "rest"


def section_of(record: Record) -> type[Section] | None:
    """Return the section that a record belongs to; None if there is none."""
    if isinstance(record, AnyController):
        return ControllerSection
    return next((section for section in SECTIONS if isinstance(record, section.layouts)), None)


class LightLayout(StrEnum):
    """How lights are stored."""

    MAXSCRIPT = "maxscript"
    """target id, type of four bytes, more fields for some types (the engine and the importer use this layout, too)"""
    FLEXPORTER = "flexporter"
    """no target id, type of one byte, the same fields for all types"""
    LITERAL = "literal"
    """target id, type of one byte, more fields for some types: the specification taken literally"""


LIGHTS: dict[LightLayout, type[AnyLight]] = {
    LightLayout.MAXSCRIPT: Light,
    LightLayout.FLEXPORTER: FlexporterLight,
    LightLayout.LITERAL: LiteralLight,
}
"""the records of each layout"""


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

    @property
    def is_flexporter(self) -> bool:
        """Whether the layout is that of the Flexporter, judged by lights, else by UV faces in meshes without UVs."""
        return self.lights is LightLayout.FLEXPORTER or (self.lights is None and self.uv_faces is True)

    def agrees_with(self, other: Dialect) -> bool:
        """Return whether one file can have both dialects."""
        pairs = ((self.lights, other.lights), (self.uv_faces, other.uv_faces))
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in pairs)


def dialect_of(records: Iterable[Record]) -> Dialect:
    """Return the dialect of meshes and lights; raises ValueError for a mix of layouts, which no file can contain."""
    lights: set[LightLayout] = set()
    uv_faces: set[bool] = set()
    for stored in records:
        if isinstance(stored, AnyLight):
            lights |= {layout for layout, kind in LIGHTS.items() if kind is type(stored)}
        elif isinstance(stored, Mesh) and len(stored.faces) and not len(stored.uvs):
            uv_faces.add(isinstance(stored, MeshWithUvFaces))
    if len(lights) > 1:
        raise ValueError(f"lights of several layouts ({', '.join(sorted(lights))}) cannot be in one file")
    if len(uv_faces) > 1:
        raise ValueError("meshes without UVs must all have UV faces (MeshWithUvFaces), or none of them (Mesh)")
    return Dialect(next(iter(lights), None), next(iter(uv_faces), None))
