"""U3D scenes evaluated in plain Python from the data of the tests: one node, one time after the other.

Written from the specification alone: no arrays, no code of keyframer.curves, maths or posing. Values that the writer
stores are rounded to single precision.
"""

from __future__ import annotations

import math
from typing import Any

from tests.building.files import single
from tests.building.uto3d import Scene
from tests.posing.plain import (
    NO_TURN,
    Matrix,
    cross,
    identity,
    inverse,
    product,
    rotation,
    scaling,
    transform_point,
    translation,
)
from tests.posing.plain import unit as normal
from tests.reference_curves.slow import Quaternion, SlowTrack, Vector, evaluate, unit

POSITION, ROTATION, SCALE, FOV, ROLL = range(5)
COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")


def nodes(scene: Scene) -> list[dict[str, Any]]:
    return [*scene.meshes, *scene.cameras, *scene.targets, *scene.lights, *scene.bones]


def track(scene: Scene, owner: int, kind: int, width: slice, form: str = "NONE") -> SlowTrack | None:
    """The keys of a controller as a reference curve; rotation keys are increments in TCB controllers only."""
    for controller in scene.controllers:
        if controller.get("owner") != owner or controller["type"] != kind or not controller.get("keys"):
            continue
        keys = controller["keys"]
        values = [[single(number) for number in key[1]][width] for key in keys]
        tcb = controller["scheme"] == 1
        if form == "turn":
            form = "QUATERNION_RELATIVE" if tcb else "QUATERNION_ABSOLUTE"
        slow_track = SlowTrack([float(key[0]) for key in keys], values, "TCB" if tcb else "LINEAR", form=form)
        if tcb:
            for bit, name in enumerate(COLUMNS):
                setattr(slow_track, name, [tcb_value(key, bit) for key in keys])
        return slow_track
    return None


def tcb_value(key: Any, bit: int) -> float:
    """The value that bit ``bit`` of a TCB key's flags announces; 0 if the bit is not set."""
    _, _, flags, extras = key
    if not flags >> bit & 1:
        return 0.0
    return single(extras[sum(flags >> lower & 1 for lower in range(bit))])


def value(keys: SlowTrack | None, tick: float, rest: Vector) -> Vector:
    return [single(number) for number in rest] if keys is None else evaluate(keys, tick, rest)


def local(scene: Scene, node: dict[str, Any], tick: float, position_scale: float = 1.0) -> Matrix:
    """``T . R . Q diag(s) Q^-1``"""
    slide = track(scene, node["id"], POSITION, slice(3))
    place = value(slide, tick, node["position"])
    if slide is not None:
        place = [number * position_scale for number in place]
    turn = unit(value(track(scene, node["id"], ROTATION, slice(4), "turn"), tick, node["rotation"]))
    size = value(track(scene, node["id"], SCALE, slice(3)), tick, node["scale"])
    out = product(translation(place), rotation(turn))
    return product(out, product(product(axes(scene, node, tick), scaling(size)), transposed(axes(scene, node, tick))))


def axes(scene: Scene, node: dict[str, Any], tick: float) -> Matrix:
    """The orientation of the scale axes: absolute quaternions in all controllers; 0, 0, 0, 0 means none."""
    keys = track(scene, node["id"], SCALE, slice(3, 7), "QUATERNION_ABSOLUTE")
    if keys is None or not any(any(row) for row in keys.values):
        return identity()
    return rotation(unit(evaluate(keys, tick, list(NO_TURN))))


def transposed(m: Matrix) -> Matrix:
    return [[m[j][i] for j in range(4)] for i in range(4)]


def world(scene: Scene, number: int, tick: float, position_scale: float = 1.0) -> Matrix:
    """The product along the parents in all sections; 0 and -1 mean none, and a parent may be missing."""
    by_id = {node["id"]: node for node in reversed(nodes(scene))}
    node = by_id[number]
    out = local(scene, node, tick, position_scale)
    while node["parent"] not in (0, -1) and node["parent"] in by_id:
        node = by_id[node["parent"]]
        out = product(local(scene, node, tick, position_scale), out)
    return out


def look_at(eye: Vector, goal: Vector, roll: float) -> Matrix:
    """Left-handed: X right, Y up, Z towards the goal; a roll turns X towards Y."""
    ahead = normal([b - a for a, b in zip(eye, goal, strict=True)])
    right = normal(cross([0.0, 1.0, 0.0], ahead))
    top = cross(ahead, right)
    x = [math.cos(roll) * a + math.sin(roll) * b for a, b in zip(right, top, strict=True)]
    y = [math.cos(roll) * b - math.sin(roll) * a for a, b in zip(right, top, strict=True)]
    return [[x[i], y[i], ahead[i], eye[i]] for i in range(3)] + [[0.0, 0.0, 0.0, 1.0]]


def skinned(scene: Scene, mesh: dict[str, Any], tick: float) -> list[Vector]:
    """Simple: the vertex is an offset in its bone's space. Weighted: in scene space, bound to the rest pose of the
    bones.
    """
    still = Scene(**{**vars(scene), "controllers": []})
    out: list[Vector] = []
    for number, stored in enumerate(mesh["vertices"]):
        point = [single(x) for x in stored]
        if mesh["skin"] == 0:
            out.append(transform_point(world(scene, mesh["bones"][number], tick), point))
            continue
        pairs = [(bone, single(weight)) for bone, weight in mesh["weights"][number]]
        total = sum(weight for _, weight in pairs)
        if not pairs:
            out.append(point)
            continue
        placed = [0.0, 0.0, 0.0]
        for bone, weight in pairs:
            carried = product(world(scene, bone, tick), inverse(world(still, bone, 0)))
            placed = [a + weight / total * b for a, b in zip(placed, transform_point(carried, point), strict=True)]
        out.append(placed)
    return out


def turn(axis: Vector, degrees: float) -> Quaternion:
    half = math.radians(degrees) / 2
    return [x * math.sin(half) for x in normal(axis)] + [math.cos(half)]
