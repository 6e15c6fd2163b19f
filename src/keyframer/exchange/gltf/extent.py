"""How large a scene is, and where its middle is: what errors, near planes and lights are measured by."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.exchange.gltf.motion import Span
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.scene import Scene

Floats = npt.NDArray[np.float64]
Box = tuple[Floats, Floats]

_TIMES = 17
_CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float64)


def mesh_boxes(scene: Scene) -> list[Box]:
    """Lower and upper corner of each mesh, in its own space; numbers that are none do not count."""
    boxes: list[Box] = []
    for mesh in scene.meshes:
        points = np.asarray(mesh.positions)
        if not len(points):
            boxes.append((np.zeros(3), np.zeros(3)))
            continue
        with np.errstate(invalid="ignore"):  # of signalling NaNs, which a file may hold
            low = np.array([points[:, axis].min() for axis in range(3)], np.float64)
            high = np.array([points[:, axis].max() for axis in range(3)], np.float64)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            clean = points[np.isfinite(points).all(axis=1)]
            low = clean.min(axis=0, initial=0.0).astype(np.float64)
            high = clean.max(axis=0, initial=0.0).astype(np.float64)
        boxes.append((low, high))
    return boxes


def scene_extent(scene: Scene, rig: Rig, span: Span | None, boxes: list[Box]) -> tuple[float, Floats]:
    """Diagonal and middle of the box around all that is drawn, at some times of the clip; of the nodes' origins where
    nothing is drawn. The diagonal is never 0."""
    times = np.zeros(1) if span is None else np.linspace(span.begin, span.end, _TIMES if span.end > span.begin else 1)
    drawn = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
    world = rig.world(rig.sample(times), len(times))
    points: list[Floats] = []
    with np.errstate(all="ignore"):
        for number in drawn:
            node = scene.nodes[number]
            assert node.mesh is not None
            low, high = boxes[node.mesh]
            box = low + _CORNERS * (high - low)
            if node.skin is None:
                box = box - np.asarray(node.pivot, np.float64)
                points.append(affine.transform_points(world[:, number], box[None]).reshape(-1, 3))
            else:
                points.append(box)
        if not drawn:
            points.append(world[..., :3, 3].reshape(-1, 3))
    every = np.concatenate(points) if points else np.zeros((1, 3))
    every = every[np.isfinite(every).all(axis=1) & (np.abs(every).max(axis=1, initial=0.0) < 1e30)]
    if not len(every):
        return 1.0, np.zeros(3)
    low, high = every.min(axis=0), every.max(axis=0)
    return float(np.linalg.norm(high - low)) or 1.0, 0.5 * (low + high)
