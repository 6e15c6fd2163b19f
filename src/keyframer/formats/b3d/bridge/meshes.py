"""Write meshes and skins: vertices with one normal, colour and place in images each; triangles by brush; weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from keyframer.arrays import Floats, Indices, Ints
from keyframer.formats.b3d import document as d
from keyframer.formats.kit.mesh_writing import smooth_normals, split_corners
from keyframer.formats.kit.scene_writing import Tolerance
from keyframer.limits import spend
from keyframer.maths import affine
from keyframer.scene import Mesh, Scene, Skin
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import SKIN_CHANGED

MOST_WEIGHTS = 4
"""bones of a vertex that the engine uses"""
_SAME_SPACE = 1e-5
"""relative difference of matrices of the bind pose that is rounding"""


class Part:
    """The surface of one mesh as B3D stores it: N vertices."""

    def __init__(self, mesh: Mesh, pivot: Floats, materials: int, smooth: bool | None) -> None:
        """``smooth``: whether a mesh without smoothing groups and normals is smooth; None: no normals are computed."""
        corners = np.asarray(mesh.corners, np.int64).reshape(-1, 3)
        spend("faces", len(corners))
        normals, normal_corners = mesh.normals, mesh.normal_corners
        if normals is None and smooth is not None and len(corners):
            normals, normal_corners = smooth_normals(mesh, smooth)
            normals = -normals  # the axes are left-handed
        colors = None
        if mesh.colors is not None and len(mesh.colors):
            alpha = np.ones(len(mesh.colors)) if mesh.color_alpha is None else np.asarray(mesh.color_alpha)
            colors = np.column_stack([np.asarray(mesh.colors, np.float64), alpha])
        tables: dict[str, tuple[Any, Any]] = {
            "uv": (mesh.uv, mesh.uv_corners),
            "uv2": (mesh.uv2, mesh.uv2_corners),
            "color": (colors, mesh.color_corners),
            "normal": (normals, normal_corners),
        }
        tables = {name: table for name, table in tables.items() if table[0] is not None and len(table[0])}
        indices = [corners if numbers is None else np.asarray(numbers, np.int64) for _, numbers in tables.values()]
        self.vertices, self.corners, chosen = split_corners(len(mesh.positions), corners, indices)
        self.positions = (np.asarray(mesh.positions, np.float64) - pivot)[self.vertices]
        self.columns = {
            name: np.asarray(values, np.float64)[np.clip(numbers, 0, len(values) - 1)]
            for (name, (values, _)), numbers in zip(tables.items(), chosen, strict=True)
        }
        self.is_translucent = mesh.color_alpha is not None and "color" in self.columns
        brushes = np.full(len(corners), -1) if mesh.face_materials is None else np.asarray(mesh.face_materials)
        self.brushes = np.where((brushes >= 0) & (brushes < materials), brushes, -1).astype(np.int64)


def joined(parts: Sequence[Part]) -> Part:
    """Return several parts as one; columns that only some have get zeros, colours ones."""
    first = parts[0]
    if len(parts) == 1:
        return first
    whole = Part.__new__(Part)
    starts = np.cumsum([0, *(len(part.positions) for part in parts)]).tolist()
    whole.positions = np.concatenate([part.positions for part in parts])
    whole.vertices = np.arange(len(whole.positions))
    whole.corners = np.concatenate([part.corners + start for part, start in zip(parts, starts, strict=False)])
    whole.brushes = np.concatenate([part.brushes for part in parts])
    whole.is_translucent = any(part.is_translucent for part in parts)
    widths = {name: values.shape[1] for part in parts for name, values in part.columns.items()}
    whole.columns = {
        name: np.concatenate(
            [part.columns.get(name, np.full((len(part.positions), width), float(name == "color"))) for part in parts]
        )
        for name, width in widths.items()
    }
    return whole


def mesh_record(part: Part, brush: int, groups: Sequence[int]) -> d.Mesh:
    """Return the record of a mesh. ``groups`` are the numbers of faces of its original lists of triangles, which are
    kept if each still has one brush."""
    columns = part.columns
    vertices = d.Vertices(flags=d.NORMALS * ("normal" in columns) | d.COLOURS * ("color" in columns))
    values: dict[str, Any] = {"position": part.positions}
    values |= {name: columns[name] for name in ("normal", "color") if name in columns}
    sets = [columns[name] for name in ("uv", "uv2") if name in columns]
    if len(sets) == 1 and "uv2" in columns:
        sets *= 2
    vertices.sets = len(sets)
    values["coordinates"] = np.column_stack(sets) if sets else np.zeros((len(part.positions), 0))
    vertices.vertices = d.VERTICES.make(vertices, **values)
    ends = np.cumsum(groups)
    kept = len(groups) and ends[-1] == len(part.corners)
    lists = np.split(np.arange(len(part.corners)), ends[:-1]) if kept else []
    if not kept or any(len(np.unique(part.brushes[faces])) > 1 for faces in lists):
        numbers, first = np.unique(part.brushes, return_index=True)
        lists = [np.flatnonzero(part.brushes == number) for number in numbers[np.argsort(first)]]
    record = d.Mesh(brush, children=[vertices])
    for faces in lists:
        number = int(part.brushes[faces[0]]) if len(faces) else -1
        record.children.append(d.Triangles(number, part.corners[faces][:, ::-1].astype("<i4")))  # clockwise
    return record


def weights_of(
    skin: Skin, part: Part, first: int, most: int | None, report: LossReport
) -> dict[int, list[tuple[Ints, Floats]]]:
    """Return the vertices and weights of each joint; ``first`` is the number of the part's first vertex.

    With ``most``, only as many of the heaviest weights of a vertex are kept.
    """
    count = int(part.vertices.max(initial=-1)) + 1
    owners = np.asarray(skin.vertex_indices, np.int64)
    joints, weights = np.asarray(skin.joint_indices, np.int64), np.asarray(skin.weights, np.float64)
    usable = (owners >= 0) & (owners < count)
    order = np.lexsort((-weights, owners))
    order = order[usable[order]]
    if most is not None:
        rank = np.arange(len(order)) - np.searchsorted(owners[order], owners[order])
        if (rank >= most).any():
            dropped = int(np.count_nonzero(rank >= most))
            report.add(SKIN_CHANGED["weights"], f"/skins/{skin.name}/weights", count=dropped, most=most)
            order = order[rank < most]
    order = np.sort(order)
    of_joints: dict[int, list[tuple[Ints, Floats]]] = {}
    by_vertex = np.argsort(part.vertices, kind="stable")  # a vertex of the mesh may have become several
    sorted_vertices = part.vertices[by_vertex]
    for place, joint in enumerate(skin.joints):
        rows = order[joints[order] == place]
        begin, end = (np.searchsorted(sorted_vertices, owners[rows], side) for side in ("left", "right"))
        copies = end - begin
        spread = np.repeat(begin - np.cumsum(copies) + copies, copies) + np.arange(int(copies.sum()))
        vertices = by_vertex[spread] + first
        of_joints.setdefault(joint, []).append((vertices, np.repeat(weights[rows], copies)))
    return of_joints


def report_bind_error(skin: Skin, mesh: Mesh, tolerance: Tolerance, report: LossReport) -> None:
    """Report how far the positions that a skin stores are from those of the mesh, which are written."""
    if skin.positions is None or not len(skin.vertex_indices):
        return
    bind = affine.inverse(skin.inverse_bind)[np.asarray(skin.joint_indices, np.int64)]
    placed = affine.transform_each(bind, np.asarray(skin.positions, np.float64))
    difference = placed - np.asarray(mesh.positions, np.float64)[np.asarray(skin.vertex_indices, np.int64)]
    error = float(np.sqrt((difference**2).sum(axis=1)).max())
    if error > tolerance.length:
        report.add(SKIN_CHANGED["bind positions"], f"/skins/{skin.name}/positions", error=error)


def bone_record(parts: Sequence[tuple[Ints, Floats]]) -> d.Bone:
    table = np.zeros(sum(len(vertices) for vertices, _ in parts), d.WEIGHT)
    if parts:
        table["vertex"] = np.concatenate([vertices for vertices, _ in parts])
        table["weight"] = np.concatenate([weights for _, weights in parts])
    return d.Bone(table)


def keys_record(frames: Indices, columns: dict[str, Floats]) -> d.Keys:
    """Return a chunk of keys with these columns."""
    bits = {"position": d.POSITION, "scale": d.SCALE, "rotation": d.ROTATION}
    record = d.Keys(sum(bits[name] for name in columns))
    record.keys = d.KEYS.make(record, frame=frames, **columns)
    return record


def moved_to_bones(scene: Scene, number: int, bound: dict[int, Floats], report: LossReport) -> Floats:
    """Return the (4, 4) matrix from the space of a skinned mesh to that of its bones' common bind pose ``bound``."""
    node = scene.nodes[number]
    assert node.skin is not None
    skin = scene.skins[node.skin]
    matrices = [
        affine.multiply(bound[joint], inverse)
        for joint, inverse in zip(skin.joints, np.asarray(skin.inverse_bind, np.float64), strict=True)
    ]
    if not matrices:
        return np.eye(4)
    spread = float(np.abs(np.stack(matrices) - matrices[0]).max())
    if spread > _SAME_SPACE * max(float(np.abs(matrices[0]).max()), 1.0):
        report.add(SKIN_CHANGED["bind poses"], f"/skins/{skin.name}", error=spread)
    return matrices[0]


def is_below(scene: Scene, joint: int, mesh_node: int) -> bool:
    """Return whether the nearest node with a mesh above a joint is ``mesh_node``; the node itself counts, too."""
    number: int | None = joint
    if joint == mesh_node:
        return True
    number = scene.nodes[joint].parent
    while number is not None and scene.nodes[number].mesh is None:
        number = scene.nodes[number].parent
    return number == mesh_node
