"""Write the contents of objects: materials with their maps, meshes in world space, morphs and skins."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Floats, Ints
from keyframer.curves import Interpolation, Track, compile_track, even_times
from keyframer.curves.key_reduction import vector_distance
from keyframer.formats.ase import SLOTS
from keyframer.formats.ase.bridge.declared_fields import MAP, MATERIAL, SHADINGS, block, line, quotable
from keyframer.formats.ase.bridge.declared_fields import shortest_decimals as shortest
from keyframer.formats.ase.bridge.tracks import Motion
from keyframer.formats.ase.records import (
    AseRecord,
    Block,
    ColorFaceList,
    ColorVertexList,
    FaceList,
    Line,
    Normals,
    TextureFaceList,
    TextureVertexList,
    VertexList,
)
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.key_tracks import KeyFitter, is_eased
from keyframer.formats.kit.scene_writing import CannotMerge, plain_path, rest_world
from keyframer.limits import ensure_budget, spend
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.posing.vertices import skinned
from keyframer.scene import Material, Mesh, Node, Scene, Skin
from keyframer.scene.cameras_lights import is_aimed
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import (
    FIELD_UNSUPPORTED,
    MATERIAL_CONVERTED,
    MORPH_CONVERTED,
    MORPHS_UNSUPPORTED,
    SKIN_CHANGED,
    TEXTURES_UNSUPPORTED,
)

_SKIN_MOMENTS = 17
"""moments at which the vertices of a skin are compared with those that readers get"""


class MaterialWriter:
    """Writes the materials of a scene: separately, or as sub-materials of one if a mesh has several."""

    def __init__(
        self, scene: Scene, report: LossReport, original_places: Mapping[int, tuple[int, int]] | None = None
    ) -> None:
        self.scene = scene
        self.report = report
        self.original_places = original_places
        """for each material the MATERIAL_REF of an object and the MESH_MTLID of a face that select it in the original;
        None for a new document
        """
        numbers_of_meshes = [np.unique(mesh.face_materials) for mesh in scene.meshes if mesh.face_materials is not None]
        self.multi = original_places is None and any((numbers >= 0).sum() > 1 for numbers in numbers_of_meshes)
        """whether all materials are sub-materials of one"""
        self.parts: dict[int, Hashable] = {}

    def material_list(self) -> Block:
        materials = []
        for number, material in enumerate(self.scene.materials):
            reference = number if self.original_places is None else self.original_places[number][0]
            lines = (*self._lines(material), *self._maps(material))
            materials.append(block("SUBMATERIAL" if self.multi else "MATERIAL", *lines, values=(reference,)))
            self.parts[id(materials[-1])] = ("materials", number)
        if self.multi:
            head = (line("MATERIAL_NAME", b"materials"), line("MATERIAL_CLASS", b"Multi/Sub-Object"))
            materials = [block("MATERIAL", *head, line("NUMSUBMTLS", len(materials)), *materials, values=(0,))]
        return block("MATERIAL_LIST", line("MATERIAL_COUNT", len(materials)), *materials)

    def _lines(self, material: Material) -> Iterator[AseRecord]:
        path = plain_path("materials", material.name)
        yield line("MATERIAL_NAME", quotable(material.name))
        yield line("MATERIAL_CLASS", b"Standard")
        yield from write_declared_fields(material, MATERIAL)
        if material.shading not in (None, *SHADINGS.values()):
            self.report.add(FIELD_UNSUPPORTED["value"], f"{path}/shading", what=f"the shading {material.shading!r}")
        if material.falloff_inwards and not material.transparency_falloff:
            self.report.add(FIELD_UNSUPPORTED["falloff direction"], f"{path}/falloff_inwards")

    def _maps(self, material: Material) -> Iterator[Block]:
        keywords = {slot: keyword.decode() for keyword, slot in SLOTS.items()}
        for number, (slot, texture) in enumerate(material.maps.items(), start=1):
            if slot not in keywords:
                path = f"{plain_path('materials', material.name)}/maps/{slot}"
                self.report.add(TEXTURES_UNSUPPORTED["slot"], path, slot=slot)
                continue
            head = (line("MAP_NAME", f"Map #{number}".encode()), line("MAP_CLASS", b"Bitmap"), line("MAP_SUBNO", 1))
            amount, *rest = write_declared_fields(texture, MAP)
            image = (line("BITMAP", quotable(texture.file_name)), line("MAP_TYPE", b"Screen"))
            yield block(keywords[slot], *head, amount, *image, *rest)

    def object_material(
        self, path: str, face_materials: npt.NDArray[np.integer] | None, count: int
    ) -> tuple[int | None, Ints]:
        """Return the MATERIAL_REF of an object (None without a material), and the MESH_MTLID of its ``count`` faces.

        Raises `CannotMerge` if the materials are not sub-materials of one material of the original.
        """
        materials = np.full(count, -1) if face_materials is None else np.asarray(face_materials, np.int64)
        materials = np.where((materials >= 0) & (materials < len(self.scene.materials)), materials, -1)
        valid = materials[materials >= 0]
        if not len(valid):
            return None, np.zeros(count, np.int64)
        if len(valid) < count:
            self.report.add(MATERIAL_CONVERTED["no material"], path, count=count - len(valid))
            materials = np.where(materials < 0, valid[0], materials)
        if self.original_places is None:
            return (0, materials) if self.multi else (int(valid[0]), np.zeros(count, np.int64))
        numbers, unique_of_face = np.unique(materials, return_inverse=True)
        places = np.array([self.original_places[number] for number in numbers.tolist()], np.int64)
        if len(np.unique(places[:, 0])) > 1:
            raise CannotMerge(f"{path} has faces with materials that are not sub-materials of one material")
        return int(places[0, 0]), places[unique_of_face.reshape(-1), 1]


class MeshWriter:
    """Writes the meshes of a scene."""

    def __init__(
        self, motion: Motion, rest_matrices: Floats, materials: MaterialWriter, fitter: KeyFitter, report: LossReport
    ) -> None:
        self.motion = motion
        self.scene = motion.scene
        self.rest_matrices = rest_matrices
        self.materials = materials
        self.fitter = fitter
        self.report = report

    def records(
        self, number: int, node: Node, names: Sequence[bytes], animation: Sequence[AseRecord | None]
    ) -> Iterator[AseRecord | None]:
        """Yield the records of an object that follow its transform; ``names`` are those of all nodes."""
        if node.mesh is None:
            yield from animation
            return
        mesh = self.scene.meshes[node.mesh]
        positions = self._world_positions(number, node, mesh)
        mirrored = bool(affine.determinant(self.rest_matrices[number]) < 0)
        path = plain_path("nodes", node.name)
        reference, ids = self.materials.object_material(path, mesh.face_materials, len(mesh.corners))
        surface = _surface(mesh, mirrored, ids)
        weights = None if node.skin is None else _weights(self.scene.skins[node.skin], positions, names)
        yield _mesh(positions, surface, 0, weights)
        without_normals = [record for record in surface if not isinstance(record, Normals)]  # those of the rest shape
        yield self._morphs(number, node, mesh, without_normals)
        yield line("PROP_MOTIONBLUR", 0)
        yield line("PROP_CASTSHADOW", int(mesh.casts_shadows))
        yield line("PROP_RECVSHADOW", int(mesh.receives_shadows))
        yield from animation
        if reference is not None:
            yield line("MATERIAL_REF", reference)

    def _world_positions(self, number: int, node: Node, mesh: Mesh) -> Floats:
        """Return the vertices in world space at rest."""
        positions = np.asarray(mesh.positions, np.float64)
        if node.skin is None:
            return affine.transform_points(self.rest_matrices[number], positions - np.asarray(node.pivot, np.float64))
        skin = self.scene.skins[node.skin]
        posed: Floats = skinned(skin, positions[None], self.rest_matrices[None])[0]
        self._report_skin(node, skin, posed)
        return posed

    def _report_skin(self, node: Node, skin: Skin, posed: Floats) -> None:
        """Report what became of a skin whose vertices are written as ``posed``: readers bind it in that pose."""
        to_joints = affine.inverse(self.rest_matrices[np.asarray(skin.joints, np.int64)])
        rest = rest_world(self.scene)[np.asarray(skin.joints, np.int64)]
        moved = not np.allclose(affine.inverse(rest), to_joints, atol=1e-4)
        if skin.positions is None and np.allclose(skin.inverse_bind, to_joints, atol=1e-6) and not moved:
            return
        path = f"{plain_path('nodes', node.name)}/skin"
        begin, end = self.fitter.span
        moments = np.linspace(begin, end, _SKIN_MOMENTS)
        spend("samples", 16 * len(moments) * len(self.scene.nodes))
        rig = Rig(self.scene)
        world = rig.world(rig.sample(moments), len(moments))
        as_read = replace(skin, inverse_bind=to_joints, positions=None)
        expected = skinned(skin, np.asarray(self.scene.meshes[node.mesh or 0].positions, np.float64)[None], world)
        error = float(vector_distance(skinned(as_read, posed[None], world), expected).max(initial=0.0))
        outcome = Outcome.APPROXIMATED if error > self.fitter.tolerance.length else Outcome.BAKED
        self.report.add(
            SKIN_CHANGED["bind pose as rest"] if moved else SKIN_CHANGED["rest pose"],
            path,
            outcome=outcome,
            error=error,
        )

    def _morphs(self, number: int, node: Node, mesh: Mesh, surface: list[AseRecord]) -> Block | None:
        """Return the mesh at each key of its weights, or at each frame if keys are not linear or not at whole ticks.

        The result is None if there are no shapes or no track uses them.
        """
        if node.morph is None:
            return None
        track = self.motion.tracks.get(number, {}).get("morph")
        path = f"{plain_path('nodes', node.name)}/morph"
        shapes = [np.asarray(shape, np.float64) for shape in node.morph.positions]
        if track is None or not len(track.times) or track.values.reshape(len(track.times), -1).shape[1] != len(shapes):
            self.report.add(MORPHS_UNSUPPORTED["unused"], path)
            return None
        times, exact = self._morph_times(track)
        ensure_budget("keys", len(times))
        spend("samples", len(times) * mesh.positions.size)
        spend("faces", len(times) * len(mesh.corners))
        clip_times = times / self.fitter.factor
        weights = compile_track(track)(clip_times).reshape(len(times), -1)
        world = self._world_matrices(number, clip_times)
        meshes = []
        for row, time in enumerate(times.tolist()):
            shape = np.tensordot(weights[row], np.stack(shapes), axes=1) - np.asarray(node.pivot, np.float64)
            meshes.append(_mesh(affine.transform_points(world[row], shape), surface, round(time)))
        outcome = Outcome.BAKED if exact else Outcome.APPROXIMATED
        self.report.add(MORPH_CONVERTED["meshes"], path, outcome=outcome, shapes=len(shapes), meshes=len(times))
        return block("MESH_ANIMATION", *meshes)

    def _morph_times(self, track: Track) -> tuple[Floats, bool]:
        """Return the ticks at which meshes are written, and whether the motion stays exact."""
        times = self.fitter.times(track.times)
        times = times[np.isfinite(times)]
        straight = track.interpolation in (Interpolation.LINEAR, Interpolation.SAMPLED) and not is_eased(track)
        if straight and len(times) > 1 and (np.rint(times) == times).all():
            return np.unique(times), bool((np.diff(times) > 0).all())
        frames = even_times(times.min(), times.max(), self.fitter.rules.step)
        ensure_budget("keys", len(frames))
        return np.unique(np.rint(frames)), False

    def _world_matrices(self, number: int, clip_times: Floats) -> Floats:
        """Return the world matrices of a node at times of the clip."""
        ancestor = self.scene.nodes[number].parent
        while ancestor is not None and not is_aimed(self.scene, self.scene.nodes[ancestor]):
            ancestor = self.scene.nodes[ancestor].parent
        world = self.motion.world_at(number, clip_times) if ancestor is None else None
        if world is None:
            spend("samples", 16 * len(clip_times) * len(self.scene.nodes))
            rig = Rig(self.scene)
            world = rig.world(rig.sample(clip_times), len(clip_times))[:, number]
        return world


def _surface(mesh: Mesh, mirrored: bool, ids: Ints) -> list[AseRecord]:
    """Return the faces of a mesh, with texture coordinates and colours: the same for all its shapes.

    The faces of a mirrored mesh are reversed, as in files of 3ds Max.
    """
    corners = np.asarray(mesh.corners, np.int64).reshape(-1, 3)
    count = len(corners)
    spend("faces", count)
    order = slice(None, None, -1) if mirrored else slice(None)
    edges = np.full(count, 7) if mesh.edges is None else np.asarray(mesh.edges)
    visible = np.stack([edges >> bit & 1 for bit in ((1, 0, 2) if mirrored else range(3))], axis=1)
    smoothing = np.full(count, -1) if mesh.smoothing is None else np.asarray(mesh.smoothing, np.int64) & 0xFFFFFFFF
    records: list[AseRecord] = [FaceList(np.arange(count), corners[:, order], visible, smoothing, ids)]

    def add(letter: str, values: npt.ArrayLike, own_corners: npt.ArrayLike | None, *tables: Any) -> None:
        of_corners = corners if own_corners is None else np.asarray(own_corners, np.int64)
        rows = shortest(values)
        records.append(line(f"MESH_NUM{letter}VERTEX", len(rows)))
        records.append(tables[0](np.arange(len(rows)), rows))
        records.append(line(f"MESH_NUM{letter}VFACES", count))
        records.append(tables[1](np.arange(count), of_corners[:, order]))

    if mesh.uv is not None and len(mesh.uv):
        uv = np.column_stack([np.asarray(mesh.uv, np.float64)[:, :2], np.zeros(len(mesh.uv))])
        add("T", uv, mesh.uv_corners, TextureVertexList, TextureFaceList)
    if mesh.colors is not None and len(mesh.colors):
        add("C", np.asarray(mesh.colors)[:, :3], mesh.color_corners, ColorVertexList, ColorFaceList)
    if mesh.normals is not None and len(mesh.normals):
        numbers = corners if mesh.normal_corners is None else np.asarray(mesh.normal_corners, np.int64)
        of_corners = np.asarray(mesh.normals, np.float64)[numbers]
        a, b, c = np.asarray(mesh.positions, np.float64)[corners.T]
        of_faces = np.cross(b - a, c - a)
        length = np.sqrt((of_faces**2).sum(axis=1))
        of_faces /= np.where(length > 0, length, 1.0)[:, None]
        rows = shortest(of_faces), shortest(of_corners[:, order].reshape(3 * count, 3))
        records.append(Normals(np.arange(count), rows[0], corners[:, order].reshape(-1), rows[1]))
    return records


def _mesh(positions: Floats, surface: list[AseRecord], time: int, weights: Block | None = None) -> Block:
    faces = surface[0]
    assert isinstance(faces, FaceList)
    return block(
        "MESH",
        line("TIMEVALUE", time),
        line("MESH_NUMVERTEX", len(positions)),
        line("MESH_NUMFACES", len(faces.index)),
        VertexList(np.arange(len(positions)), shortest(positions)),
        *surface,
        weights,
    )


def _weights(skin: Skin, positions: Floats, names: Sequence[bytes]) -> Block:
    """Return the block with the bones and weights of a skin."""
    bones = [Line(b"MESH_BONE_NAME", (index, names[joint])) for index, joint in enumerate(skin.joints)]
    rows: list[list[float]] = [list(position) for position in shortest(positions).tolist()]
    owners, joints = np.asarray(skin.vertex_indices).tolist(), np.asarray(skin.joint_indices).tolist()
    for vertex, joint, weight in zip(owners, joints, shortest(skin.weights).tolist(), strict=True):
        rows[vertex] += [float(joint), weight]
    unbound = [-1.0, 0.0]
    lines = [
        Line(b"MESH_BONE_VERTEX", (vertex, *(row if len(row) > 3 else row + unbound)))
        for vertex, row in enumerate(rows)
    ]
    return block(
        "MESH_WEIGHTS",
        line("MESH_NUMVERTEX", len(rows)),
        line("MESH_NUMBONE", len(bones)),
        block("MESH_BONE_LIST", *bones),
        block("MESH_BONE_VERTEX_LIST", *lines),
    )
