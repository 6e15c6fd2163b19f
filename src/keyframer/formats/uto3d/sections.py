"""The sections of a U3D (UTO!) scene: a tag of four letters each, in this order, without lengths."""

from __future__ import annotations

from itertools import takewhile
from typing import ClassVar

from keyframer.formats.document import RawRun
from keyframer.formats.uto3d.records import (
    AnyController,
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
from keyframer.wire.exact_floats import exact_floats
from keyframer.wire.field_types import i32, u8
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
    """Beginning of main chunk (MAIN): the time range, and the number of records of each kind."""

    TAG: ClassVar[bytes] = b"MAIN"

    first_frame: int = i32("first frame (ticks in files of the MAXScript exporter)")
    last_frame: int = i32("last frame (ticks in files of the MAXScript exporter)")
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
        """Return the offset of a count of this record in the file."""
        before = takewhile(lambda plan: plan.name != name, self.plan.fields)
        return (self.offset or 0) + len(self.TAG) + sum(plan.kind.minimum for plan in before)


@record(kw_only=True)
class Section(Record):
    """A tag and the records after it; MAIN has their number."""

    TAG: ClassVar[bytes]
    layouts: ClassVar[tuple[type[Record], ...]]
    """possible types of its records, the most usual first; a file uses one of them"""
    count: ClassVar[str]
    """the field of MAIN with their number"""
    fewer: ClassVar[bool] = False
    """known writers declare more records than they write"""
    more: ClassVar[bool] = False
    """known writers write more records than they declare"""

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
        """Return the number for MAIN."""
        actual = sum(not isinstance(child, RawRest) for child in self.children)
        return self.claimed[0] if self.claimed is not None and self.claimed[1] == actual else actual


@record
class MeshSection(Section):
    """Beginning of mesh chunk (MESH)."""

    TAG = b"MESH"
    layouts = (Mesh, MeshWithUvFaces)
    count = "object_count"


@record
class CameraSection(Section):
    """Beginning of camera chunk (CAMS)."""

    TAG = b"CAMS"
    layouts = (Camera,)
    count = "camera_count"
    fewer = True  # the MAXScript exporter declares half of all cameras and targets, and leaves free cameras out


@record
class CameraTargetSection(Section):
    """Beginning of camera target chunk (CTGT); it shares the number of the cameras, which is often wrong."""

    TAG = b"CTGT"
    layouts = (CameraTarget,)
    count = "camera_count"
    fewer = True  # free cameras have no target
    more = True  # the Flexporter stores the targets of lights here


@record
class LightSection(Section):
    """Beginning of light chunk (LITE)."""

    TAG = b"LITE"
    layouts = (Light, FlexporterLight, LiteralLight)
    count = "light_count"


@record
class MaterialSection(Section):
    """Beginning of material chunk (MATS)."""

    TAG = b"MATS"
    layouts = (Material,)
    count = "material_count"
    fewer = True  # the MAXScript exporter declares all materials of the scene and writes those that meshes use


@record
class BoneSection(Section):
    """Beginning of bone chunk (BONE)."""

    TAG = b"BONE"
    layouts = (Bone,)
    count = "bone_count"


@record
class ControllerSection(Section):
    """Beginning of controller chunk (CTRL); the tag is written once."""

    TAG = b"CTRL"
    layouts = (NoController, SampledController, Controller)
    count = "controller_count"


SECTIONS: tuple[type[Section], ...] = (
    MeshSection,
    CameraSection,
    CameraTargetSection,
    LightSection,
    MaterialSection,
    BoneSection,
    ControllerSection,
)
"""In file order."""


@record
class RawRest(RawRun):
    """All bytes from the first record that could not be read: without lengths, the next record cannot be found."""

    segment = "rest"


def section_of(record: Record) -> type[Section] | None:
    """Return the section that a record belongs to."""
    if isinstance(record, AnyController):
        return ControllerSection
    return next((section for section in SECTIONS if isinstance(record, section.layouts)), None)
