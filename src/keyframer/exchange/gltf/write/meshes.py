"""Writes meshes and skins: positions, normals, texture coordinates, colours, morph targets, joints and weights."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keyframer.arrays import Array, Indices
from keyframer.exchange.gltf.conventions import Json, attach_extras, json_numbers, non_default_fields, raw_name
from keyframer.exchange.gltf.write.compact import EXTENSION, NEED_EXTENSION, Grid, fractions
from keyframer.exchange.gltf.write.materials import Materials
from keyframer.exchange.gltf.write.options import Context
from keyframer.exchange.kit.faces import (
    DrawableFaces,
    colors_of,
    drawable_faces,
    report_faces,
    smoothing_masks,
    unit_normals,
)
from keyframer.exchange.kit.numbers import single
from keyframer.exchange.kit.skinning import bind_error, has_unbound_vertices, influences
from keyframer.exchange.kit.vertex_splitting import (
    Split,
    Surface,
    cluster_normals,
    equal_row_indices,
    face_normals,
    mirrored_corners,
    split_vertices,
    vertex_tangents,
)
from keyframer.formats import properties_of
from keyframer.scene import Mesh, Morph, Skin
from keyframer.scene.losses import (
    FIELD_KEPT,
    GEOMETRY_LEFT_OUT,
    PART_WRITTEN,
    SKIN_CHANGED,
    VALUES_ROUNDED,
)
from keyframer.text import safe_text

_TEXTURE_SETS = {"uv": "TEXCOORD_0", "uv2": "TEXCOORD_1"}
_FACES_SPLIT = 20_000
"""maximum number of faces of small meshes that are split together: some megabytes of temporaries"""


class Meshes:
    """Writes the meshes of a scene, each once for each morph and skin that it is used with."""

    def __init__(self, context: Context, materials: Materials, grids: dict[int, Grid]) -> None:
        """``grids`` are those of the meshes whose positions become integers."""
        self._context = context
        self._materials = materials
        self._grids = grids
        self._written: dict[tuple[int, int | None, int | None], int | None] = {}
        smooth = context.options.smooth
        default = properties_of(context.scene.source_format).smooth_without_groups
        self._smooth = default if smooth is None else smooth
        self._waiting = deque(dict.fromkeys(node.mesh for node in context.scene.nodes if node.mesh is not None))
        """indices of the meshes that are not split yet, in the order in which they will be needed"""
        self._drafts: dict[int, _MeshDraft] = {}
        self._axes = _axes_of(context.scene.meshes)

    def write(self, number: int, morph: Morph | None = None, skin: int | None = None) -> int | None:
        """Return the glTF mesh for a mesh of the scene; None if it has no valid face."""
        key = (number, None if morph is None else id(morph), skin)
        if key not in self._written:
            self._written[key] = self._write(number, morph, skin)
        return self._written[key]

    def _draft(self, number: int) -> _MeshDraft:
        """Return a mesh with split vertices. Small meshes that will be needed next are split together with it."""
        if number not in self._drafts:
            meshes, numbers, faces = self._context.scene.meshes, [number], 0
            if self._waiting and self._waiting[0] == number:
                faces = len(meshes[self._waiting.popleft()].corners)
                while self._waiting and faces + len(meshes[self._waiting[0]].corners) <= _FACES_SPLIT:
                    numbers.append(self._waiting.popleft())
                    faces += len(meshes[numbers[-1]].corners)
            drafts = {mesh_number: self._new_draft(meshes[mesh_number]) for mesh_number in numbers}
            with_faces = [draft for draft in drafts.values() if draft.surface is not None]
            splits = (
                split_vertices([draft.surface for draft in with_faces if draft.surface is not None], self._smooth)
                if with_faces
                else []
            )
            for draft, split in zip(with_faces, splits, strict=True):
                draft.split = split
            self._drafts.update(drafts)
        return self._drafts.pop(number)

    def _new_draft(self, mesh: Mesh) -> _MeshDraft:
        drawable = drawable_faces(mesh, len(self._context.scene.materials))
        if not len(drawable):
            return _MeshDraft(drawable, None)
        given = np.asarray(mesh.positions)
        # Finite, and rounded as they will be read: normals must match the written positions.
        positions = single(self._context.axes.vectors(given) if self._context.axes.mirrored else given)
        materials = drawable.used_materials() if self._materials.any_normal_map else []
        attributes = self._attribute_indices(mesh, drawable, any(map(self._materials.needs_tangents, materials)))
        # Stated normals are attributes of corners: then smoothing groups split nothing.
        masks: Array | None = np.ones(len(drawable), np.int64)
        if mesh.normals is None:
            masks = smoothing_masks(drawable, self._materials.flat, self._smooth)
        return _MeshDraft(drawable, Surface(drawable.faces, positions, masks, drawable.materials, attributes))

    def _write(self, number: int, morph: Morph | None, skin: int | None) -> int | None:
        mesh = self._context.scene.meshes[number]
        path = f"/meshes/{mesh.name}"
        report = self._context.report
        draft = self._draft(number)
        drawable, surface = draft.drawable, draft.surface
        report_faces(mesh, drawable, report)
        if surface is None:
            return None
        split = draft.split
        attributes = self._attributes(mesh, drawable, split)
        if skin is not None:
            attributes.update(self._skin_attributes(mesh, skin, split))
        targets = [] if morph is None else self._targets(mesh, morph, surface, split)
        grid = self._grids.get(number)
        primitives = self._primitives(split, attributes, targets, grid)
        name = safe_text(mesh.name)
        written: Json = {**({"name": name} if name else {}), "primitives": primitives}
        if targets and morph is not None:
            written["extras"] = {"targetNames": [safe_text(name) for name in morph.names]}
        self._extras(number, drawable, split, written)
        if grid is not None:
            attach_extras(written, grid.extras())
        self._context.asset.meshes.append(written)
        unused = len(surface.positions) - split.used_vertices
        if unused:
            report.add(GEOMETRY_LEFT_OUT["vertices"], f"{path}/unused_vertices", extras=mesh.extras, count=unused)
        self._report_rounding(path, mesh, grid)
        return len(self._context.asset.meshes) - 1

    def _attribute_indices(self, mesh: Mesh, drawable: DrawableFaces, with_mirroring: bool) -> list[Indices]:
        """Return `Surface.attributes`: the values of corners and, ``with_mirroring``, mirrored corners."""
        attributes: list[Indices] = []
        for name, numbers in drawable.numbers.items():
            # Equal colours of different opacity are different values.
            values = getattr(mesh, name) if name != "colors" else colors_of(mesh)
            if name == "normals" or numbers is not None:
                indices = drawable.faces if numbers is None else np.maximum(numbers, 0)
                attributes.append(equal_row_indices(values)[np.minimum(indices, len(values) - 1)].reshape(-1))
        if with_mirroring and mesh.uv is not None:
            numbers = drawable.numbers.get("uv")
            corners = drawable.faces if numbers is None else np.maximum(numbers, 0)
            attributes.append(mirrored_corners(np.asarray(mesh.uv, np.float64), corners))
        return attributes

    def _attributes(self, mesh: Mesh, drawable: DrawableFaces, split: Split) -> dict[str, Array]:
        """Return arrays over all vertices, by glTF names."""
        attributes: dict[str, Array] = {"POSITION": split.positions, "NORMAL": split.normals}
        for name, numbers in drawable.numbers.items():
            count = len(getattr(mesh, name))
            number = split.vertex if numbers is None else np.maximum(numbers.reshape(-1)[split.corner], 0)
            number = np.minimum(number, count - 1)
            if name == "normals":
                given = self._context.axes.vectors(np.asarray(mesh.normals, np.float64))
                attributes["NORMAL"] = unit_normals(given, number, split.normals)
            elif name == "colors":
                attributes["COLOR_0"] = single(colors_of(mesh, linear=True))[number]
            else:
                uv = single(getattr(mesh, name)).take(number, axis=0)
                if self._context.scene.space.v_up:
                    uv[:, 1] = 1.0 - uv[:, 1]
                attributes[_TEXTURE_SETS[name]] = uv
        if "TEXCOORD_1" in attributes:
            attributes.setdefault("TEXCOORD_0", attributes["TEXCOORD_1"])  # sets must be numbered from 0
        return attributes

    def _targets(self, mesh: Mesh, morph: Morph, surface: Surface, split: Split) -> list[dict[str, Array]]:
        """Return the differences of each shape from the mesh."""
        cluster = split.clusters[split.corner]
        counts, corner_counts = np.array([split.cluster_count]), np.array([len(split.clusters)])
        targets = []
        for shape in morph.positions:
            positions = single(self._context.axes.vectors(shape))
            normals = cluster_normals(face_normals(positions, surface.faces), split.clusters, counts, corner_counts)
            targets.append(
                {
                    "POSITION": single((positions - surface.positions)[split.vertex]),
                    "NORMAL": single(normals[cluster] - split.normals),
                }
            )
        self._context.report.add(
            PART_WRITTEN["morph"], f"/meshes/{mesh.name}/morph", extras=mesh.extras, count=len(targets)
        )
        return targets

    def _skin_attributes(self, mesh: Mesh, skin: int, split: Split) -> dict[str, Array]:
        joints, weights = influences(self._context.scene.skins[skin], len(mesh.positions), self._context.report)
        vertex = split.vertex
        attributes: dict[str, Array] = {}
        for set_number in range(joints.shape[1] // 4):
            columns = slice(4 * set_number, 4 * set_number + 4)
            attributes[f"JOINTS_{set_number}"] = np.ascontiguousarray(joints[vertex, columns])
            attributes[f"WEIGHTS_{set_number}"] = np.ascontiguousarray(weights[vertex, columns])
        return attributes

    def _report_rounding(self, path: str, mesh: Mesh, grid: Grid | None) -> None:
        """Report that a mesh is exact, or what is rounded."""
        report = self._context.report
        if not self._context.options.compact:
            report.add(PART_WRITTEN["part"], path, extras=mesh.extras)
        elif grid is None:
            report.add(VALUES_ROUNDED["mesh"], path, extras=mesh.extras, rounded="normals of 8 bits")
        else:
            error = 0.5 * grid.step
            report.add(
                VALUES_ROUNDED["mesh"],
                path,
                error=error,
                extras=mesh.extras,
                rounded="positions of 16 bits, normals of 8",
            )

    def _vertices(self, name: str, array: Array, grid: Grid | None) -> int:
        """Write an attribute, as integers if the file is compact; returns the accessor."""
        asset, rows = self._context.asset, None
        if self._context.options.compact:
            rows = fractions(name, array) if name != "POSITION" or grid is None else grid.rows(array)
        if rows is None:
            return asset.buffers.vertices(array, bounds=name == "POSITION")
        if name in NEED_EXTENSION:
            asset.extensions.add(EXTENSION)
            asset.required_extensions.add(EXTENSION)
        return asset.buffers.vertices(rows, normalized=name != "POSITION", bounds=name == "POSITION")

    def _primitives(
        self, split: Split, attributes: dict[str, Array], targets: list[dict[str, Array]], grid: Grid | None
    ) -> list[Json]:
        buffers = self._context.asset.buffers
        written: list[Json] = []
        for part in split.primitives:
            arrays = {name: array[part.vertices] for name, array in attributes.items()}
            if "TEXCOORD_0" in arrays and self._materials.needs_tangents(part.material):
                points, normals, uv = (arrays[name].astype(np.float64) for name in ("POSITION", "NORMAL", "TEXCOORD_0"))
                arrays["TANGENT"] = single(vertex_tangents(points, normals, uv, part.triangles))
            primitive: Json = {
                "attributes": {name: self._vertices(name, array, grid) for name, array in arrays.items()},
                "indices": buffers.indices(part.triangles.reshape(-1)),
                "material": self._materials.write(
                    part.material,
                    mapped=self._materials.can_show_images(part.material, arrays),
                    translucent=_is_translucent(arrays),
                ),
            }
            if targets:
                primitive["targets"] = [
                    {
                        name: buffers.vertices(array[part.vertices], bounds=name == "POSITION")
                        for name, array in target.items()
                    }
                    for target in targets
                ]
            written.append(primitive)
        return written

    def _extras(self, number: int, drawable: DrawableFaces, split: Split, target: Json) -> None:
        """Attach data that glTF cannot store; arrays of faces are in the order of the written triangles."""
        mesh = self._context.scene.meshes[number]
        content = non_default_fields(mesh, "casts_shadows", "receives_shadows", "dynamic", "bounding_sphere")
        if number in self._axes:
            content["axes"] = self._axes[number]
        content.update(raw_name(mesh.raw_name, mesh.name, target.get("name")))
        if "normals" in drawable.numbers:
            content["normals"] = "stated"
        all_faces = slice(None)
        order = split.primitives[0].faces
        if len(split.primitives) > 1:
            order = np.concatenate([np.asarray(part.faces) for part in split.primitives])
        for name, column in (("smoothing", drawable.masks), ("edges", drawable.edges)):
            if column is not None and len(column):
                masks = np.asarray(column[all_faces if isinstance(order, slice) else order])
                small = np.min_scalar_type(int(masks.max()))
                content[name] = masks.astype(small) if int(masks.min()) >= 0 else masks
                self._context.report.add(FIELD_KEPT["field"], f"/meshes/{mesh.name}/{name}", extras=mesh.extras)
        if mesh.extras:
            content["extras"] = mesh.extras
        attach_extras(target, content)


def _axes_of(meshes: list[Mesh]) -> dict[int, list[Any]]:
    """Return the rows of the axes of each mesh that has any; all are converted together."""
    numbers = [number for number, mesh in enumerate(meshes) if mesh.axes is not None]
    rows = json_numbers(np.concatenate([np.asarray(meshes[number].axes) for number in numbers])) if numbers else []
    return {number: rows[4 * place : 4 * place + 4] for place, number in enumerate(numbers)}


def _is_translucent(arrays: dict[str, Array]) -> bool:
    """Return whether some vertices are not opaque."""
    colors = arrays.get("COLOR_0")
    return colors is not None and colors.shape[1] == 4 and bool((colors[:, 3] < 1.0).any())


@dataclass(eq=False, repr=False, slots=True)
class _MeshDraft:
    """A mesh under construction: its drawable faces and the resulting vertices."""

    drawable: DrawableFaces
    surface: Surface | None
    """None without faces"""
    split: Split = field(init=False)
    """set if there are faces"""


class Skins:
    """Writes skins, after their joints: ``joint_nodes`` has the glTF node of each node of the scene."""

    def __init__(self, context: Context, joint_nodes: list[int], root: int) -> None:
        self._context = context
        self._joint_nodes = joint_nodes
        self._root = root
        self._written: dict[int, int] = {}

    def write(self, number: int, mesh: int) -> int:
        """Return the glTF skin for a skin of the scene; ``mesh`` is the mesh of the scene that it moves."""
        if number not in self._written:
            self._written[number] = self._write(self._context.scene.skins[number], mesh)
        return self._written[number]

    def _write(self, skin: Skin, mesh: int) -> int:
        context = self._context
        joints = [self._joint_nodes[node] for node in skin.joints]
        matrices = context.axes.matrices(np.asarray(skin.inverse_bind, np.float64).reshape(-1, 4, 4))
        if has_unbound_vertices(skin, len(context.scene.meshes[mesh].positions)):
            joints.append(self._root)
            matrices = np.concatenate([matrices, np.eye(4)[None]])
        columns = single(np.swapaxes(matrices, -1, -2))  # glTF stores columns
        columns[:, :, 3] = (0.0, 0.0, 0.0, 1.0)
        written: Json = {
            "joints": joints,
            "inverseBindMatrices": context.asset.buffers.matrices(np.ascontiguousarray(columns.reshape(-1, 16))),
        }
        if skin.name:
            written["name"] = safe_text(skin.name)
        if skin.extras:
            attach_extras(written, {"extras": skin.extras})
        path = f"/skins/{skin.name}"
        error = bind_error(skin, context.scene.meshes[mesh].positions)
        if error > context.options.max_error * context.size:
            context.report.add(SKIN_CHANGED["bind positions"], path, error=error, extras=skin.extras)
        else:
            context.report.add(PART_WRITTEN["part"], path, extras=skin.extras)
        context.asset.skins.append(written)
        return len(context.asset.skins) - 1
