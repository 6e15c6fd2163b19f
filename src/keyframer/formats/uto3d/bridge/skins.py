"""Read skins: rigid ones with vertices in the space of their bone, weighted ones with vertices in scene space."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Floats, Ints
from keyframer.catalogue import LINK_UNRESOLVED_ID
from keyframer.formats.kit.scene_reading import Reporter, check_weights, finite_rows
from keyframer.formats.uto3d import records as r
from keyframer.issues import Severity
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.scene import Mesh, Scene, Skin


def rest_world(scene: Scene) -> Floats:
    """Return (N, 4, 4) world matrices of all nodes at rest."""
    still = Scene(nodes=scene.nodes, cameras=scene.cameras, lights=scene.lights, space=scene.space)
    rig = Rig(still)
    world: Floats = rig.world({}, 1)[0]
    return world


def bone_ids(record: r.Mesh) -> Ints:
    """Return the bone id of each influence of a skinned mesh."""
    return np.asarray(record.vertex_bones if record.skin_type == r.SIMPLE_SKIN else record.bone_ids, np.int64)


def read_skin(reporter: Reporter, record: r.Mesh, mesh: Mesh, by_id: dict[int, int], world: Floats) -> Skin | None:
    """Read the skin of a mesh, and move the mesh's vertices to scene space. Vertices of missing bones do not move."""
    count = len(mesh.positions)
    simple = record.skin_type == r.SIMPLE_SKIN
    ids = bone_ids(record)
    if simple:
        owners, weights = np.arange(count), np.ones(count)
    else:
        owners = np.repeat(np.arange(count), np.asarray(record.bones_per_vertex, np.int64))
        weights = finite_rows(reporter, record, "bone_weights", record.bone_weights)
        check_weights(reporter, record, "bone_weights", owners, weights, count)
    stored, places = np.unique(ids, return_inverse=True)
    known = np.array([number in by_id for number in stored.tolist()], bool)
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
    joints = [by_id[number] for number in stored[known].tolist()]
    kept = known[places]
    influences = (np.cumsum(known) - 1)[places][kept]
    owners, weights = owners[kept], weights[kept]
    bones = world[np.array(joints)]
    skin = Skin(mesh.name, joints, affine.inverse(bones), owners, influences, weights, rigid=simple)
    if simple:
        offsets = np.asarray(mesh.positions, np.float64)[owners]
        skin.positions = offsets
        placed = np.array(mesh.positions, np.float64)
        chosen = bones[influences]
        placed[owners] = np.einsum("nij,nj->ni", chosen[:, :3, :3], offsets) + chosen[:, :3, 3]
        mesh.positions = placed
    return skin
