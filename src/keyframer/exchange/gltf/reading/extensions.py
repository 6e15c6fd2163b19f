"""Extensions that a file names: what is understood, what only changes its looks, what it cannot be read without."""

from __future__ import annotations

from importlib.util import find_spec

from keyframer.catalogue import SEM_EXTENSION_UNKNOWN
from keyframer.exchange.gltf.reading.findings import Findings
from keyframer.exchange.gltf.reading.values import Item
from keyframer.issues import Severity

UNDERSTOOD = (
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_lights_punctual",
    "KHR_materials_emissive_strength",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_unlit",
    "KHR_mesh_quantization",
    "KHR_node_visibility",
    "KHR_texture_transform",
)
DRACO = "KHR_draco_mesh_compression"
_MESHOPT = "write the file anew without compression first (gltfpack -i FILE -o NEW -noq)"
_ADVICE = {
    DRACO: "pip install 'keyframer[gltf]' brings the decoder",
    "EXT_meshopt_compression": _MESHOPT,
    "KHR_meshopt_compression": _MESHOPT,
    "KHR_texture_basisu": "convert its KTX2 images to PNG or JPEG first (gltf-transform ktxdecompress FILE NEW)",
}
"""what to do about files that need these"""
_OF_LOOKS = ("KHR_materials_", "EXT_materials_", "KHR_texture_", "EXT_texture_", "MSFT_texture_")
"""how the names of extensions begin that say how surfaces look, and nothing about what there is or how it moves"""


def advice(name: str) -> str | None:
    """What the user can do about an extension that is not read, in a few words."""
    return _ADVICE.get(name)


def draco_is_installed() -> bool:
    return find_spec("DracoPy") is not None


def check_extensions(root: Item, issues: Findings) -> None:
    """What is required and not understood is an error, except where only looks depend on it; the rest is told."""
    required = [str(name)[:80] for name in root.entries("extensionsRequired")]
    understood = {*UNDERSTOOD, DRACO} if draco_is_installed() else {*UNDERSTOOD}
    for place, name in enumerate(required):
        if name in understood:
            continue
        where = f"/extensionsRequired[{place}]"
        if name.startswith(_OF_LOOKS):
            effect = advice(name) or "surfaces look different without it"
            issues.add(SEM_EXTENSION_UNKNOWN, where, 0, name=name, effect=effect)
        else:
            effect = advice(name) or "the file says that it cannot be read without it"
            issues.left_out(SEM_EXTENSION_UNKNOWN.failure(0, where, name=name, effect=effect))
    known = {*understood, *required}
    for place, name in enumerate(str(name)[:80] for name in root.entries("extensionsUsed")):
        if name not in known:
            args = {"name": name, "effect": advice(name) or "what it says is left out"}
            issues.add(SEM_EXTENSION_UNKNOWN, f"/extensionsUsed[{place}]", 0, severity=Severity.INFO, **args)
