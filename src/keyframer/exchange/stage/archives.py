"""Zip archives of stage lighting: members by name, within the limits for archives."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipInfo

import numpy as np

from keyframer.catalogue import IO_READ_FAILED, STRUCT_CHUNK_MISSING
from keyframer.errors import FormatError
from keyframer.files import zip_archives
from keyframer.limits import Limits
from keyframer.scene import Scene
from keyframer.text import safe_text

_ENCRYPTED = 0x1


class Archive:
    """An opened archive. Members are found by exact name, or ignoring case. The whole archive is refused if a name
    occurs twice, leads out of the archive or is absolute, or if a member starts outside of the archive.
    """

    def __init__(self, data: bytes, limits: Limits, path: str = "") -> None:
        self.path = path
        """prefix of member names in messages: ``spot.gdtf!/`` for an archive inside a show"""
        self._archive = zip_archives.Archive(io.BytesIO(data), len(data), limits)
        self.all_members = self._archive.members
        """including folders, in the order of the directory"""
        self.members = [member for member in self.all_members if not member.filename.endswith("/")]
        self.used: set[str] = set()
        """names of members that were read"""
        self._by_name: dict[str, ZipInfo] = {}
        self._by_folded_name: dict[str, ZipInfo] = {}
        for member in self.members:
            if not 0 <= member.header_offset < len(data):
                reason = f"the directory of the archive gives {member.filename!r} an offset outside the file"
                raise IO_READ_FAILED.failure(0, self._member_path(member), reason=reason)
            self._check_name(member)
            self._by_name[member.filename] = member
            self._by_folded_name.setdefault(member.filename.lower(), member)

    def _check_name(self, member: ZipInfo) -> None:
        name = member.filename
        parts = name.replace("\\", "/").split("/")
        if name in self._by_name:
            reason = f"two members of the archive are named {name!r}"
        elif ".." in parts or parts[0] == "" or parts[0].endswith(":"):
            reason = f"a member of the archive points outside it: {name!r}"
        else:
            return
        raise IO_READ_FAILED.failure(member.header_offset, self._member_path(member), reason=reason)

    def member(self, name: str) -> ZipInfo:
        """Return the member with this name; raises `FormatError` if there is none."""
        member = self.find(name)
        if member is None:
            raise STRUCT_CHUNK_MISSING.failure(0, self.path or "/", name=f"{name} in the archive")
        return member

    def find(self, name: str) -> ZipInfo | None:
        """Return the member with this name, exactly or ignoring case; None if there is none."""
        return self._by_name.get(name) or self._by_folded_name.get(name.lower())

    def read(self, member: ZipInfo) -> bytes:
        """Return the unpacked content of a member; raises `FormatError` if it cannot be unpacked."""
        problem = packing_problem(member)
        if problem:
            reason = f"{problem}: only stored or deflated members without encryption are read"
            raise IO_READ_FAILED.failure(member.header_offset, self._member_path(member), reason=reason)
        try:
            data = self._archive.read(member)
        except FormatError as error:
            raise self._located(error, member) from None
        self.used.add(member.filename)
        return data

    def _located(self, error: FormatError, member: ZipInfo) -> FormatError:
        return FormatError(error.code, member.header_offset, self._member_path(member), error.message, error.details)

    def _member_path(self, member: ZipInfo) -> str:
        return self.path + safe_text(member.filename)


def packing_problem(member: ZipInfo) -> str:
    """Return what the specification forbids about the packing of a member; empty if it is valid."""
    if member.flag_bits & _ENCRYPTED:
        return "encrypted"
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return f"compressed by method {member.compress_type}"
    return ""


@dataclass(eq=False)
class ArchiveSource:
    """The archive that a scene was read from, for writing it again."""

    data: bytes
    limits: Limits
    is_show: bool
    used: set[str]
    """names of members that the scene was made of"""
    placement: bytes
    """a digest of how the nodes were placed when the archive was read"""
    mode: str | None = None
    """the mode of a fixture"""

    @property
    def extension(self) -> str:
        return ".mvr" if self.is_show else ".gdtf"

    def describes(self, scene: Scene) -> bool:
        """Return whether the nodes of the scene are still placed as in the archive."""
        return placement_digest(scene) == self.placement


def placement_digest(scene: Scene) -> bytes:
    """Return a digest of the names, parents, meshes and transforms of all nodes."""
    digest = hashlib.sha256()
    for node in scene.nodes:
        digest.update(f"{node.name}\0{node.parent}\0{node.mesh}\0".encode("utf-8", "surrogatepass"))
        axes = () if node.scale_axes_xyzw is None else node.scale_axes_xyzw
        parts = (node.position, node.rotation_xyzw, node.scale, axes)
        digest.update(np.concatenate([np.asarray(part, np.float64) for part in parts]).tobytes())
    return digest.digest()
