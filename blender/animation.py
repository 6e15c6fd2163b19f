# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions: one for each clip, with a slot for each animated data-block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
import numpy as np

from keyframer.exchange.fcurves import ClipCurves, FCurves

_INTERPOLATION = {"STEP": 0, "LINEAR": 1, "CUBICSPLINE": 2}
"""numbers of CONSTANT, LINEAR and BEZIER in Blender's enumeration"""
_FREE = 0
"""number of the handle type FREE"""
CLIP_MARK = "keyframer_clip"
"""custom property of the actions of imported clips: the name of the collection of the file"""

WXYZ = np.array([[0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], np.float64)
"""from quaternions x, y, z, w to Blender's w, x, y, z"""


@dataclass(eq=False)
class Target:
    """An animated property of a data-block; its value is ``matrix @ value of the curves + offset``."""

    owner: Any
    path: str
    matrix: np.ndarray
    offset: np.ndarray = field(default_factory=lambda: np.zeros(1))

    def columns(self, curves: FCurves) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield values, incoming and outgoing tangents of each component."""
        values = curves.values @ self.matrix.T + self.offset
        incoming, outgoing = (tangents @ self.matrix.T for tangents in (curves.tangents_in, curves.tangents_out))
        for component in range(values.shape[1]):
            yield values[:, component], incoming[:, component], outgoing[:, component]


Targets = Mapping[tuple[int, str], Sequence[Target]]
"""by node and name of the curves"""


def make_action(clip: ClipCurves, name: str, source: str, targets: Targets) -> tuple[Any, dict[Any, Any]]:
    """Make the action of a clip; returns it and its slot for each data-block."""
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    action[CLIP_MARK] = source
    action.use_frame_range = True
    action.frame_start, action.frame_end = clip.first, max(clip.last, clip.first)
    strip = action.layers.new("Layer").strips.new(type="KEYFRAME")
    slots: dict[Any, Any] = {}
    for curves in clip.curves:
        for target in targets.get((curves.node, curves.name), ()):
            if target.owner not in slots:
                slots[target.owner] = action.slots.new(id_type=target.owner.id_type, name=target.owner.name)
            channels = strip.channelbag(slots[target.owner], ensure=True).fcurves
            for index, column in enumerate(target.columns(curves)):
                single = target.path.endswith(".value") or target.path in _SINGLE_NUMBERS
                _fill(channels.new(target.path, index=0 if single else index), curves, *column)
    return action, slots


_SINGLE_NUMBERS = {"hide_viewport", "hide_render", "lens", "energy", "spot_size", "spot_blend"}


def _fill(fcurve: Any, curves: FCurves, values: np.ndarray, incoming: np.ndarray, outgoing: np.ndarray) -> None:
    """Write the keys of one component. Handles at a third of a segment make Bezier and Hermite curves equal."""
    frames = curves.frames
    count = len(frames)
    gaps = np.diff(frames) / 3.0
    before, after = np.concatenate([gaps[:1], gaps]), np.concatenate([gaps, gaps[-1:]])
    if count == 1:
        before = after = np.ones(1)
    left, right = np.column_stack([frames - before, values]), np.column_stack([frames + after, values])
    if len(incoming):
        left[:, 1] -= incoming * before
        right[:, 1] += outgoing * after
    points = fcurve.keyframe_points
    points.add(count)
    points.foreach_set("co", np.column_stack([frames, values]).astype(np.float32).reshape(-1))
    points.foreach_set("interpolation", np.full(count, _INTERPOLATION[curves.mode], np.int32))
    for side, rows in (("left", left), ("right", right)):
        points.foreach_set(f"handle_{side}_type", np.full(count, _FREE, np.int32))
        points.foreach_set(f"handle_{side}", rows.astype(np.float32).reshape(-1))
    fcurve.update()


def play(slots: Mapping[Any, Any], action: Any) -> None:
    """Assign an action and its slots to data-blocks."""
    for owner, slot in slots.items():
        data = owner.animation_data_create()
        data.action = action
        data.action_slot = slot


def clip_actions() -> list[Any]:
    """Return the actions that are clips of imported files."""
    return [action for action in bpy.data.actions if CLIP_MARK in action]


def switch_to(action: Any) -> int:
    """Play a clip on all data-blocks that have the name of one of its slots; returns their number."""
    slots = {slot.identifier: slot for slot in action.slots}
    groups = {"OB": bpy.data.objects, "CA": bpy.data.cameras, "LA": bpy.data.lights, "KE": bpy.data.shape_keys}
    owners = {f"{code}{owner.name}": owner for code, group in groups.items() for owner in group}
    slot_of = {owners[identifier]: slot for identifier, slot in slots.items() if identifier in owners}
    play(slot_of, action)
    return len(slot_of)


def key_frames(block: Any) -> dict[str, frozenset[float]]:
    """Return the frames of the keys that a data-block plays, by the path of the property."""
    data = block.animation_data
    if data is None or data.action is None or data.action_slot is None:
        return {}
    frames: dict[str, set[float]] = {}
    for layer in data.action.layers:
        for strip in layer.strips:
            channels = strip.channelbag(data.action_slot)
            for curve in channels.fcurves if channels is not None else ():
                places = (round(point.co[0], 3) for point in curve.keyframe_points)
                frames.setdefault(curve.data_path, set()).update(places)
    return {path: frozenset(each) for path, each in frames.items()}
