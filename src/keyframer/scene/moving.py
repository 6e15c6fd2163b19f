"""Move, turn and resize a node with all of its motion, and find rest values that were assigned in vain.

A change applies to the rest pose of the node and to its tracks in every clip: keys keep their times, their shape and
their number. Arrays and tracks are replaced, not written to, because other scenes may share them.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from keyframer.arrays import Flags, Floats
from keyframer.curves import Track
from keyframer.curves.lazy_fields import stored_values
from keyframer.curves.rotation_forms import absolute, finite_keys, turned_keys
from keyframer.maths import quat
from keyframer.scene.cameras_lights import is_aimed
from keyframer.scene.node import Node, check_transforms
from keyframer.text import counted

if TYPE_CHECKING:
    from keyframer.scene.clip import Clip
    from keyframer.scene.scene import Scene


def move(scene: Scene, number: int, by: ArrayLike) -> None:
    """Add a vector to the position of a node."""
    step = _numbers("by", by, 3)
    _refuse_skinned(scene, number)
    _change(scene, number, "position", lambda values: values + step)


def turn(scene: Scene, number: int, axis: ArrayLike, degrees: float) -> None:
    """Rotate a node about its position."""
    direction = _numbers("axis", axis, 3)
    if not direction.any():
        raise ValueError("axis must not be zero")
    rotation = quat.from_axis_angle(direction, math.radians(float(_numbers("degrees", [degrees], 1)[0])))
    _refuse_skinned(scene, number)
    _refuse_aimed(scene, number)
    _change(scene, number, "rotation", lambda values: quat.multiply(rotation, values), rotation)


def resize(scene: Scene, number: int, factor: float) -> None:
    """Multiply the scale of a node."""
    if not isinstance(factor, (int, float, np.number)) or not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"factor must be a positive number, not {factor!r}")
    _refuse_skinned(scene, number)
    _refuse_aimed(scene, number)
    _change(scene, number, "scale", lambda values: values * factor)


_FIELDS = {"position": "position", "rotation": "rotation_xyzw", "scale": "scale"}
"""the kinds of tracks that move a node, and the fields that they override"""
METHODS = {"position": "move", "rotation": "turn", "scale": "resize"}
"""the method of a scene that changes what tracks of each kind animate"""


def _change(
    scene: Scene, number: int, kind: str, change: Callable[[Floats], Floats], rotation: Floats | None = None
) -> None:
    """Change the rest value of a node and its tracks of one kind: rotation keys by ``rotation``, others by ``change``,
    which also applies to tangents of rotations and scales."""
    node, changed = scene.nodes[number], []
    setattr(node, _FIELDS[kind], change(np.asarray(getattr(node, _FIELDS[kind]), np.float64)))
    for clip in scene.clips:
        clip.bounds = None  # boxes of frames, which are wrong now
        for channel in clip.channels:
            if channel.node != number or channel.track.kind != kind:
                continue
            track = copy.copy(channel.track)
            changed.append((channel.track, track))
            channel.track = track
            with np.errstate(all="ignore"):  # keys of damaged files
                track.values = change(track.values) if rotation is None else turned_keys(track, rotation)
                if kind != "position" and track.tangents_in is not None and track.tangents_out is not None:
                    track.tangents_in, track.tangents_out = change(track.tangents_in), change(track.tangents_out)
    if scene.loaded_rest is not None:
        scene.loaded_rest.update(scene, node, kind, change, changed)


def _numbers(name: str, values: ArrayLike, count: int) -> Floats:
    try:
        numbers = np.asarray(values)
        numbers = numbers.astype(np.float64) if numbers.dtype.kind in "iuf" else np.empty(0)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != (count,) or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be {counted(count, 'finite number')}, not {values!r}")
    return numbers


def _refuse_skinned(scene: Scene, number: int) -> None:
    """Raise ValueError for a node whose vertices follow bones that would not move with it."""
    node = scene.nodes[number]
    joints = [] if node.skin is None else np.asarray(scene.skins[node.skin].joints).tolist()
    if not joints or any(number in _chain(scene, joint) for joint in joints):
        return
    root = scene.nodes[_chain(scene, joints[0])[-1]].name
    raise ValueError(f"the vertices of {node.name!r} follow the bones of its skin: change their root, {root!r}")


def _chain(scene: Scene, number: int) -> list[int]:
    """Return a node and its ancestors."""
    chain: dict[int, None] = {}
    link: int | None = number
    while link is not None and link not in chain and 0 <= link < len(scene.nodes):
        chain[link] = None
        link = scene.nodes[link].parent
    return list(chain)


def _refuse_aimed(scene: Scene, number: int) -> None:
    """Raise ValueError for a camera or light that is aimed at a target, which overrides its rotation and scale."""
    node = scene.nodes[number]
    if is_aimed(scene, node):
        at = "a stored point" if node.target is None else repr(scene.nodes[node.target].name)
        instead = "set the target of its camera or light" if node.target is None else "move that node"
        raise ValueError(f"{node.name!r} is aimed at {at}: {instead} instead")


@dataclass(eq=False, repr=False)
class LoadedRest:
    """The rest values that animated nodes of a file had when it was loaded, and the tracks that override them."""

    nodes: list[Node]
    values: Floats
    """(n, 10) position, rotation and scale"""
    tracks: list[Track]

    @classmethod
    def of(cls, scene: Scene) -> LoadedRest:
        channels = [c for clip in scene.clips for c in clip.channels if c.track.kind in _FIELDS]
        animated = sorted({channel.node for channel in channels})
        nodes = [scene.nodes[number] for number in animated if 0 <= number < len(scene.nodes)]
        return cls(nodes, _rest_values(nodes), [channel.track for channel in channels])

    def update(
        self,
        scene: Scene,
        node: Node,
        kind: str,
        change: Callable[[Floats], Floats],
        changed: list[tuple[Track, Track]],
    ) -> None:
        """Change the known value of a node as its present one was, and know the new tracks in ``changed``.

        A value that was assigned in vain before is still different from the known one.
        """
        for row, known in enumerate(self.nodes):
            if known is node:
                self.values[row, _COLUMNS[kind]] = change(self.values[row, _COLUMNS[kind]])
        loaded = {id(track) for track in self.tracks}
        used = {id(channel.track) for clip in scene.clips for channel in clip.channels}
        tracks = [*self.tracks, *(new for old, new in changed if id(old) in loaded)]
        self.tracks = [track for track in tracks if id(track) in used]

    def overridden(self, scene: Scene, clips: list[Clip]) -> list[tuple[Node, str]]:
        """Return the nodes with a rest value that was changed, and the kind of the loaded track in one of these clips
        that overrides it."""
        present = _rest_values(self.nodes)
        different = (present != self.values) & ~np.isnan(self.values)
        if not different.any():
            return []
        rotations = _COLUMNS["rotation"]
        different[:, rotations] &= ~_same_rotations(present[:, rotations], self.values[:, rotations])[:, None]
        loaded = {id(track) for track in self.tracks}
        tracks: dict[tuple[int, str], list[Track]] = {}
        for channel in (channel for clip in clips for channel in clip.channels if id(channel.track) in loaded):
            if 0 <= channel.node < len(scene.nodes):
                tracks.setdefault((id(scene.nodes[channel.node]), channel.track.kind), []).append(channel.track)
        return [
            (node, kind)
            for row, node in enumerate(self.nodes)
            for kind, columns in _COLUMNS.items()
            if different[row, columns].any()
            and not all(_begins_with(track, present[row, columns]) for track in tracks.get((id(node), kind), ()))
        ]


_COLUMNS = {"position": slice(0, 3), "rotation": slice(3, 7), "scale": slice(7, 10)}
_DEFAULTS = {"position": np.zeros(3), "rotation_xyzw": np.array(quat.IDENTITY_XYZW), "scale": np.ones(3)}


def _rest_values(nodes: list[Node]) -> Floats:
    """Return (n, 10) positions, rotations and scales; this does not create lazy fields."""
    if not nodes:
        return np.empty((0, 10))
    try:
        parts = [np.array(stored_values(nodes, name, value), np.float64) for name, value in _DEFAULTS.items()]
        return np.concatenate(parts, axis=1).reshape(len(nodes), 10)
    except (TypeError, ValueError):
        check_transforms(nodes)
        raise


def _begins_with(track: Track, value: Floats) -> bool:
    """Return whether a track without keys has no effect, or one with keys begins with a value: then its keys were
    changed, too."""
    usable = finite_keys(track)
    if not len(usable.times):
        return True
    if usable.is_rotation:
        return bool(_same_rotations(absolute(usable)[:1], value[None])[0])
    return bool(np.allclose(usable.values[0], value, rtol=1e-6, atol=1e-9))


def _same_rotations(a: Floats, b: Floats) -> Flags:
    """Return whether quaternions (n, 4) are the same rotations: of any length and either sign."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray(np.abs((a * b).sum(axis=1)) >= (1 - 1e-12) * lengths)


def warn_of_overridden(scene: Scene, stacklevel: int, clip: int | str | None = None) -> None:
    """Warn of rest values of a loaded scene that were changed without effect, because a track overrides them in a clip,
    by default in any."""
    if scene.loaded_rest is None:
        return
    number = None if clip is None else scene.clip_index(clip)
    clips = scene.clips if number is None else scene.clips[number : number + 1]
    found = scene.loaded_rest.overridden(scene, clips)
    if found:
        node, kind = found[0]
        others = f" (and {counted(len(found) - 1, 'more')})" if len(found) > 1 else ""
        message = f"the {kind} track of {node.name!r} overrides the {_FIELDS[kind]} that was assigned{others}"
        warnings.warn(f"{message}: use scene.{METHODS[kind]}, or change the keys", UserWarning, stacklevel + 1)
