"""Join vertices that files split, so that smoothing groups can say what normals state.

Files for games have one normal for each vertex: where a surface has an edge, or a seam of its texture, vertices are
split. A mesh whose equal vertices are joined again is smooth where its normals were, and keeps its edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from keyframer.arrays import Array, Indices, Singles
from keyframer.formats.kit.mesh_writing import smooth_normals
from keyframer.maths.distinct_values import distinct_rows
from keyframer.scene import Mesh, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import NORMALS_CHANGED
from keyframer.scene.mesh import CORNER_TABLES

_POSITION_STEPS, _NORMAL_STEPS = 2.0**22, 2.0**10
"""steps per unit to which positions (divided by the largest coordinate of the mesh) and normals are rounded"""
_SAME_SHADING = 1.0
"""degrees: normals this near to those of smoothing groups look the same"""


def weld(
    mesh: Mesh, shapes: Sequence[Array] = (), labels: Sequence[Singles] = (), *, normals: Array | None = None
) -> Indices | None:
    """Join the vertices of a mesh that have the same position, the same position in each of its ``shapes`` and equal
    ``labels`` (V, k). Corners keep their texture coordinates, colours and normals. Return the vertices that are kept,
    or None if all are.

    ``normals`` (V, 3): only vertices with the same normal are joined. Exporters compute positions and normals on both
    sides of a texture seam separately, so that they differ in the last bits: such small differences are ignored.
    """
    columns = [np.asarray(positions, np.float32) for positions in (mesh.positions, *shapes)]
    if normals is not None:
        size = float(np.nan_to_num(np.abs(columns[0])).max(initial=0.0)) or 1.0
        columns = [_rounded(column, _POSITION_STEPS / size) for column in columns]
        columns.append(_rounded(normals, _NORMAL_STEPS))
    rows = np.ascontiguousarray(np.concatenate([*columns, *labels], axis=1) + np.float32(0.0))
    first, number = distinct_rows(rows)
    if len(first) == len(rows):
        return None
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    old_corners = np.asarray(mesh.corners)
    for name, corners_name in CORNER_TABLES.items():
        if getattr(mesh, name) is not None and getattr(mesh, corners_name) is None:
            setattr(mesh, corners_name, old_corners)
    mesh.corners = rank[number][old_corners]
    mesh.positions = np.asarray(mesh.positions)[first[order]]
    return np.asarray(first[order])


def with_smoothing_groups(scene: Scene, report: LossReport) -> Scene:
    """Return the scene with smoothing groups instead of stated normals, for formats that have only these; the report
    has the largest difference.

    Meshes without groups get one. Vertices that skins or morphs refer to are not joined.
    """
    bound = {node.mesh for node in scene.nodes if node.skin is not None or node.morph is not None}
    meshes, differences = list(scene.meshes), []
    for number, mesh in enumerate(meshes):
        if mesh.normals is None:
            continue
        grouped = replace(mesh, normals=None, normal_corners=None)
        if mesh.smoothing is None:
            grouped.smoothing = np.ones(len(mesh.corners), np.int64)
            if number not in bound and mesh.normal_corners is None and len(mesh.normals) == len(mesh.positions):
                weld(grouped, normals=mesh.normals)
        meshes[number] = grouped
        differences.append(_difference(mesh, grouped))
    if differences:
        degrees = max(differences)
        outcome = Outcome.BAKED if degrees <= _SAME_SHADING else Outcome.APPROXIMATED
        report.add(
            NORMALS_CHANGED["measured groups"], "/normals", outcome=outcome, count=len(differences), degrees=degrees
        )
    return replace(scene, meshes=meshes)


def _difference(mesh: Mesh, grouped: Mesh) -> float:
    """Return the largest angle between a stated normal and that of smoothing groups, in degrees."""
    corners = mesh.corners if mesh.normal_corners is None else mesh.normal_corners
    stated = np.nan_to_num(np.asarray(mesh.normals, np.float64))[np.asarray(corners, np.int64)]
    computed, numbers = smooth_normals(grouped, False)
    cosines = (stated * computed[numbers]).sum(axis=-1)
    seen = computed[numbers].any(axis=-1) & stated.any(axis=-1)
    return float(np.degrees(np.arccos(np.clip(cosines[seen], -1.0, 1.0))).max(initial=0.0))


def _rounded(values: Array, steps: float) -> Singles:
    with np.errstate(all="ignore"):  # numbers may be non-finite or become too large
        return np.asarray(np.round(np.asarray(values, np.float64) * steps), np.float32)
