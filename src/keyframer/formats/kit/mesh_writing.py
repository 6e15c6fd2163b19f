"""Convert meshes for formats that can store less, and skins along with edited meshes; the pose that binds skins.

Such formats have one texture vertex for each vertex, limits on counts, one material for each mesh, or no morphs with
constant weights.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.curves import Track
from keyframer.limits import spend
from keyframer.maths import affine
from keyframer.maths.smoothing_groups import smooth_clusters
from keyframer.scene import Mesh, Scene, Skin
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import MORPH_CONVERTED


@dataclass(eq=False)
class MeshPiece:
    """A part of a mesh within the limits of the format."""

    vertices: Ints
    """number of each vertex in the mesh"""
    faces: Ints
    """number of each face in the mesh"""
    corners: Ints
    """(F, 3) into ``vertices``"""
    uv: Floats | None
    """(V, 2)"""


def with_constant_shapes(scene: Scene, report: LossReport, keeps: Callable[[Track], bool] | None = None) -> Scene:
    """Return the scene with constant morphs of its first clip replaced by their shapes.

    Morphs stay if ``keeps(track)`` is true for their track.
    """
    meshes, nodes, baked = list(scene.meshes), list(scene.nodes), set()
    users = Counter(node.mesh for node in nodes)
    for channel in scene.clips[0].channels if scene.clips else ():
        node, track = nodes[channel.node], channel.track
        weights = track.values.reshape(len(track.times), -1) if track.kind == "morph" else np.empty((0, 0))
        shapes = [] if node.morph is None else node.morph.positions
        if node.mesh is None or not shapes or weights.shape[1] != len(shapes) or (keeps is not None and keeps(track)):
            continue
        if not np.isfinite(weights).all() or (weights != weights[:1]).any():
            continue
        positions = np.tensordot(weights[0], np.stack([np.asarray(shape, np.float64) for shape in shapes]), axes=1)
        if users[node.mesh] > 1:
            meshes.append(meshes[node.mesh])
        number = len(meshes) - 1 if users[node.mesh] > 1 else node.mesh
        meshes[number] = replace(meshes[number], positions=positions)
        nodes[channel.node] = replace(node, mesh=number, morph=None)
        baked.add(channel.node)
        report.add(MORPH_CONVERTED["applied"], f"/nodes/{node.name}/morph")
    if not baked:
        return scene
    clips = [
        replace(
            clip,
            channels=[
                channel for channel in clip.channels if channel.track.kind != "morph" or channel.node not in baked
            ],
        )
        for clip in scene.clips
    ]
    return replace(scene, nodes=nodes, meshes=meshes, clips=clips)


def split_mesh(mesh: Mesh, most: int) -> list[MeshPiece]:
    """Split a mesh into pieces of at most ``most`` vertices and faces. Vertices at texture seams are duplicated."""
    spend("faces", len(mesh.corners))
    corners = np.asarray(mesh.corners, np.int64).reshape(-1, 3)
    vertices, corners, uv = _without_seams(mesh, corners)
    if len(vertices) <= most and len(corners) <= most:
        return [MeshPiece(vertices, np.arange(len(corners)), corners, uv)]
    pieces = []
    begin = 0
    while begin < len(corners):
        end = _piece_end(corners, begin, most)
        pieces.append(_piece(vertices, np.arange(begin, end), corners, uv))
        begin = end
    return pieces


def split_by_material(mesh: Mesh) -> list[tuple[int, MeshPiece]]:
    """Return the number (-1 for none) and the piece of each material of the mesh.

    A mesh without faces is one piece.
    """
    spend("faces", len(mesh.corners))
    corners = np.asarray(mesh.corners, np.int64).reshape(-1, 3)
    vertices, corners, uv = _without_seams(mesh, corners)
    of_faces = np.full(len(corners), -1) if mesh.face_materials is None else np.asarray(mesh.face_materials, np.int64)
    materials = np.unique(of_faces).tolist() or [-1]
    if len(materials) == 1:
        return [(materials[0], MeshPiece(vertices, np.arange(len(corners)), corners, uv))]
    return [(material, _piece(vertices, np.flatnonzero(of_faces == material), corners, uv)) for material in materials]


def _piece(vertices: Ints, faces: Ints, corners: Ints, uv: Floats | None) -> MeshPiece:
    used, new_corners = np.unique(corners[faces], return_inverse=True)
    return MeshPiece(vertices[used], faces, new_corners.reshape(-1, 3), None if uv is None else uv[used])


def _uv_of_vertices(count: int, corners: Ints, uv_corners: Ints) -> Ints:
    """Return a texture vertex for each vertex: that of its last corner; -1 for vertices without faces."""
    uv_numbers = np.full(count, -1)
    uv_numbers[corners.reshape(-1)] = uv_corners.reshape(-1)
    return uv_numbers


def _without_seams(mesh: Mesh, corners: Ints) -> tuple[Ints, Ints, Floats | None]:
    """Return vertices, corners and texture vertices in one numbering; vertices at texture seams are duplicated."""
    numbers = np.arange(len(mesh.positions))
    if mesh.uv is None or not len(mesh.uv):
        return numbers, corners, None
    uv = np.asarray(mesh.uv, np.float64)
    uv_corners = corners if mesh.uv_corners is None else np.asarray(mesh.uv_corners, np.int64).reshape(-1, 3)
    uv_numbers = _uv_of_vertices(len(numbers), corners, uv_corners)
    if not np.array_equal(uv_numbers[corners], uv_corners):  # texture vertices at the same coordinates are not a seam
        uv, unique_numbers = np.unique(uv, axis=0, return_inverse=True)
        uv_corners = unique_numbers.reshape(-1)[uv_corners]
        uv_numbers = _uv_of_vertices(len(numbers), corners, uv_corners)
    # No vertex needs duplication if each has one texture vertex.
    if np.array_equal(uv_numbers[corners], uv_corners):
        vertex_uv = np.zeros((len(numbers), 2))
        if uv_corners is corners:
            vertex_uv[: len(uv)] = uv[: len(numbers)]
        else:
            vertex_uv[uv_numbers >= 0] = uv[uv_numbers[uv_numbers >= 0]]
        return numbers, corners, vertex_uv
    pairs = corners.reshape(-1) * (len(uv) + 1) + uv_corners.reshape(-1)
    used, new_corners = np.unique(pairs, return_inverse=True)
    return used // (len(uv) + 1), new_corners.reshape(-1, 3), uv[used % (len(uv) + 1)]


def _piece_end(corners: Ints, begin: int, most: int) -> int:
    """Return the end of a run of faces from ``begin`` within ``most`` faces and ``most`` vertices."""
    end = min(begin + most, len(corners))
    if len(np.unique(corners[begin:end])) <= most:
        return end
    fits = begin + most // 3
    while end - fits > 1:
        middle = (fits + end) // 2
        if len(np.unique(corners[begin:middle])) <= most:
            fits = middle
        else:
            end = middle
    return fits


def with_moved_vertices(scene: Scene, original: Scene) -> Scene:
    """Return the scene with influence positions moved along with edited mesh vertices.

    Skins whose influences were edited stay as they are, and so does the scene if nodes or skins were added or removed.
    """
    if len(scene.nodes) != len(original.nodes) or len(scene.skins) != len(original.skins):
        return scene
    skins = list(scene.skins)
    for node, original_node in zip(scene.nodes, original.nodes, strict=True):
        if node.skin is None or node.mesh is None or original_node.skin is None or original_node.mesh is None:
            continue
        skin, original_skin = skins[node.skin], original.skins[original_node.skin]
        mesh, original_mesh = scene.meshes[node.mesh], original.meshes[original_node.mesh]
        if _same_influences(skin, original_skin) and np.shape(mesh.positions) == np.shape(original_mesh.positions):
            skins[node.skin] = _moved(skin, mesh, original_mesh)
    return replace(scene, skins=skins)


def _same_influences(skin: Skin, original: Skin) -> bool:
    """Return whether two skins store positions of influences, and all influences are equal."""
    if skin.positions is None or original.positions is None:
        return False
    names = ("positions", "vertex_indices", "joint_indices", "weights")
    return all(np.array_equal(getattr(skin, name), getattr(original, name)) for name in names)


def _moved(skin: Skin, mesh: Mesh, original_mesh: Mesh) -> Skin:
    offsets = np.asarray(mesh.positions, np.float64) - np.asarray(original_mesh.positions, np.float64)
    moved = np.asarray(offsets.any(axis=1))
    if not moved.any():
        return skin
    owners = np.asarray(skin.vertex_indices, np.int64)
    moved_influences = np.flatnonzero(moved[owners])
    inverse = np.asarray(skin.inverse_bind, np.float64)[np.asarray(skin.joint_indices, np.int64)[moved_influences]]
    positions = np.array(skin.positions, np.float64)
    positions[moved_influences] += affine.transform_vectors(inverse, offsets[owners[moved_influences], None])[:, 0]
    return replace(skin, positions=positions)


def split_corners(count: int, corners: Ints, tables: Sequence[Ints]) -> tuple[Ints, Ints, list[Ints]]:
    """Return vertices that have one value of each table, for formats that store values by vertex: the old number of
    each, the corners (F, 3), and for each table the value of each vertex.

    ``count`` is the number of old vertices, and ``tables`` have the value (F, 3) of each corner. If no vertex has
    several values, all vertices stay.
    """
    unsplit = [np.zeros(count, np.int64) for _ in tables]
    for numbers, table in zip(unsplit, tables, strict=True):
        numbers[corners.reshape(-1)] = table.reshape(-1)
    if all(np.array_equal(numbers[corners], table) for numbers, table in zip(unsplit, tables, strict=True)):
        return np.arange(count), corners, unsplit
    keys = corners.reshape(-1)
    for table in tables:
        _, keys = np.unique(keys * (int(table.max(initial=0)) + 1) + table.reshape(-1), return_inverse=True)
        keys = keys.reshape(-1)
    _, first, new_corners = np.unique(keys, return_index=True, return_inverse=True)
    chosen = [table.reshape(-1)[first] for table in tables]
    return corners.reshape(-1)[first], new_corners.reshape(-1, 3), chosen


def smooth_normals(mesh: Mesh, smooth: bool) -> tuple[Floats, Ints]:
    """Return the normals (N, 3) that follow from smoothing groups, and their numbers (F, 3) by corner; ``smooth`` says
    whether meshes without groups are smooth."""
    corners = np.asarray(mesh.corners, np.int64).reshape(-1, 3)
    a, b, c = np.asarray(mesh.positions, np.float64)[corners.T]
    across = np.nan_to_num(np.cross(b - a, c - a))
    length = np.sqrt((across**2).sum(axis=1))
    across /= np.where(length > 0, length, 1.0)[:, None]
    clusters, count = smooth_clusters(corners, mesh.smoothing, len(mesh.positions), smooth)
    sums = np.stack([np.bincount(clusters, np.repeat(across[:, axis], 3), count) for axis in range(3)], axis=1)
    length = np.sqrt((sums**2).sum(axis=1))
    return sums / np.where(length > 1e-6, length, 1.0)[:, None], clusters.reshape(-1, 3)


_SAME_POSE = 1e-6
"""relative difference of matrices below which a rest pose is the bind pose"""


def bind_world(scene: Scene, rest: Floats) -> tuple[Floats, set[int]]:
    """Return the world matrices of all nodes at rest (``rest``) with bones in their bind pose, and the nodes whose
    transform differs: these bones and their children, which stay in place.

    Either all bones of a skin are in their bind pose or none: otherwise their descendants would move.
    """
    world = rest.copy()
    moved: set[int] = set()
    for skin in scene.skins:
        if not len(skin.joints):
            continue
        joints = np.asarray(skin.joints, np.int64)
        bound = affine.inverse(skin.inverse_bind)
        size = max(float(np.abs(rest[joints]).max()), 1e-30)
        unmoved = [number for number in joints.tolist() if number not in moved]
        if float(np.abs(bound - rest[joints]).max()) > _SAME_POSE * size and len(unmoved) == len(joints):
            world[joints] = bound
            moved.update(joints.tolist())
    return world, moved | {number for number, node in enumerate(scene.nodes) if moved and node.parent in moved}
