"""Read material files (``.material.xml``): texture and colour of the engine's ``model.shader``, as its converter writes
them. The meaning of everything else depends on the shader: it is kept in the extras of the material.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from keyframer.catalogue import STRUCT_SYNTAX
from keyframer.errors import FormatError
from keyframer.files import read_bytes
from keyframer.formats.document import Document
from keyframer.formats.horde3d.bridge.scene_graph import SceneFile
from keyframer.formats.kit.scene_reading import Reporter, files_among
from keyframer.limits import Limits
from keyframer.scene import Material, TextureMap
from keyframer.wire.xml_tree import Element, parse

_TEXTURE, _COLOR = "albedoMap", "matDiffuseCol"


def materials_beside(path: Path, model: Document) -> dict[str, bytes]:
    """Return the material files in the folder of a scene file that have the names there, by the paths that it states in
    the engine's content (``models/man/civilian1.material.xml``)."""
    found: dict[str, bytes] = {}
    graph = SceneFile(model, Reporter(model, model.issues.copy()))
    for stated in dict.fromkeys(part.element.get("material") for part in graph.parts):
        name = re.split(r"[\\/]", stated)[-1]
        for file in files_among([path.parent / name] if name.lower().endswith(".xml") else []):
            try:
                found[stated] = read_bytes(file)
            except (OSError, FormatError):
                continue
    return found


def read_material(material: Material, data: bytes, name: str, limits: Limits) -> dict[str, Any]:
    """Set the texture and the colour of a material; return the extras. Raises `FormatError` for another file."""
    root = parse(data, name, limits)
    if root.tag != "Material":
        raise STRUCT_SYNTAX.failure(root.offset, f"/{root.path}", wanted="a Material", found=root.tag[:40])
    samplers = {sampler.get("name"): sampler.get("map") for sampler in root.all("Sampler")}
    uniforms = {uniform.get("name"): [_number(uniform, part) for part in "abcd"] for uniform in root.all("Uniform")}
    texture, color = samplers.pop(_TEXTURE, ""), uniforms.pop(_COLOR, None)
    if texture:
        material.maps["texture1"] = TextureMap(texture, texture.encode("utf-8", "replace"))
    extras: dict[str, Any] = {}
    if color is not None:
        material.diffuse = (color[0], color[1], color[2])
        if color[3] not in (0.0, 1.0):  # not stated, or opaque: model.shader only leaves out what has less than 0.01
            extras["alpha"] = color[3]
    shader = root.child("Shader")
    extras |= {
        "shader": "" if shader is None else shader.get("source"),
        "shader_flags": [flag.get("name") for flag in root.all("ShaderFlag")],
        "samplers": samplers,
        "uniforms": uniforms,
        "class": root.get("class"),
        "link": root.get("link"),
    }
    return {key: value for key, value in extras.items() if value or key == "alpha"}


def _number(element: Element, name: str) -> float:
    """Return a number from an attribute; 0 if it is missing or invalid, as in the engine."""
    try:
        number = float(element.get(name, "0"))
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0
