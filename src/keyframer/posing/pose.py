"""A pose: where everything is at given times, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from keyframer.posing.rig import Rig
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Clip, Scene

Floats = npt.NDArray[np.float64]


@dataclass(eq=False)
class Pose:
    """A scene at T times, in the scene's own space. N nodes, C cameras, L lights."""

    scene: Scene
    times_seconds: Floats
    """(T,) seconds from time 0 of the clip"""
    frames: Floats
    """(T,) the same times in frames"""
    local: Floats
    """(T, N, 4, 4) under the parent"""
    world: Floats
    """(T, N, 4, 4); a node's own geometry is at ``world . T(-pivot)``"""
    visible: npt.NDArray[np.bool_]
    """(T, N)"""
    camera_fov_degrees: Floats
    """(T, C) horizontal"""
    light_colors: Floats
    """(T, L, 3)"""
    light_multipliers: Floats
    """(T, L)"""
    light_hotspot_degrees: Floats
    """(T, L) full angle, 0 for lights that are no spots"""
    light_falloff_degrees: Floats
    """(T, L) full angle"""
    morph_weights: dict[int, Floats] = field(default_factory=dict)
    """node number to (T, shapes)"""

    def vertices(self, node: int) -> Floats:
        """(T, V, 3) the node's mesh in scene space: morphed, skinned, placed."""
        return posed_vertices(self.scene, node, self.world, self.morph_weights.get(node))

    def __repr__(self) -> str:
        return f"<Pose of {len(self.scene.nodes)} nodes at {len(self.frames)} times>"


def pose(
    scene: Scene,
    times: npt.ArrayLike | None = None,
    *,
    frames: npt.ArrayLike | None = None,
    clip: int = 0,
    rig: Rig | None = None,
) -> Pose:
    """The scene at ``times`` (seconds) or at ``frames`` (the clip's own frames); exactly one of them is given.

    For many calls, make a `Rig` once and pass it.
    """
    if (times is None) == (frames is None):
        raise ValueError("give either times (seconds) or frames")
    rig = rig or Rig(scene, clip)
    seconds, whole = _both(rig.clip, times, frames)
    units = whole * rig.clip.units_per_frame
    samples = rig.sample(units)
    local = rig.local(samples, len(units))
    world = rig.world(local, samples)
    nodes, cameras, lights = scene.nodes, scene.cameras, scene.lights
    hidden = np.array([[0.0 if node.hidden else 1.0] for node in nodes]).reshape(len(nodes), 1)
    visible = np.broadcast_to(rig.values(samples, "visible", hidden)[..., 0] > 0.5, (len(units), len(nodes)))
    carried_cameras = [(i, node.camera) for i, node in enumerate(nodes) if node.camera is not None]
    carried_lights = [(i, node.light) for i, node in enumerate(nodes) if node.light is not None]

    def of(kind: str, carried: list[tuple[int, int]], rest: list[float]) -> Floats:
        out = np.empty((len(units), len(rest)))
        out[:] = rest
        for node, number in carried:
            moved = rig.one(samples, kind, node)
            if moved is not None:
                out[:, number] = moved[:, 0]
        return out

    colors = np.empty((len(units), len(lights), 3))
    colors[:] = np.array([light.color for light in lights]).reshape(len(lights), 3)
    for node, number in carried_lights:
        moved = rig.one(samples, "color", node)
        if moved is not None:
            colors[:, number] = moved
    weights = {node: rig.one(samples, "morph", node) for node in rig.driven_nodes("morph")}
    return Pose(
        scene=scene,
        times_seconds=seconds,
        frames=whole,
        local=local,
        world=world,
        visible=visible,
        camera_fov_degrees=of("fov", carried_cameras, [camera.fov_degrees for camera in cameras]),
        light_colors=colors,
        light_multipliers=of("multiplier", carried_lights, [light.multiplier for light in lights]),
        light_hotspot_degrees=of("hotspot", carried_lights, [light.hotspot_degrees or 0.0 for light in lights]),
        light_falloff_degrees=of("falloff", carried_lights, [light.falloff_degrees or 0.0 for light in lights]),
        morph_weights={node: found for node, found in weights.items() if found is not None},
    )


def _both(clip: Clip, times: npt.ArrayLike | None, frames: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Seconds and frames of the same moments. Seconds that mean a whole frame give that frame exactly: a jump or a
    hide key stands on it."""
    rate = clip.frames_per_second
    if frames is not None:
        exact = np.atleast_1d(np.asarray(frames, np.float64))
        return exact / rate, exact
    seconds = np.atleast_1d(np.asarray(times, np.float64))
    rough = seconds * rate
    near = np.round(rough)
    return seconds, np.where(np.abs(rough - near) <= 1e-9 * np.maximum(1.0, np.abs(near)), near, rough)
