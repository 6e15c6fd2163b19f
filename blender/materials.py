# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts materials of the original programs to Principled BSDF, with the images that are found."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy

from keyframer.exchange.gltf.write.materials import transform
from keyframer.exchange.kit.colors import linear_color
from keyframer.exchange.kit.images import OPACITY, SHOWS_MATERIAL, alpha_use, covering, is_shown_once, role_of
from keyframer.exchange.kit.numbers import fraction
from keyframer.exchange.kit.surfaces import roughness
from keyframer.scene import Material, TextureMap
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import IMAGES_UNSUPPORTED, MATERIAL_CONVERTED, TEXTURES_UNSUPPORTED
from keyframer.text import safe_text
from keyframer.textures import TextureFinder

from .identity import mark, material_values
from .reading import read_material


class Materials:
    """Makes materials, each once for every combination that meshes need: with or without vertex colours and images."""

    def __init__(self, materials: list[Material], folder: Path | None, report: LossReport) -> None:
        self._materials = materials
        self._finder = TextureFinder([] if folder is None else [folder])
        self._report = report
        self._created: dict[tuple[int, bool, bool], Any] = {}
        self._images: dict[object, Any] = {}

    def get(self, number: int, *, colored: bool, mapped: bool) -> Any:
        """Return the material; None for a negative or missing index."""
        if not 0 <= number < len(self._materials):
            return None
        key = (number, colored, mapped)
        if key not in self._created:
            if not any(known == number for known, _, _ in self._created):
                self._report_conversion(self._materials[number])
            material = self._materials[number]
            self._created[key] = created = self._make(material, colored=colored, mapped=mapped)
            seen = material_values(read_material(created, LossReport("")))
            mark(created, material.name, material=number, stored=material_values(material), seen=seen)
        return self._created[key]

    def _report_conversion(self, material: Material) -> None:
        path = f"/materials/{material.name}"
        self._report.add(MATERIAL_CONVERTED["model"], path, extras=material.extras, model="a Principled BSDF")
        for slot in material.maps:
            if slot not in ("texture1", "opacity", "bump", "self_illumination"):
                self._report.add(TEXTURES_UNSUPPORTED["slot"], f"{path}/maps/{slot}", extras=material.extras, slot=slot)

    def _make(self, material: Material, *, colored: bool, mapped: bool) -> Any:
        created = bpy.data.materials.new(safe_text(material.name) or "Material")
        created.use_nodes = True
        created.use_backface_culling = not material.two_sided
        tree = created.node_tree
        shader = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")
        color = linear_color((0.8, 0.8, 0.8) if material.diffuse is None else material.diffuse).tolist()
        alpha = 1.0 - fraction(material.transparency)
        shader.inputs["Roughness"].default_value = roughness(material)
        shader.inputs["Metallic"].default_value = 0.0
        shader.inputs["Specular IOR Level"].default_value = 0.5 * fraction(material.shininess_strength, 1.0)
        shader.inputs["Alpha"].default_value = alpha
        created.diffuse_color = (*color, alpha)
        shader.inputs["Base Color"].default_value = (*color, 1.0)
        graph = _Graph(tree, shader)
        if mapped:
            self._base_map(graph, material, color)
        if colored:
            attribute = graph.node("ShaderNodeVertexColor", 0)
            attribute.layer_name = "Color"
            graph.base = graph.mix(graph.base or color, attribute.outputs["Color"], 1.0, "MULTIPLY")
        if graph.base is not None:
            graph.link(graph.base, "Base Color")
        glow = fraction(material.self_illumination)
        shader.inputs["Emission Color"].default_value = (*color, 1.0)
        shader.inputs["Emission Strength"].default_value = glow
        if glow > 0 and graph.base is not None:
            graph.link(graph.base, "Emission Color")
        if mapped:
            self._other_maps(graph, material)
        return created

    def _base_map(self, graph: _Graph, material: Material, color: list[float]) -> None:
        """Add the image of the base colour. Its alpha makes holes or shows the colour of the material."""
        node = self._texture(graph, material, "texture1")
        if node is None:
            return
        texture = material.maps["texture1"]
        is_negative = texture.negative and role_of(texture) is None
        output = graph.inverted(node.outputs["Color"]) if is_negative else node.outputs["Color"]
        has_alpha, use = node.image.depth in _DEPTHS_WITH_ALPHA, alpha_use(texture)
        if is_shown_once(texture) or (has_alpha and use == SHOWS_MATERIAL):
            output = graph.mix(color, output, node.outputs["Alpha"], "MIX")
        amount = covering(texture)
        graph.base = graph.mix(color, output, amount, "MIX") if amount < 1.0 else output
        if has_alpha and use == OPACITY:
            graph.multiply_opacity(node.outputs["Alpha"])

    def _other_maps(self, graph: _Graph, material: Material) -> None:
        opacity = self._texture(graph, material, "opacity", data=True)
        if opacity is not None:
            texture = material.maps["opacity"]
            uses_alpha = texture.alpha_source and opacity.image.depth in _DEPTHS_WITH_ALPHA
            output = opacity.outputs["Alpha" if uses_alpha else "Color"]
            graph.multiply_opacity(graph.inverted(output) if texture.negative else output)
        emission = self._texture(graph, material, "self_illumination")
        if emission is not None:
            graph.link(emission.outputs["Color"], "Emission Color")
            graph.shader.inputs["Emission Strength"].default_value = 1.0
        heights = self._texture(graph, material, "bump", data=True)
        if heights is not None:
            bump = graph.node("ShaderNodeBump", 1)
            bump.inputs["Strength"].default_value = fraction(material.maps["bump"].amount, 1.0)
            bump.invert = material.maps["bump"].negative
            graph.tree.links.new(heights.outputs["Color"], bump.inputs["Height"])
            graph.tree.links.new(bump.outputs["Normal"], graph.shader.inputs["Normal"])

    def _texture(self, graph: _Graph, material: Material, slot: str, *, data: bool = False) -> Any:
        """Add the node of an image; returns None if there is no map or no image."""
        texture = material.maps.get(slot)
        if texture is None or not (texture.file_name or texture.embedded):
            return None
        image = self._image(texture, f"/materials/{material.name}/maps/{slot}", data)
        if image is None:
            return None
        node = graph.node("ShaderNodeTexImage", 2)
        node.image = image
        unmirrored = "CLIP" if is_shown_once(texture) else "REPEAT" if texture.tiled else "EXTEND"
        node.extension = "MIRROR" if texture.mirror else unmirrored
        _apply_texture_transform(graph, node, texture)
        return node

    def _image(self, texture: TextureMap, path: str, data: bool) -> Any:
        """Return the image. Images of ``data`` instead of colours, or with ignored alpha, are separate copies."""
        source: object = texture.file_name if texture.embedded is None else id(texture.embedded.data)
        key = (source, data, texture.ignore_alpha)
        if key not in self._images:
            image, reason = self._open(texture, data)
            if image is None:
                self._report.add(IMAGES_UNSUPPORTED["not opened"], path, extras=texture.extras, reason=reason)
            self._images[key] = image
        return self._images[key]

    def _open(self, texture: TextureMap, data: bool) -> tuple[Any, str]:
        """Return the image, or the reason why there is none."""
        if texture.embedded is not None:
            image = bpy.data.images.new(safe_text(texture.embedded.name) or "Image", 1, 1)
            image.pack(data=texture.embedded.data, data_len=len(texture.embedded.data))
            image.source = "FILE"
        else:
            match = self._finder.find(texture.file_name)
            if match.path is None:
                return None, str(match)
            loaded = _loaded_image(str(match.path), data, texture.ignore_alpha)
            if loaded is not None:
                return loaded, ""
            try:
                image = bpy.data.images.load(str(match.path))
            except RuntimeError:
                return None, f"{match}; Blender cannot read it"
        if image.size[0] == 0:
            name = image.name
            bpy.data.images.remove(image)
            return None, f"{name}: Blender cannot read this kind of image"
        if data:
            image.colorspace_settings.name = _DATA
        if texture.ignore_alpha:
            image.alpha_mode = _ALPHA_IGNORED
        return image, ""


