"""Writes the node tree: an ``Xform`` for each node, with the operations of its matrix.

T . R . Q S Q^-1 becomes translate, orient and scale; Q, the scale axes, are a second orient before and after the scale.
The rotation of aimed nodes is baked (`keyframer.exchange.kit.aims`).
"""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.exchange.kit.aims import matrices_in_parent
from keyframer.exchange.kit.motion import Sampler
from keyframer.exchange.kit.numbers import single
from keyframer.exchange.kit.start_transforms import FULL_SIZE, NO_ROTATION, ORIGIN, StartTransforms
from keyframer.exchange.usd.context import Context
from keyframer.exchange.usd.layer import Prim, row, tokens, wxyz
from keyframer.maths import quat
from keyframer.posing.channels import Samples
from keyframer.scene import NodeKind
from keyframer.scene.losses import TRANSFORM_APPLIED


class LocalTransforms:
    """Position, rotation, scale and scale axes of each node, below its prim, at the start and as samplers; in the axes
    of the file."""

    def __init__(self, context: Context, samples: Samples, world: Floats) -> None:
        """``samples`` and ``world`` (nodes, 4, 4) are those of the start."""
        rig, axes = context.motions.rig, context.axes
        start = StartTransforms(context.scene, axes, rig, samples)
        self.position, self.rotation, self.scale, self.axes = start.position, start.rotation, start.scale, start.axes
        self.has_axes = start.has_axes
        self.parents = rig.order.parents.tolist()
        for number, aim in context.motions.aims.items():
            parent = -1 if aim.detached else self.parents[number]
            matrices = matrices_in_parent(world[None, number], None if parent < 0 else world[None, parent])
            self.position[number] = axes.vectors(matrices[0, :3, 3])
            self.rotation[number] = axes.rotations(quat.from_matrix3(matrices[:, :3, :3])[0])
            self.scale[number] = aim.scale
            self.has_axes[number] = False
            if aim.detached and self.parents[number] >= 0:
                self.parents[number] = -1
                context.report.add(
                    TRANSFORM_APPLIED["node at root"], f"/nodes/{context.scene.nodes[number].name}/parent"
                )
        signs = {"position": single(axes.vectors(np.ones(3))), "scale": np.ones(3, np.float32)}
        signs |= dict.fromkeys(("rotation", "scale_axes"), single(axes.rotations(np.ones(4))))
        self.samplers: dict[int, dict[str, Sampler]] = {}
        """by node and property"""
        for (number, name), sampler in context.motions.samplers().items():
            self.samplers.setdefault(number, {})[name] = sampler.mirrored(signs[name])


def write_nodes(context: Context, local: LocalTransforms, left_out: set[int]) -> None:
    """Write all nodes but those that are ``left_out``, whose descendants are, too."""
    nodes = context.scene.nodes
    for number in context.motions.rig.order.flat.tolist():
        if number in left_out:
            continue
        parent = context.root if local.parents[number] < 0 else context.prims[local.parents[number]]
        node = nodes[number]
        prim = context.prims[number] = parent.add("Xform", node.name)
        if node.kind not in (NodeKind.OBJECT, NodeKind.CAMERA, NodeKind.LIGHT):
            prim.set("custom uniform token keyframer:kind", f'"{node.kind.value}"')
        _set_transform(context, prim, number, local)


def _set_transform(context: Context, prim: Prim, number: int, local: LocalTransforms) -> None:
    samplers = local.samplers.get(number, {})
    operations: list[str] = []

    def operation(kind: str, name: str, values: Array, default: list[float], animated: str) -> None:
        sampler = samplers.get(animated)
        value = single(values)
        if sampler is None and value.tolist() == default:
            return
        keys = None if sampler is None else sampler.values
        if animated in ("rotation", "scale_axes"):
            value, keys = wxyz(value), None if keys is None else wxyz(keys)
        samples = None if sampler is None else context.samples(sampler, keys)
        prim.animate(f"{kind} xformOp:{name}", row(value), samples)
        operations.append(f"xformOp:{name}")

    operation("double3", "translate", local.position[number], ORIGIN, "position")
    operation("quatf", "orient", local.rotation[number], NO_ROTATION, "rotation")
    if local.has_axes[number]:
        operation("quatf", "orient:axes", local.axes[number], [], "scale_axes")
    operation("float3", "scale", local.scale[number], FULL_SIZE, "scale")
    if local.has_axes[number]:
        operations.append("!invert!xformOp:orient:axes")
    if operations:
        prim.set("uniform token[] xformOpOrder", tokens(operations))
