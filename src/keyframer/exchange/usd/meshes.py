"""Writes meshes: points, faces, normals and texture coordinates of corners, colours, and a subset for each material."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from keyframer.arrays import Array, Flags, Indices, Singles
from keyframer.exchange.kit.colors import linear_color
from keyframer.exchange.kit.faces import DrawableFaces, drawable_faces, report_faces, smoothing_masks, unit_normals
from keyframer.exchange.kit.numbers import bounds, single
from keyframer.exchange.kit.vertex_splitting import Surface, corner_normals
from keyframer.exchange.usd.context import Context
from keyframer.exchange.usd.layer import Prim, Property, Samples, row, tokens
from keyframer.exchange.usd.materials import Materials
from keyframer.formats import properties_of
from keyframer.scene import Mesh, Node
from keyframer.scene.losses import MATERIAL_CONVERTED, PART_WRITTEN

_TEXTURE_SETS = {"uv": "st", "uv2": "st1"}


class Meshes:
    """Writes the meshes of nodes. A mesh that several nodes use is written once; the others inherit from it."""

    def __init__(self, context: Context, materials: Materials) -> None:
        self._context, self._materials = context, materials
        smooth, default = context.options.smooth, properties_of(context.scene.source_format).smooth_without_groups
        self._smooth = default if smooth is None else smooth
        self._first: dict[int, Prim | None] = {}
        """the first prim of each mesh without a skin and a morph"""

    def write(self, number: int, visible: bool, parent: Prim) -> Prim | None:
        """Write the mesh of a node below a prim; None if it has no valid face."""
        node: Node = self._context.scene.nodes[number]
        assert node.mesh is not None
        mesh = self._context.scene.meshes[node.mesh]
        is_shared = node.skin is None and node.morph is None
        if is_shared and node.mesh in self._first:
            first = self._first[node.mesh]
            if first is None:
                return None
            prim = parent.add("Mesh", mesh.name or node.name)
            prim.metadata.append(f"prepend inherits = <{first.path}>")
        else:
            drawable = drawable_faces(mesh, len(self._context.scene.materials))
            report_faces(mesh, drawable, self._context.report)
            written = parent.add("Mesh", mesh.name or node.name) if len(drawable) else None
            if is_shared:
                self._first[node.mesh] = written
            if written is None:
                return None
            prim = written
            self._write(prim, mesh, drawable)
        self._place(prim, number, node, visible)
        return prim

    def _place(self, prim: Prim, number: int, node: Node, visible: bool) -> None:
        """Set the pivot and the visibility."""
        pivot = np.asarray(node.pivot, np.float64)
        has_pivot = node.skin is None and bool(pivot.any())
        if has_pivot:
            prim.set("double3 xformOp:translate:pivot", row(self._context.axes.vectors(pivot).tolist()))
        prim.set("uniform token[] xformOpOrder", tokens(["!invert!xformOp:translate:pivot"] if has_pivot else []))
        motion = self._context.motions.motions.get((number, "visible"))
        if motion is not None and not motion.sampler.is_still:
            shown = ['"inherited"' if value > 0.5 else '"invisible"' for value in motion.sampler.values[:, 0]]
            prim.set("token visibility.timeSamples", Samples(self._context.codes(motion.sampler.times), shown))
        else:
            prim.set("token visibility", '"inherited"' if visible else '"invisible"')

    def _write(self, prim: Prim, mesh: Mesh, drawable: DrawableFaces) -> None:
        """Write what is small; the arrays are made when the text is written, one after the other."""
        report = self._context.report
        prim.set("uniform token subdivisionScheme", '"none"')
        materials = drawable.used_materials()
        if "colors" in drawable.numbers:
            report.add(MATERIAL_CONVERTED["vertex colours"], f"/meshes/{mesh.name}/colors", extras=mesh.extras)
        elif materials != [-1]:
            number = next(number for number in materials if number >= 0)
            prim.set("color3f[] primvars:displayColor", f"[{self._materials.color(number)}]")
        texture_sets = {name for table, name in _TEXTURE_SETS.items() if table in drawable.numbers}
        self._materials_of_faces(prim, mesh, drawable, materials, texture_sets)
        report.add(PART_WRITTEN["part"], f"/meshes/{mesh.name}", extras=mesh.extras)
        prim.late = partial(self._arrays, mesh)

    def _arrays(self, mesh: Mesh) -> Iterator[Property]:
        """Yield points, faces, normals, texture coordinates and colours."""
        drawable = drawable_faces(mesh, len(self._context.scene.materials))
        positions = single(self._context.axes.vectors(mesh.positions))
        low, high = bounds(positions)
        yield "float3[] extent", f"[{row(single(low))}, {row(single(high))}]"
        yield "point3f[] points", positions
        yield "int[] faceVertexCounts", np.full(len(drawable), 3, np.int32)
        yield "int[] faceVertexIndices", drawable.faces.reshape(-1)
        yield from self._normals(mesh, drawable, positions)
        for table, name in _TEXTURE_SETS.items():
            if table in drawable.numbers:
                uv = single(getattr(mesh, table))[:, :2]
                if not self._context.scene.space.v_up:
                    uv = uv * np.array((1, -1), np.float32) + np.array((0, 1), np.float32)
                yield from _corner_values("texCoord2f[]", name, uv, drawable, table)
        if "colors" in drawable.numbers:
            colors = single(np.round(linear_color(np.asarray(mesh.colors)), 7))
            yield from _corner_values("color3f[]", "displayColor", colors, drawable, "colors")
            if mesh.color_alpha is not None:
                alpha = single(np.clip(np.nan_to_num(np.asarray(mesh.color_alpha, np.float64)), 0.0, 1.0))
                yield from _corner_values("float[]", "displayOpacity", alpha, drawable, "colors")

    def _normals(self, mesh: Mesh, drawable: DrawableFaces, positions: Singles) -> Iterator[Property]:
        masks = (
            smoothing_masks(drawable, self._materials.flat, self._smooth) if mesh.normals is None else drawable.masks
        )
        surface = Surface(drawable.faces, positions, masks, None, [])
        normals, numbers = corner_normals(surface, self._smooth)
        if mesh.normals is not None and "normals" in drawable.numbers:
            stated = drawable.numbers["normals"]
            chosen = (drawable.faces if stated is None else np.maximum(stated, 0)).reshape(-1)
            given = self._context.axes.vectors(np.asarray(mesh.normals, np.float64))
            normals = unit_normals(given, np.minimum(chosen, len(given) - 1), normals[numbers])
            numbers = np.arange(len(normals))
        yield "normal3f[] primvars:normals", normals, 'interpolation = "faceVarying"'
        yield "int[] primvars:normals:indices", numbers

    def _materials_of_faces(
        self, prim: Prim, mesh: Mesh, drawable: DrawableFaces, materials: list[int], texture_sets: set[str]
    ) -> None:
        scene = self._context.scene
        two_sided = [number >= 0 and scene.materials[number].two_sided for number in materials]
        if any(two_sided):
            prim.set("uniform bool doubleSided", "1")
            if not all(two_sided):
                self._context.report.add(
                    MATERIAL_CONVERTED["two-sided"], f"/meshes/{mesh.name}/two_sided", extras=mesh.extras
                )
        if len(materials) == 1:
            if materials[0] >= 0:
                _bind(prim, self._materials.prim(materials[0], texture_sets))
            return
        prim.set("uniform token subsetFamily:materialBind:familyType", '"nonOverlapping"')
        assert drawable.materials is not None
        for number in materials:
            if number < 0:
                continue
            subset = prim.add("GeomSubset", scene.materials[number].name)
            chosen: Flags = drawable.materials == number
            subset.set("uniform token elementType", '"face"')
            subset.set("uniform token familyName", '"materialBind"')
            subset.set("int[] indices", np.flatnonzero(chosen).astype(np.int32))
            _bind(subset, self._materials.prim(number, texture_sets))


def _bind(prim: Prim, material: Prim) -> None:
    prim.schemas.append("MaterialBindingAPI")
    prim.relate("material:binding", material)


def _corner_values(kind: str, name: str, values: Array, drawable: DrawableFaces, table: str) -> Iterator[Property]:
    """Yield a primvar with values of corners, and their indices."""
    numbers = drawable.numbers[table]
    indices: Indices = (drawable.faces if numbers is None else np.maximum(numbers, 0)).reshape(-1)
    yield f"{kind} primvars:{name}", values, 'interpolation = "faceVarying"'
    yield f"int[] primvars:{name}:indices", np.minimum(indices, len(values) - 1)
