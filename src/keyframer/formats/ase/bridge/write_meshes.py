"""Write meshes in world space, with morphs as meshes at several times and skins as weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.curves import Interpolation, Track, compile_track, even_times
from keyframer.formats.ase.bridge.declared_fields import EDGES
from keyframer.formats.ase.bridge.target_roll import Motion
from keyframer.formats.ase.bridge.write_lines import block, line, shortest_decimals
from keyframer.formats.ase.bridge.write_materials import MaterialWriter
from keyframer.formats.ase.records import (
    AseRecord,
    Block,
    ColorFaceList,
    ColorVertexList,
    FaceList,
    Line,
    TextureFaceList,
    TextureVertexList,
    VertexList,
)
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.key_tracks import KeyFitter, is_eased
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.limits import ensure_budget, spend
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.posing.aim_constraints import is_aimed
from keyframer.posing.vertices import skinned
from keyframer.scene import Mesh, Node, Skin
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted


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
        path = plain_path("nodes", node.name)
        positions = self._world_positions(number, node, mesh)
        mirrored = bool(np.linalg.det(self.rest_matrices[number, :3, :3]) < 0)
        reference, ids = self.materials.object_material(path, mesh.face_materials, len(mesh.corners))
        skin = None if node.skin is None else self.scene.skins[node.skin]
        surface = self._surface(mesh, mirrored, ids)
        yield _mesh(positions, surface, 0, None if skin is None else _weights(skin, positions, names))
        yield self._morphs(number, node, mesh, surface)
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
        joints = self.rest_matrices[np.asarray(skin.joints, np.int64)]
        bound = affine.multiply(affine.inverse(joints), self.rest_matrices[number])
        if skin.positions is not None or not np.allclose(bound, skin.inverse_bind, atol=1e-4):
            message = "the rest pose replaced the bind pose, which ASE cannot store"
            self.report.add(Outcome.BAKED, f"{plain_path('nodes', node.name)}/skin", message)
        posed: Floats = skinned(skin, positions[None], self.rest_matrices[None])[0]
        return posed

    def _surface(self, mesh: Mesh, mirrored: bool, ids: Ints) -> list[AseRecord]:
        """Return the faces of a mesh, with texture coordinates and colours: the same for all its shapes."""
        corners = np.asarray(mesh.corners, np.int64).reshape(-1, 3)
        count = len(corners)
        spend("faces", count)
        corner_order = slice(None, None, -1) if mirrored else slice(None)
        visible = next(iter(write_declared_fields(mesh, EDGES)), np.ones((count, 3), np.int64))
        visible = visible[:, [1, 0, 2]] if mirrored else visible
        smoothing = np.full(count, -1) if mesh.smoothing is None else np.asarray(mesh.smoothing) & 0xFFFFFFFF
        faces = FaceList(np.arange(count), corners[:, corner_order], visible, smoothing, ids)
        records: list[AseRecord] = [faces]
        if mesh.uv is not None and len(mesh.uv):
            corner_indices = corners if mesh.uv_corners is None else np.asarray(mesh.uv_corners, np.int64)
            uv = np.column_stack([np.asarray(mesh.uv, np.float64)[:, :2], np.zeros(len(mesh.uv))])
            records += [
                line("MESH_NUMTVERTEX", len(uv)),
                TextureVertexList(np.arange(len(uv)), shortest_decimals(uv)),
                line("MESH_NUMTVFACES", count),
                TextureFaceList(np.arange(count), corner_indices[:, corner_order]),
            ]
        if mesh.colors is not None and len(mesh.colors):
            corner_indices = corners if mesh.color_corners is None else np.asarray(mesh.color_corners, np.int64)
            records += [
                line("MESH_NUMCVERTEX", len(mesh.colors)),
                ColorVertexList(np.arange(len(mesh.colors)), shortest_decimals(np.asarray(mesh.colors)[:, :3])),
                line("MESH_NUMCVFACES", count),
                ColorFaceList(np.arange(count), corner_indices[:, corner_order]),
            ]
        return records

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
            self.report.add(Outcome.DROPPED, path, "no track uses these shapes")
            return None
        times, exact = self._morph_times(track)
        ensure_budget("keys", len(times))
        spend("samples", len(times) * mesh.positions.size)
        clip_times = times / self.fitter.factor
        weights = compile_track(track)(clip_times).reshape(len(times), -1)
        world = self._world_matrices(number, clip_times)
        spend("faces", len(times) * len(mesh.corners))
        meshes = []
        for row, time in enumerate(times.tolist()):
            shape = np.tensordot(weights[row], np.stack(shapes), axes=1) - np.asarray(node.pivot, np.float64)
            positions = affine.transform_points(world[row], shape)
            meshes.append(_mesh(positions, surface, round(time)))
        message = f"the weights of {counted(len(shapes), 'shape')} became {counted(len(times), 'mesh')}"
        self.report.add(Outcome.BAKED if exact else Outcome.APPROXIMATED, path, message)
        return block("MESH_ANIMATION", *meshes)

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


def _mesh(positions: Floats, surface: list[AseRecord], time: int, weights: Block | None = None) -> Block:
    faces, *rest = surface
    assert isinstance(faces, FaceList)
    return block(
        "MESH",
        line("TIMEVALUE", time),
        line("MESH_NUMVERTEX", len(positions)),
        line("MESH_NUMFACES", len(faces.index)),
        VertexList(np.arange(len(positions)), shortest_decimals(positions)),
        faces,
        *rest,
        weights,
    )


def _weights(skin: Skin, positions: Floats, names: Sequence[bytes]) -> Block:
    """Return the block with the bones and weights of a skin."""
    bones = [Line(b"MESH_BONE_NAME", (index, names[joint])) for index, joint in enumerate(skin.joints)]
    rows: list[list[float]] = [list(position) for position in shortest_decimals(positions).tolist()]
    weights = shortest_decimals(skin.weights).tolist()
    for vertex, joint, weight in zip(
        np.asarray(skin.vertex_indices).tolist(), np.asarray(skin.joint_indices).tolist(), weights, strict=True
    ):
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
