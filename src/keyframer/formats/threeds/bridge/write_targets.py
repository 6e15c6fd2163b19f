"""Find targets for cameras and spot lights. 3D Studio requires a target and a roll track for each."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import RotationForm, Track
from keyframer.curves.cubic_fit import vector_distance
from keyframer.curves.key_reduction import fewest_keys, sample_together
from keyframer.fields import dataclass
from keyframer.formats.kit.key_tracks import KeyFitter, single_key
from keyframer.formats.kit.scene_writing import plain_path
from keyframer.maths import affine
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.scene import LightType, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome


@dataclass(eq=False)
class Aim:
    """The target of a camera or light: a node of the scene, or a new one."""

    place: Floats
    """the position at frame 0, in scene space"""
    node: int | None = None
    """the target node in the scene"""
    parent: int | None = None
    """the parent of a new target"""
    position: Track | None = None
    """the position track of a new target, in frames"""
    roll: Track | None = None
    """the roll track that replaces the rotation of a free camera, in frames"""


def find_aims(scene: Scene, world: Floats, fitter: KeyFitter, known: Collection[int] = frozenset()) -> dict[int, Aim]:
    """Return the target of every camera and spot light. ``world`` (nodes, 4, 4) is frame 0.

    Nodes in ``known`` have a target in the document already.
    """
    aims: dict[int, Aim] = {}
    taken = {node.target for number, node in enumerate(scene.nodes) if number in known}
    for number, node in enumerate(scene.nodes):
        if not _needs_aim(scene, node):
            continue
        if number in known and (node.target is None or node.target in known):
            aims[number] = Aim(np.array(_stored(scene, node) or (0.0, 0.0, 0.0)), node=node.target)
            continue
        path = f"{plain_path('nodes', node.name)}/target"
        if node.target is not None:
            place = world[node.target, :3, 3]
            if scene.nodes[node.target].kind is NodeKind.TARGET and node.target not in taken:
                taken.add(node.target)
                aims[number] = Aim(place, node=node.target)
            else:  # an object, or a target that another node uses too
                aims[number] = Aim(place, parent=node.target, position=single_key("position", np.zeros(3)))
                fitter.report.add(Outcome.BAKED, path, "a separate target was added at the node it is aimed at")
            continue
        stored = _stored(scene, node)
        if stored is not None:
            aims[number] = Aim(np.array(stored), position=single_key("position", stored))
            fitter.report.add(Outcome.BAKED, path, "the stored target became a node")
        else:
            aims[number] = _aim_of_free_node(scene, number, world, fitter)
            fitter.report.add(Outcome.BAKED, path, "its orientation became a target and a roll")
    return aims


def _needs_aim(scene: Scene, node: Node) -> bool:
    if node.camera is not None:
        return True
    return node.light is not None and scene.lights[node.light].type in (LightType.SPOT, LightType.DIRECTIONAL)


def _stored(scene: Scene, node: Node) -> tuple[float, float, float] | None:
    if node.camera is not None:
        return scene.cameras[node.camera].target
    return None if node.light is None else scene.lights[node.light].target


def _aim_of_free_node(scene: Scene, number: int, world: Floats, fitter: KeyFitter) -> Aim:
    """Return a new target for a camera or light without one: a point in front of it at every frame."""
    distance = 0.1 * scene_size(scene)
    first, last = (round(float(value)) for value in fitter.times(fitter.span))
    frames = np.arange(first, last + 1, dtype=np.float64)
    rig = Rig(scene)
    placed = rig.world(rig.sample(frames / fitter.factor), len(frames))[:, number]
    goals = placed[:, :3, 3] - distance * _unit(placed[:, :3, 2])
    level = affine.look_at(placed[:, :3, 3], goals)
    side, up = _unit(placed[:, :3, 0]), _unit(level[:, :3, 1])
    # roll is positive if X points down
    turned = np.arctan2(-(side * up).sum(axis=1), (side * _unit(level[:, :3, 0])).sum(axis=1))
    roll = np.degrees(np.unwrap(turned))
    none, tolerance = RotationForm.NONE, fitter.tolerance
    (position, _), (turn, _) = sample_together(
        [
            fewest_keys("position", frames, goals, none, tolerance.length, vector_distance),
            fewest_keys("roll", frames, roll, none, tolerance.degrees, vector_distance),
        ]
    )
    matrix = world[number]
    return Aim(matrix[:3, 3] - distance * _unit(matrix[None, :3, 2])[0], position=position, roll=turn)


def _unit(vectors: Floats) -> Floats:
    lengths = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
