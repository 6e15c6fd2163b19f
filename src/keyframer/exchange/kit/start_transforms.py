"""Transforms of all nodes at the start of a clip."""

from __future__ import annotations

import numpy as np

from keyframer.arrays import Flags, Floats
from keyframer.curves.lazy_fields import stored_values
from keyframer.exchange.kit.axes import Axes
from keyframer.maths import quat
from keyframer.posing import Rig
from keyframer.posing.channels import Samples
from keyframer.posing.local_matrices import usable_rows
from keyframer.scene import Scene

ORIGIN, NO_ROTATION, FULL_SIZE = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0]


class StartTransforms:
    """Transforms of all nodes at the start of a clip, in the axes of the written file: arrays over nodes."""

    def __init__(self, scene: Scene, axes: Axes, rig: Rig, samples: Samples) -> None:
        nodes = scene.nodes

        def at(kind: str, field: str, default: list[float]) -> Floats:
            values = stored_values(nodes, field, None)
            rows = usable_rows([default if value is None else value for value in values], default)
            rig.channels.set_still(kind, rows)
            for animated in rig.channels.animated.get(kind, ()):
                rows[animated.nodes] = animated.values(samples)[0]
            return rows

        self.position = axes.vectors(at("position", "position", ORIGIN))
        self.rotation = axes.rotations(quat.normalise(at("rotation", "rotation_xyzw", NO_ROTATION)))
        self.scale = at("scale", "scale", FULL_SIZE)
        channels = rig.channels
        if "scale_axes" in {*channels.still, *channels.animated} or any(
            node.scale_axes_xyzw is not None for node in nodes
        ):
            self.axes = axes.rotations(quat.normalise(at("scale_axes", "scale_axes_xyzw", NO_ROTATION)))
            self.has_axes = _has_effective_axes(scene, self.axes, self.scale).tolist()
        else:
            self.axes = np.tile(NO_ROTATION, (len(nodes), 1))
            self.has_axes = [False] * len(nodes)


def _has_effective_axes(scene: Scene, axes: Floats, scale: Floats) -> Flags:
    """Return (nodes,) whether scale axes have an effect: they are rotated, and the scale is not always uniform."""
    rotated = np.asarray(np.any(np.abs(axes[:, :3]) > 1e-9, axis=1))
    channels = [channel for clip in scene.clips for channel in clip.channels if 0 <= channel.node < len(axes)]
    for channel in channels:
        if channel.track.kind == "scale_axes":
            rotated[channel.node] = True
    if not rotated.any():
        return rotated
    uneven = np.ptp(scale, axis=1) > 0
    for channel in channels:
        if channel.track.kind == "scale" and channel.track.values.ndim == 2:
            uneven[channel.node] |= bool(np.any(np.ptp(channel.track.values, axis=1) > 0))
    return np.asarray(rotated & uneven)
