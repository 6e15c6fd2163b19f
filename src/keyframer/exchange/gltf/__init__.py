"""glTF 2.0: `write` exports scenes, `read` imports them. ``docs/gltf.md`` describes the mapping."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from keyframer.exchange.contract import FPS, MAX_ERROR, SMOOTH, UNIT, Exporter, Importer, WriteOption

if TYPE_CHECKING:
    from keyframer.exchange.contract import SceneLoader, SceneSaver
    from keyframer.issues import IssueLog
    from keyframer.limits import Limits

KEY_STYLES = ("linear", "cubic", "frames")
"""ways to write curves; the first is the default"""

LUANTI = "luanti"
PROFILES = ("khronos", LUANTI)
"""for whom a file is: any player of the standard, or an engine that takes only a part of it"""


class GltfExporter(Exporter):
    """Writes ``.glb`` and ``.gltf`` files."""

    name = "gltf"
    title = "glTF 2.0"
    extensions = (".glb", ".gltf")
    axes = ("y", "right")
    dialects = ("binary", "text")
    takes_images = True
    preload = (f"{__name__}.write",)
    options = (
        WriteOption(
            *("keys", "str"),
            "keys in glTF: linear keys as needed for --max-error (the default; all players agree on them), cubic "
            "splines where they are exact (Blender ignores their tangents), or one key per frame",
            is_flag=True,
            choices=KEY_STYLES,
        ),
        MAX_ERROR,
        WriteOption(
            *("compact", "bool"),
            "write glTF with integers for vertices and rotations, as far as --max-error allows: large meshes take half "
            "the bytes; players need KHR_mesh_quantization (three.js, Babylon.js and Blender have it)",
            is_flag=True,
        ),
        WriteOption("core_only", "bool", "write glTF without extensions", is_flag=True),
        WriteOption(
            *("profile", "str"),
            "for whom the glTF is: khronos, every player of the standard (the default), or luanti: one animation, no "
            "extensions, images only by name",
            is_flag=True,
            choices=PROFILES,
        ),
        UNIT,
        FPS,
        SMOOTH,
        WriteOption(
            *("embed_source", "bool"),
            "embed the source file in glTF: as long as the glTF file is not changed, reading gives the source back "
            "byte for byte, with its authored keys",
            is_flag=True,
        ),
    )

    def writer(self) -> SceneSaver:
        from keyframer.exchange.gltf import write

        return write


EXPORTER = GltfExporter()


class GltfImporter(Importer):
    """Reads ``.glb`` and ``.gltf`` files."""

    name = EXPORTER.name
    title = EXPORTER.title
    extensions = EXPORTER.extensions
    holds_json = True
    profiles = (LUANTI,)

    def check_profile(self, data: bytes, profile: str, issues: IssueLog, limits: Limits) -> None:
        from keyframer.exchange.gltf import profiles, read

        profiles.check(read.json_root(data, limits), profile, issues)

    def loader(self) -> SceneLoader:
        from keyframer.exchange.gltf import read

        return read

    def sniff(self, head: bytes, name: str = "") -> str | None:
        if head[:4] == b"glTF":
            return "binary glTF by its first bytes"
        text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if text[:1] == b"{" and (b'"asset"' in head or os.path.splitext(name)[1].lower() == ".gltf"):
            return "a JSON object with an asset" if b'"asset"' in head else "a JSON object, and the extension"
        return None

    def option_types(self) -> dict[str, str]:
        return {"fps": "float"}


IMPORTER = GltfImporter()
