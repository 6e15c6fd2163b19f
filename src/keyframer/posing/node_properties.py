"""What nodes, cameras and lights are like apart from their place: visible, field of view, colours, cones, weights."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from keyframer.posing.channels import Channels, Indices, Samples, as_slice
from keyframer.scene import Scene

Floats = npt.NDArray[np.float64]


class State:
    """One quantity of many things: (things, k) at rest, and the channels that move it.

    ``carriers`` says which thing a node stands for; None: the node itself.
    """

    def __init__(
        self, channels: Channels, kind: str, rest: npt.ArrayLike, width: int, carriers: Mapping[int, int] | None
    ) -> None:
        self._rest = np.array(rest, np.float64).reshape(-1, width)
        if carriers is None:
            channels.set_still(kind, self._rest)
        else:
            for node, value in channels.still.get(kind, {}).items():
                if node in carriers:
                    self._rest[carriers[node]] = value
        self._moved: list[tuple[str, Indices, Indices | slice]] = []
        for movers in channels.movers.get(kind, ()):
            things = movers.nodes
            slots = (
                np.arange(movers.slots.start, movers.slots.stop) if isinstance(movers.slots, slice) else movers.slots
            )
            if carriers is not None:
                carrying = np.array([node in carriers for node in things.tolist()], bool)
                slots = slots[carrying]
                things = np.array([carriers[node] for node in things[carrying].tolist()], np.int64)
            if len(things):
                self._moved.append((movers.family, things, as_slice(slots)))

    def at(self, samples: Samples, count: int) -> Floats:
        """(T, things, k)"""
        out = np.empty((count, *self._rest.shape))
        out[:] = self._rest
        for family, things, slots in self._moved:
            out[:, things] = samples[family][:, slots]
        return out


class States:
    """All of them for one scene and clip."""

    def __init__(self, scene: Scene, channels: Channels) -> None:
        cameras = {i: node.camera for i, node in enumerate(scene.nodes) if node.camera is not None}
        lights = {i: node.light for i, node in enumerate(scene.nodes) if node.light is not None}
        self.visible = State(channels, "visible", [0.0 if node.hidden else 1.0 for node in scene.nodes], 1, None)
        self.fov = State(channels, "fov", [camera.fov_degrees for camera in scene.cameras], 1, cameras)
        self.color = State(channels, "color", [light.color for light in scene.lights], 3, lights)
        self.multiplier = State(channels, "multiplier", [light.multiplier for light in scene.lights], 1, lights)
        cones = [light.hotspot_degrees or 0.0 for light in scene.lights]
        self.hotspot = State(channels, "hotspot", cones, 1, lights)
        cones = [light.falloff_degrees or 0.0 for light in scene.lights]
        self.falloff = State(channels, "falloff", cones, 1, lights)
        self._channels = channels
        self._morphing = sorted({*channels.still.get("morph", {}), *channels.moving_nodes(("morph",)).tolist()})

    def morph_weights(self, samples: Samples, count: int) -> dict[int, Floats]:
        """Node to (T, shapes), for nodes whose channel has usable keys."""
        found: dict[int, Floats] = {}
        for node in self._morphing:
            weights = self._channels.one(samples, "morph", node)
            if weights is not None:
                found[node] = np.array(np.broadcast_to(weights, (count, weights.shape[1])))
        return found
