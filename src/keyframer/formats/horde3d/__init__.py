"""Horde3D: ``.geo`` models, ``.anim`` animations and the ``.scene.xml`` that ties them together.

Written by the ColladaConverter of the open game engine Horde3D (since 2006). Versions 2 and 3 of animations and 5 of
geometry are read, as in the engine; no file of another version is known. An animation has neither a frame rate nor a
hierarchy: nested elements of the scene file have the hierarchy. Unknown: nothing, the source of the engine is public.
"""

from __future__ import annotations

import re
import struct

from keyframer.formats.contract import Companion, Format, Match, Signature

ANIMATION_ID = b"H3DA"
GEOMETRY_ID = b"H3DG"
ANIMATION_VERSIONS = (2, 3)
GEOMETRY_VERSION = 5
SCENE_ENDING = ".scene.xml"
_IDS = {ANIMATION_ID: ("animation", ANIMATION_VERSIONS), GEOMETRY_ID: ("geometry", (GEOMETRY_VERSION,))}
_BEGINNINGS = {
    magic: tuple(magic + struct.pack("<I", version) for version in versions) for magic, (_, versions) in _IDS.items()
}
_SCENE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?[^>]*>\s*|<!--.{0,2000}?-->\s*)*<Model\s[^>]*\bgeometry\s*=", re.DOTALL
)
"""the start of a scene file: a model with its geometry"""


class Horde3D(Format):
    name = "horde3d"
    title = "Horde3D"
    extensions = (".geo", ".anim", SCENE_ENDING)
    signatures = (
        Signature("Horde3D geometry", ((0, _BEGINNINGS[GEOMETRY_ID]),), extensions=(".geo",)),
        Signature("Horde3D animation", ((0, _BEGINNINGS[ANIMATION_ID]),), extensions=()),  # many have .anim
    )
    axes = ("y", "right")
    writes_scenes = False
    companions = (Companion("model", SCENE_ENDING, "the .scene.xml that a Horde3D animation moves"),)
    tables = ("streams",)
    bookkeeping = ("element", "joint_index", "batch", "lod_level", "path", "version")

    def sniff(self, head: bytes, size: int) -> Match | None:
        """Return a match by signature and version; a truncated header or implausible counts only lower the score."""
        if is_scene(head):
            return Match(0.95, "scene: begins with a model and its geometry")
        if head[:4] not in _IDS:
            return None
        kind, versions = _IDS[head[:4]]
        if not any(beginning.startswith(head[:8]) for beginning in _BEGINNINGS[head[:4]]):
            return None
        start = f"{kind}: begins with {head[:4].decode('ascii')}"
        if len(head) < 16:
            return Match(0.7, f"{start}, but the header is truncated")
        version, count, frames = struct.unpack_from("<3I", head, 4)
        least = 12 + 64 * count + 16 if versions == (GEOMETRY_VERSION,) else 16 + count * (256 + 40 * bool(frames))
        if least > size:
            return Match(0.8, f"{start}, but the counts need a larger file", str(version))
        return Match(1.0, f"{start}, and the counts fit the file", str(version))


def is_scene(head: bytes) -> bool:
    return _SCENE.match(head) is not None


FORMAT = Horde3D()
