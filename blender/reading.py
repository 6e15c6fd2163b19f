# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the materials of Blender: colour, gloss, opacity, emission and images."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy

from keyframer.exchange.kit.colors import shown_color
from keyframer.scene import Material, TextureMap
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import IMAGES_UNSUPPORTED

from .identity import name_of


def read_material(material: Any, report: LossReport) -> Material:
    """Read colour, gloss, opacity, emission and images of the Principled BSDF; in a material without it, only the
    colour in the viewport."""
    nodes = list(material.node_tree.nodes) if material.node_tree is not None else []
    shader = next((node for node in nodes if node.type == "BSDF_PRINCIPLED"), None)
    if shader is None:
        return Material(material.name, diffuse=tuple(shown_color(material.diffuse_color[:3]).tolist()))
    inputs = shader.inputs
    created = Material(material.name, diffuse=tuple(shown_color(inputs["Base Color"].default_value[:3]).tolist()))
    created.transparency = 1.0 - min(max(inputs["Alpha"].default_value, 0.0), 1.0)
    created.two_sided = not material.use_backface_culling
    rough = min(max(inputs["Roughness"].default_value, 0.05), 1.0)
    # The roughness for an exponent of 2^(10 s) is sqrt(2 / (exponent + 2)); see `roughness` in the library.
    created.shininess = min(max(math.log2(max(2.0 / rough**2 - 2.0, 1.0)) / 10.0, 0.0), 1.0)
    created.shininess_strength = min(2.0 * max(inputs["Specular IOR Level"].default_value, 0.0), 1.0)
    created.self_illumination = min(max(inputs["Emission Strength"].default_value, 0.0), 1.0)
    written: list[Any] = []
    for socket, slot in _SLOTS.items():
        image = next((image for image in _images_behind(inputs[socket]) if image not in written), None)
        is_supported = slot != "bump" or any(link.from_node.type == "BUMP" for link in inputs[socket].links)
        if image is not None and is_supported:
            created.maps[slot] = TextureMap(Path(bpy.path.abspath(image.filepath) or image.name).name)
            written.append(image)
    unsupported = {image.name for socket in inputs for image in _images_behind(socket) if image not in written}
    for name in sorted(unsupported):
        report.add(IMAGES_UNSUPPORTED["material"], f"/materials/{name_of(material)}/images", image=name)
    return created


_SLOTS = {"Base Color": "texture1", "Alpha": "opacity", "Emission Color": "self_illumination", "Normal": "bump"}
"""inputs of the shader whose images are written; an image is written once"""


def _images_behind(socket: Any) -> list[Any]:
    """Return the images that a socket is linked to, directly or through other nodes."""
    waiting, seen, images = [link.from_node for link in socket.links], set(), []
    while waiting:
        node = waiting.pop(0)
        if node.name in seen:
            continue
        seen.add(node.name)
        if node.type == "TEX_IMAGE" and node.image is not None:
            images.append(node.image)
        waiting += [link.from_node for entry in node.inputs for link in entry.links]
    return images