_DATA = "Non-Color"
"""the colour space of images that are not colours"""
_ALPHA_IGNORED = "CHANNEL_PACKED"
"""alpha mode of images whose colours are used even where alpha is 0"""
_DEPTHS_WITH_ALPHA = (32, 64, 128)
"""bits of a pixel: four channels of 8, 16 or 32"""


def _loaded_image(path: str, data: bool, ignores_alpha: bool) -> Any:
    """Return the image of a file if it was loaded before for the same use, else None."""
    return next(
        (
            image
            for image in bpy.data.images
            if bpy.path.abspath(image.filepath) == path
            and image.size[0] > 0
            and (image.colorspace_settings.name == _DATA) == data
            and (image.alpha_mode == _ALPHA_IGNORED) == ignores_alpha
        ),
        None,
    )


class _Graph:
    """The nodes of a material, in columns to the left of the shader."""

    def __init__(self, tree: Any, shader: Any) -> None:
        self.tree = tree
        self.shader = shader
        self.base: Any = None
        """the output of the base colour"""

    def node(self, kind: str, column: int) -> Any:
        created = self.tree.nodes.new(kind)
        rows = sum(node.location.x == -300.0 * (column + 1) for node in self.tree.nodes)
        created.location = (-300.0 * (column + 1), 300.0 - 300.0 * rows)
        return created

    def link(self, output: Any, socket: str) -> None:
        self.tree.links.new(output, self.shader.inputs[socket])

    def inverted(self, output: Any) -> Any:
        """Return the negative of a colour."""
        created = self.node("ShaderNodeInvert", 1)
        self.tree.links.new(output, created.inputs["Color"])
        return created.outputs["Color"]

    def multiply_opacity(self, output: Any) -> None:
        """Multiply the opacity by an output."""
        opacity = self.shader.inputs["Alpha"]
        product = self.node("ShaderNodeMath", 1)
        product.operation = "MULTIPLY"
        self.tree.links.new(output, product.inputs[0])
        product.inputs[1].default_value = opacity.default_value
        if opacity.is_linked:
            self.tree.links.new(opacity.links[0].from_socket, product.inputs[1])
        self.tree.links.new(product.outputs[0], opacity)

    def mix(self, first: Any, second: Any, factor: Any, blend: str) -> Any:
        """Return a mix of colours; ``first`` is an output or a colour, ``factor`` an output or a number."""
        created = self.node("ShaderNodeMix", 1)
        created.data_type, created.blend_type = "RGBA", blend
        sockets = {socket.identifier: socket for socket in created.inputs}
        if isinstance(factor, float):
            sockets["Factor_Float"].default_value = factor
        else:
            self.tree.links.new(factor, sockets["Factor_Float"])
        if isinstance(first, list):
            sockets["A_Color"].default_value = (*first, 1.0)
        else:
            self.tree.links.new(first, sockets["A_Color"])
        self.tree.links.new(second, sockets["B_Color"])
        return next(socket for socket in created.outputs if socket.identifier == "Result_Color")


def _apply_texture_transform(graph: _Graph, node: Any, texture: TextureMap) -> None:
    """Apply the texture transform to an image node. `transform` returns it for glTF, where v points down; here v points
    up."""
    values = transform(texture)
    if not values:
        return
    (x, y), angle = values.get("offset", (0.0, 0.0)), values.get("rotation", 0.0)
    scale_u, scale_v = values.get("scale", (1.0, 1.0))
    mapping = graph.node("ShaderNodeMapping", 3)
    mapping.inputs["Scale"].default_value = (scale_u, scale_v, 1.0)
    mapping.inputs["Rotation"].default_value = (0.0, 0.0, angle)
    location = (x + math.sin(angle) * scale_v, 1.0 - y - math.cos(angle) * scale_v, 0.0)
    mapping.inputs["Location"].default_value = location
    coordinates = graph.node("ShaderNodeTexCoord", 4)
    graph.tree.links.new(coordinates.outputs["UV"], mapping.inputs["Vector"])
    graph.tree.links.new(mapping.outputs["Vector"], node.inputs["Vector"])
