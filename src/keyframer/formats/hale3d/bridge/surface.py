"""Read the model: skinned, textured meshes on joints in their bind pose; and rotations in their stored form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Flags, Floats, Ints
from keyframer.catalogue import (
    DATA_NON_FINITE,
    DATA_QUATERNION_INVALID,
    LIMIT_COPIES,
    LINK_INDEX_OUT_OF_RANGE,
)
from keyframer.formats.hale3d.records import Mesh as MeshRecord
from keyframer.formats.hale3d.records import ModelJoint, unquoted
from keyframer.formats.kit.scene_reading import Reporter, check_weights, finite_rows
from keyframer.limits import Budget
from keyframer.maths import affine, quat
from keyframer.scene import Material, Mesh, Skin, TextureMap
from keyframer.text import decode_name

_JOINTS_AT_ONCE = 8_192
"""joints converted at once: their matrices take a megabyte"""
_NUMBERS_PER_INFLUENCE = 24
"""cost of an influence: vertex, joint, weight and offset in the skin, and temporarily a matrix"""


def with_w(xyz: Floats) -> tuple[Floats, int | None]:
    """Return unit quaternions from x, y, z, with w <= 0 as in MD5; rows with non-finite numbers are not normalised.

    Also return the index of the first row that is too long for a unit quaternion or not finite, or None.
    """
    with np.errstate(all="ignore"):
        square = (xyz * xyz).sum(axis=1)
        w = -np.sqrt(np.maximum(0.0, 1.0 - square))
    rotations = np.column_stack([xyz, w])
    # float32 rounding gives squares of up to 1 + 4e-7 in valid files
    too_long = np.flatnonzero(~(square <= 1.0 + 1e-5))
    return np.where(np.isfinite(rotations).all(axis=1)[:, None], quat.normalise(rotations), rotations), (
        int(too_long[0]) if len(too_long) else None
    )


def with_negative_w(rotations_xyzw: Floats) -> Floats:
    """Return the same rotations with w <= 0; files store the first three numbers. -0.0 becomes 0.0."""
    return np.where(rotations_xyzw[..., 3:] > 0, -rotations_xyzw, rotations_xyzw) + 0.0


def bind_matrices(reporter: Reporter, joints: list[ModelJoint]) -> Floats:
    """Return (J, 4, 4) matrices of joints in model space. A joint with non-finite numbers is at the origin."""
    if not joints:
        return np.empty((0, 4, 4))
    numbers = (number for joint in joints for number in (*joint.position, *joint.orientation))
    positions_and_rotations = np.fromiter(numbers, np.float64, 6 * len(joints)).reshape(-1, 6)
    invalid = ~np.isfinite(positions_and_rotations).all(axis=1)
    for index in np.flatnonzero(invalid).tolist():
        non_finite = ~np.isfinite(positions_and_rotations[index])
        first = int(np.argmax(non_finite))
        field = "position" if first < 3 else "orientation"
        reporter.report(DATA_NON_FINITE, joints[index], field, count=int(non_finite.sum()), index=first % 3)
    positions_and_rotations[invalid] = 0.0
    rotations, too_long = with_w(positions_and_rotations[:, 3:])
    if too_long is not None:
        reporter.report(DATA_QUATERNION_INVALID, joints[too_long], "orientation", frame="the bind pose")
    return affine.compose(positions_and_rotations[:, :3], rotations, np.ones(3))


def bind_locals(world: Floats, parents: list[int | None]) -> tuple[Floats, Floats]:
    """Return positions and rotations of joints relative to their parents, from their matrices in model space."""
    parent_of = np.array([-1 if parent is None else parent for parent in parents], np.int64).reshape(-1)
    positions, rotations = np.empty((len(world), 3)), np.empty((len(world), 4))
    for begin in range(0, len(world), _JOINTS_AT_ONCE):
        block = slice(begin, begin + _JOINTS_AT_ONCE)
        local = world[block].copy()
        children = np.flatnonzero(parent_of[block] >= 0)
        local[children] = affine.multiply(affine.inverse(world[parent_of[block][children]]), local[children])
        positions[block], rotations[block] = local[:, :3, 3], quat.from_matrix3(local[:, :3, :3])
    return positions, rotations


def read_surface(
    reporter: Reporter, record: MeshRecord, bind: Floats, number: int, budget: Budget
) -> tuple[Mesh, Skin, Material]:
    """Read one mesh in its bind pose, its skin and its material. Invalid faces and weights are left out."""
    path = decode_name(unquoted(record.material))
    material = Material(path, raw_name=record.material, diffuse=(1.0, 1.0, 1.0))
    if path:
        material.maps["texture1"] = TextureMap(path, record.material)
    owners, chosen = _influences(reporter, record, len(bind), budget)
    joints = record.weights["joint"].astype(np.int64)[chosen]
    stored = np.column_stack([record.weights["position"], record.weights["bias"]])
    numbers = finite_rows(reporter, record, "weights", stored)[chosen]
    offsets, bias = numbers[:, :3], numbers[:, 3]
    check_weights(reporter, record, "weights", owners, bias, len(record.vertices))
    placed = affine.transform_each(bind[joints], offsets)
    positions = np.zeros((len(record.vertices), 3))
    np.add.at(positions, owners, placed * bias[:, None])
    mesh = Mesh(f"mesh{number}", positions, _corners(reporter, record))
    mesh.uv = finite_rows(reporter, record, "vertices", record.vertices["st"])
    mesh.smoothing = np.ones(len(mesh.corners), np.uint32)  # MD5 surfaces are always smooth
    mesh.face_materials = np.full(len(mesh.corners), number, np.int32)
    inverse = affine.inverse(bind) if len(bind) else bind
    skin = Skin(mesh.name, list(range(len(bind))), inverse, owners, joints, bias, offsets)
    for extras in (mesh.extras, skin.extras, material.extras, *(texture.extras for texture in material.maps.values())):
        extras["hale3d"] = reporter.location_of(record)
    return mesh, skin, material


def _influences(reporter: Reporter, record: MeshRecord, joint_count: int, budget: Budget) -> tuple[Ints, Ints]:
    """Return the index of the vertex and of the weight of every influence, in the order of the vertices.

    Vertices may share weights; a budget keeps a small file from becoming a huge scene.
    """
    first = record.vertices["first_weight"].astype(np.int64)
    counts = record.vertices["weight_count"].astype(np.int64)
    total = len(record.weights)
    valid = first + counts <= total
    _report_invalid(reporter, record, "vertices", "weight", ~valid, first + counts - 1, total)
    counts = np.where(valid, counts, 0).astype(np.intp)
    budget.grant("copies", 4 * total * _NUMBERS_PER_INFLUENCE)
    room = budget.left("copies") // _NUMBERS_PER_INFLUENCE
    if not budget.charge("copies", int(counts.sum()) * _NUMBERS_PER_INFLUENCE):
        beyond = np.cumsum(counts) > room
        field = f"vertices[{int(beyond.argmax())}]"
        reporter.report(LIMIT_COPIES, record, field, what="repeated use of weights", **budget.state("copies"))
        counts = np.where(beyond, 0, counts)
    owners = np.repeat(np.arange(len(counts)), counts)
    starts = np.repeat(first - (np.cumsum(counts) - counts), counts)
    chosen = starts + np.arange(len(owners))
    joints = record.weights["joint"].astype(np.int64)
    valid_joints = (joints >= 0) & (joints < joint_count)
    _report_invalid(reporter, record, "weights", "joint", ~valid_joints, joints, joint_count)
    usable = valid_joints[chosen]
    return owners[usable], chosen[usable]


def _corners(reporter: Reporter, record: MeshRecord) -> npt.NDArray[np.int32]:
    """Return corners in counter-clockwise order; the file has them clockwise seen from outside."""
    corners = record.triangles.astype(np.int64)
    valid = np.asarray((corners < len(record.vertices)).all(axis=1))
    _report_invalid(
        reporter, record, "triangles", "vertex", ~valid, corners.max(axis=1, initial=0), len(record.vertices)
    )
    return corners[valid][:, [0, 2, 1]].astype(np.int32)


def _report_invalid(
    reporter: Reporter, record: MeshRecord, field: str, kind: str, bad: Flags, values: Ints, count: int
) -> None:
    reporter.report_each(
        LINK_INDEX_OUT_OF_RANGE,
        record,
        field,
        np.flatnonzero(bad),
        lambda at: {"what": "entry", "item": at, "kind": kind, "index": int(values[at]), "count": count},
    )
