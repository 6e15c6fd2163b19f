"""Leave out the unsafe parts of joints and meshes."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Flags
from keyframer.formats.kit.joint_pairs.records import Joint, Mesh, ModelJoint
from keyframer.wire.cursor import frozen
from keyframer.wire.record import Record


def mend(record: Record, parent: Record | None, field: str) -> bool:
    """Leave out triangles, weights, the parent of a joint, or all that moves a joint whose numbers are not in the
    frames."""
    if isinstance(record, Joint | ModelJoint) and field == "parent":
        record.parent = -1
    elif isinstance(record, Joint) and field == "start_index":
        record.flags = 0
    elif isinstance(record, Mesh) and field == "triangles":
        record.triangles = frozen(record.triangles[(record.triangles < len(record.vertices)).all(axis=1)])
    elif isinstance(record, Mesh) and field in ("weights", "vertices"):
        joints = 0 if parent is None else sum(isinstance(part, ModelJoint) for part in parent.children)
        _keep_weights(record, (record.weights["joint"] >= 0) & (record.weights["joint"] < joints))
    else:
        return False
    return True


def _keep_weights(mesh: Mesh, kept: Flags) -> None:
    """Leave out the other weights of a mesh; vertices whose weights are not in the file get none."""
    before = np.concatenate([[0], np.cumsum(kept)])
    first = mesh.vertices["first_weight"].astype(np.int64)
    end = first + mesh.vertices["weight_count"]
    valid = end <= len(kept)
    vertices = mesh.vertices.copy()
    vertices["first_weight"] = before[np.where(valid, first, 0)]
    vertices["weight_count"] = before[np.where(valid, end, 0)] - vertices["first_weight"]
    mesh.vertices, mesh.weights = frozen(vertices), frozen(mesh.weights[kept])
