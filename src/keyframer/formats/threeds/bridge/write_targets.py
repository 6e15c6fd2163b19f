"""Find targets for cameras and spot lights. 3D Studio requires a target and a roll track for each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import RotationForm, Track, even_times
from keyframer.curves.cubic_fit import vector_distance
from keyframer.curves.key_reduction import fewest_keys, sample_together
from keyframer.formats.kit.key_tracks import KeyFitter, single_key
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.scene import LightType, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome

_SAMPLES_PER_NODE = 64
"""samples for each node and frame: local and world matrices, and what they are made from"""


@dataclass(eq=False)
class Aim:
    """The target of a camera or light: a node of the scene, a new node, or only a point in the editor."""

    point: Floats
    """the position of the target at frame 0, in scene space"""
    node: int | None = None
    """the target node in the scene"""
    parent: int | None = None
    """the parent of a new target"""
    position: Track | None = None
    """the position track of a new target, in frames"""
    roll: Track | None = None
    """the roll track that replaces the rotation of a free camera, in frames"""


def find_aims(scene: Scene, world: Floats, fitter: KeyFitter, existing: Collection[int]) -> dict[int, Aim]:
    """Return the target of every camera, spot light and directional light.

    ``world`` (nodes, 4, 4) are the matrices at frame 0. Nodes in ``existing`` are nodes of the original document.
    """
    aims: dict[int, Aim] = {}
    taken = {node.target for number, node in enumerate(scene.nodes) if number in existing}
    for number, node in enumerate(scene.nodes):
        if not _needs_aim(scene, node):
            continue
        if number in existing and (node.target is None or node.target in existing):
            aims[number] = Aim(np.array(_stored_target(scene, node) or (0.0, 0.0, 0.0)), node=node.target)
            continue
        path = f"{plain_path('nodes', node.name)}/target"
        if node.target is not None:
            point = world[node.target, :3, 3]
            if scene.nodes[node.target].kind is NodeKind.TARGET and node.target not in taken:
                taken.add(node.target)
                aims[number] = Aim(point, node=node.target)
            else:  # an object, or a target that another node uses too
                aims[number] = Aim(point, parent=node.target, position=single_key("position", np.zeros(3)))
                message = "a separate target was added at the node that this camera or light is aimed at"
                fitter.report.add(Outcome.BAKED, path, message)
            continue
        stored = _stored_target(scene, node)
        if stored is not None:
            aims[number] = Aim(np.array(stored), position=single_key("position", stored))
            fitter.report.add(Outcome.BAKED, path, "the stored target became a node")
        else:
            aims[number] = _aim_of_free_node(scene, number, world, fitter)
            is_camera = node.camera is not None
            message = "its orientation became a target and a roll" if is_camera else "its direction became a target"
            fitter.report.add(Outcome.BAKED, path, message)
    return aims


def _needs_aim(scene: Scene, node: Node) -> bool:
    if node.camera is not None:
        return True
    return node.light is not None and scene.lights[node.light].type in (LightType.SPOT, LightType.DIRECTIONAL)


def _stored_target(scene: Scene, node: Node) -> tuple[float, float, float] | None:
    if node.camera is not None:
        return scene.cameras[node.camera].target
    return None if node.light is None else scene.lights[node.light].target


def _aim_of_free_node(scene: Scene, number: int, world: Floats, fitter: KeyFitter) -> Aim:
    """Return a new target for a camera or light without one: a point in front of it at every frame, and its roll."""
    distance = 0.1 * scene_size(scene)
    first, last = (round(float(value)) for value in fitter.times(fitter.span))
    frames = even_times(first, last, numbers=_SAMPLES_PER_NODE * len(scene.nodes))
    rig = Rig(scene)
    matrices = rig.world(rig.sample(frames / fitter.factor), len(frames))[:, number]
    targets = matrices[:, :3, 3] - distance * _unit(matrices[:, :3, 2])
    without_roll = affine.look_at(matrices[:, :3, 3], targets)
    side, up = _unit(matrices[:, :3, 0]), _unit(without_roll[:, :3, 1])
    # roll is positive if X points down
    radians = np.arctan2(-(side * up).sum(axis=1), (side * _unit(without_roll[:, :3, 0])).sum(axis=1))
    degrees = np.degrees(np.unwrap(radians))
    none, tolerance = RotationForm.NONE, fitter.tolerance
    (position, _), (roll, _) = sample_together(
        [
            fewest_keys("position", frames, targets, none, tolerance.length, vector_distance),
            fewest_keys("roll", frames, degrees, none, tolerance.degrees, vector_distance),
        ]
    )
    matrix = world[number]
    return Aim(matrix[:3, 3] - distance * _unit(matrix[None, :3, 2])[0], position=position, roll=roll)


def _unit(vectors: Floats) -> Floats:
    lengths = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
