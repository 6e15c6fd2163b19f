"""Read and write skins. Vertices of rigid skins are stored in the space of their bone, others in scene space.

Written bones rest in their bind pose, because readers use the rest pose as bind pose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.catalogue import LINK_UNRESOLVED_ID
from keyframer.formats.kit.mesh_writing import bind_world
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames, check_weights, finite_rows
from keyframer.formats.kit.scene_writing import Tolerance, plain_path
from keyframer.formats.uto3d import records as r
from keyframer.issues import Severity
from keyframer.maths import affine
from keyframer.scene import Mesh, Node, NodeKind, Scene, Skin
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import SKIN_CHANGED


def bone_ids(record: r.Mesh) -> Ints:
    """Return the bone id of each influence of a skinned mesh."""
    return np.asarray(record.vertex_bones if record.skin_type == r.SIMPLE_SKIN else record.bone_ids, np.int64)


def read_skin(reporter: Reporter, record: r.Mesh, mesh: Mesh, by_id: dict[int, int], world: Floats) -> Skin | None:
    """Read the skin of a mesh; None if all its bones are missing.

    The mesh vertices of a rigid skin are moved to scene space, except those of missing bones.
    """
    count = len(mesh.positions)
    simple = record.skin_type == r.SIMPLE_SKIN
    ids = bone_ids(record)
    if simple:
        owners, weights = np.arange(count), np.ones(count)
    else:
        owners = np.repeat(np.arange(count), np.asarray(record.bones_per_vertex, np.intp))
        weights = finite_rows(reporter, record, "bone_weights", record.bone_weights)
        check_weights(reporter, record, "bone_weights", owners, weights, count)
    unique_ids, places = np.unique(ids, return_inverse=True)
    known = np.array([number in by_id for number in unique_ids.tolist()], bool)
    if not known.all():
        field = "vertex_bones" if simple else "bone_ids"
        reporter.report_each(
            LINK_UNRESOLVED_ID,
            record,
            field,
            np.flatnonzero(~known[places]),
            lambda at: {"kind": "bone", "id": int(ids[at])},
            Severity.ERROR,
        )
    if not known.any():
        return None
    joints = [by_id[number] for number in unique_ids[known].tolist()]
    has_bone = known[places]
    influences = (np.cumsum(known) - 1)[places][has_bone]
    owners, weights = owners[has_bone], weights[has_bone]
    bone_matrices = world[np.array(joints)]
    skin = Skin(mesh.name, joints, affine.inverse(bone_matrices), owners, influences, weights, rigid=simple)
    if simple:
        offsets = np.asarray(mesh.positions, np.float64)[owners]
        skin.positions = offsets
        positions = np.array(mesh.positions, np.float64)
        matrices = bone_matrices[influences]
        positions[owners] = affine.transform_each(matrices, offsets)
        mesh.positions = positions
    return skin


Transform = tuple[Any, Any, Any]
"""position, rotation_xyzw, scale"""


def with_bones(scene: Scene) -> Scene:
    """Return the scene with bones as the only joints, as the format requires.

    Joints that are dummies, or objects without a mesh, become bones. Any other joint that is not a plain bone gets a
    bone as child.
    """
    joints = {joint for skin in scene.skins for joint in skin.joints}
    bare = {joint for joint in joints if _is_bare(scene.nodes[joint])}
    not_bones = sorted(joint for joint in joints if joint not in bare or scene.nodes[joint].kind is not NodeKind.BONE)
    if not not_bones:
        return scene
    nodes, bone_of_joint = list(scene.nodes), {}
    names = UniqueNames()
    for node in nodes:
        names.claim(node.name)
    for joint in not_bones:
        node = nodes[joint]
        if joint in bare and node.kind in (NodeKind.OBJECT, NodeKind.DUMMY):
            nodes[joint] = replace(node, kind=NodeKind.BONE)
        else:
            bone_of_joint[joint] = len(nodes)
            nodes.append(Node(names.claim(f"{node.name}.bone"), NodeKind.BONE, joint))
    skins = [replace(skin, joints=[bone_of_joint.get(joint, joint) for joint in skin.joints]) for skin in scene.skins]
    return replace(scene, nodes=nodes, skins=skins)


def _is_bare(node: Node) -> bool:
    """Return whether a node has no mesh, camera or light, so that it can be written as a bone."""
    return node.mesh is node.camera is node.light is None


def bind_pose(scene: Scene, rest: Floats) -> dict[int, Transform]:
    """Return new local transforms for bones whose rest pose differs from the bind pose, and for their children.

    ``rest`` has the world matrices of all nodes at rest.
    """
    world, affected = bind_world(scene, rest)
    transforms: dict[int, Transform] = {}
    for number in sorted(affected):
        parent = scene.nodes[number].parent
        local = world[number] if parent is None else affine.multiply(affine.inverse(world[parent]), world[number])
        transforms[number] = affine.decompose(local)
    return transforms


def write_skin(
    record: r.Mesh, scene: Scene, node: Node, ids: dict[int, int], tolerance: Tolerance, report: LossReport
) -> None:
    """Write the bones and weights of the vertices.

    If the skin is rigid, with one bone for every vertex, no weights are stored, and vertices are in the space of their
    bone.
    """
    assert node.skin is not None
    skin = scene.skins[node.skin]
    assert node.mesh is not None
    positions = np.asarray(scene.meshes[node.mesh].positions, np.float64)
    order = np.argsort(np.asarray(skin.vertex_indices), kind="stable")
    owners = np.asarray(skin.vertex_indices, np.int64)[order]
    joints = np.asarray(skin.joint_indices, np.int64)[order]
    bones = np.array([ids.get(number, -1) for number in skin.joints], np.int64)
    record.flags |= r.SKINNED
    _report_differences(
        skin, order, owners, joints, positions, tolerance, f"{plain_path('nodes', node.name)}/skin", report
    )
    if skin.rigid and np.array_equal(owners, np.arange(len(positions))):
        record.skin_type = r.SIMPLE_SKIN
        record.vertex_bones = bones[joints].astype("<i4")
        record.vertices = _offsets(skin, order, owners, joints, positions).astype("<f4")
        return
    record.skin_type = r.WEIGHTED_SKIN
    record.bones_per_vertex = np.bincount(owners, minlength=len(positions)).astype("<i4")
    record.bone_ids = bones[joints].astype("<i4")
    record.bone_weights = np.asarray(skin.weights)[order].astype("<f4")
    record.vertices = positions.astype("<f4")


def _offsets(skin: Skin, order: Any, owners: Any, joints: Any, positions: Floats) -> Floats:
    """Return the position of each influence in the space of its bone."""
    if skin.positions is not None:
        return np.asarray(np.asarray(skin.positions, np.float64)[order])
    inverse = np.asarray(skin.inverse_bind, np.float64)[joints]
    return affine.transform_each(inverse, positions[owners])


def _report_differences(
    skin: Skin, order: Any, owners: Any, joints: Any, positions: Floats, tolerance: Tolerance, path: str, report: Any
) -> None:
    """Report the largest difference between the bind position of an influence and the position of its vertex."""
    if skin.positions is None or skin.rigid or not len(owners):
        return
    bind = affine.inverse(skin.inverse_bind)[joints]
    offsets = np.asarray(skin.positions, np.float64)[order]
    bind_positions = affine.transform_each(bind, offsets)
    error = float(np.sqrt(((bind_positions - positions[owners]) ** 2).sum(axis=1)).max())
    if error > tolerance.length:
        report.add(SKIN_CHANGED["bind positions"], path, error=error)
