"""Read a scene from a node animation (nodes without a tree, and their keys), and check its records.

The specification leaves units open, and no program or sample is known. The fields are those of the key structures of
3ds Max, so its conventions are used if the numbers allow them: see `time_base`, `radians_per_unit` and
`interpret_rotations`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import DATA_ZERO_AXIS, SCENE_BEZIER_SMOOTH, SCENE_ROTATION_GUESSED, SEM_EMPTY_TRACK
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.lazy_fields import unchecked_constructor
from keyframer.curves.rotation_forms import FULL_TURN
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import (
    check_angles,
    check_huge_times,
    check_key_flags,
    check_name,
    check_negative_times,
    check_tcb,
    check_unique,
)
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames, check_keys
from keyframer.formats.nodeanim.records import BEZIER, TCB, TCB_COLUMNS, Animations, Header, Node, NodeKeys, RawChunk
from keyframer.maths import quat
from keyframer.maths.trigonometry import arctan2
from keyframer.scene import Channel, Clip, Handedness, NodeKind, Scene, Space
from keyframer.scene import Node as SceneNode
from keyframer.text import decode_name

TICKS_PER_SECOND = 4800.0
_TICK_GRIDS = (160, 200, 192)
"""ticks per frame at 30, 24 and 25 frames per second"""
MOST_RADIANS = 8 * math.pi
"""if an angle is larger, all angles in the file are degrees"""
_EQUAL = 1e-6
"""radians: rotations closer than this are equal"""
_ALIKE = 0.01
"""fraction of the largest rotation: keys that differ by less are a pause or a steady spin"""
_CLEAR = 1.5
"""ratio of the rotations in two interpretations above which there is no doubt"""
_MOST_CHUNKS = 10_000
"""limit for unknown chunks in the extras of a scene; the document has all of them"""
KEY_FIELDS = {"position": "translation_keys", "rotation": "rotation_keys", "scale": "scale_keys"}
"""the keys of a record, by kind of track"""
STORED_COLUMNS = dict(zip(("tension", "continuity", "bias", "ease_to", "ease_from"), TCB_COLUMNS, strict=True))
"""names of stored columns, by their names in tracks; easeIn of 3ds Max is the approach to a key: ``ease_to``"""
FORMS = {"relative": RotationForm.AXIS_ANGLE_RELATIVE, "absolute": RotationForm.AXIS_ANGLE_ABSOLUTE}
_CHOICES = {
    "time_unit": ("auto", "seconds", "frames", "ticks"),
    "rotation_keys": ("auto", *FORMS),
    "angle_unit": ("auto", "radians", "degrees"),
    "up": ("x", "y", "z"),
    "handedness": ("right", "left"),
}


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading: values that the specification leaves open. ``auto`` detects them from the numbers."""

    time_unit: str = "auto"
    """unit of key times: ``seconds``, ``frames`` or ``ticks`` (4800 per second, as in 3ds Max)"""
    rotation_keys: str = "auto"
    """``relative`` to the previous key, or ``absolute``"""
    angle_unit: str = "auto"
    """``radians`` or ``degrees``"""
    up: str = "z"
    handedness: str = "right"
    fps: float | None = None
    """frames per second; None: 30, or the rate that matches times in ticks"""
    encoding: str | None = None

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        if self.fps is not None and not 0 < self.fps < math.inf:
            raise ValueError(f"fps must be positive and finite, not {self.fps}")


_AUTO = Options()


def key_times(nodes: list[Node]) -> Floats:
    """Return the times of all keys, as stored."""
    return np.concatenate(
        [np.empty(0), *(getattr(node, field).time for node in nodes for field in KEY_FIELDS.values())]
    )


def time_base(times: Floats, options: Options = _AUTO) -> Clip:
    """Return an empty clip in the unit of these key times: from the options, or from the numbers.

    The unit is ticks if all times are on a grid of ticks and the largest is above 0; frames if all are whole numbers
    and the largest is above 60; else seconds.
    """
    times = times[np.isfinite(times)]
    grid = next((grid for grid in _TICK_GRIDS if len(times) and not np.mod(times, grid).any()), None)
    unit = options.time_unit
    if unit == "auto":
        largest = times.max(initial=0.0)
        if largest > 0 and grid is not None:
            unit = "ticks"
        else:
            unit = "frames" if largest > 60 and not np.mod(times, 1).any() else "seconds"
    fps = options.fps or (TICKS_PER_SECOND / grid if unit == "ticks" and grid else 30.0)
    rate = {"ticks": TICKS_PER_SECOND, "frames": fps, "seconds": 1.0}[unit]
    return Clip(unit=unit.removesuffix("s"), rate=rate, units_per_frame=rate / fps)


def radians_per_unit(nodes: list[Node], options: Options) -> float:
    """Return the factor from stored angles to radians; with ``auto``, degrees if one is above `MOST_RADIANS`."""
    degrees = options.angle_unit == "degrees"
    if options.angle_unit == "auto":
        angles = np.abs(np.concatenate([np.empty(0), *(node.rotation_keys.value[:, 0] for node in nodes)]))
        degrees = bool((angles[np.isfinite(angles)] > MOST_RADIANS).any())
    return math.pi / 180 if degrees else 1.0


class RotationInterpretation(NamedTuple):
    """How the rotation keys of a node are interpreted."""

    relative: bool
    """whether each key is relative to the previous one"""
    sure: bool
    """whether the numbers or the options decide; otherwise it is a guess between two different motions"""


def interpret_rotations(axes: Floats, angles: Floats, tcb: bool, options: Options = _AUTO) -> RotationInterpretation:
    """Return whether rotation keys are increments, and whether this is certain.

    The options take precedence. A first key of a full turn or more means increments: an orientation never needs so
    large an angle. Otherwise the interpretation with clearly smaller steps between keys is used; if neither is, keys
    are increments, as 3ds Max hands them out. Equal keys decide nothing: they are a pause (absolute) or a steady spin
    (relative). If all keys after the first are equal, TCB keys are increments, all others absolute.
    """
    if options.rotation_keys != "auto":
        return RotationInterpretation(options.rotation_keys == "relative", True)
    usable = np.isfinite(axes).all(axis=1) & np.isfinite(angles)
    half_angles = quat.half_angle_vector(axes[usable], angles[usable])
    lengths = 2 * np.sqrt((half_angles * half_angles).sum(axis=1))
    if len(lengths) and lengths[0] >= FULL_TURN:
        return RotationInterpretation(True, True)
    if len(lengths) < 2:
        return RotationInterpretation(tcb, True)
    turns = quat.exp(half_angles)
    if _angles(turns[:-1]).max() < _EQUAL and lengths[-1] < math.pi:
        return RotationInterpretation(tcb, True)  # both interpretations are the same motion
    as_relative, as_absolute = lengths[1:], _angles_between(turns[1:], turns[:-1])
    if _angles_between(turns[1:], turns[1]).max() <= _ALIKE * as_relative.max():
        return RotationInterpretation(tcb, False)
    changes = as_absolute > _EQUAL  # equal keys decide nothing
    relative_turns, absolute_turns = as_relative[changes].sum(), as_absolute[changes].sum()
    if relative_turns >= _CLEAR * absolute_turns:
        return RotationInterpretation(False, True)
    return RotationInterpretation(True, bool(absolute_turns >= _CLEAR * relative_turns))


def _angles_between(a_xyzw: Floats, b_xyzw: Floats) -> Floats:
    """Return the angles between rotations, 0 to pi."""
    return _angles(quat.multiply(a_xyzw, quat.conjugate(b_xyzw)))


def _angles(turns_xyzw: Floats) -> Floats:
    """Return the angles of rotations, 0 to pi."""
    sines = np.sqrt((turns_xyzw[:, :3] * turns_xyzw[:, :3]).sum(axis=1))
    return np.asarray(2 * arctan2(sines, np.abs(turns_xyzw[:, 3])))


def interpolation_of(record: Node) -> Interpolation:
    """Return the interpolation: TCB overrides Bezier, which overrides linear."""
    if record.flags & TCB:
        return Interpolation.TCB
    return Interpolation.BEZIER if record.flags & BEZIER else Interpolation.LINEAR


def copyright_in(author: str) -> str:
    """Return the text about the author if it contains a copyright notice, else an empty text."""
    return author if any(mark in author.lower() for mark in ("(c)", "©", "copyright")) else ""


def to_scene(document: Document, options: Options) -> Scene:
    """Return the scene of a document, with units from the options or from the numbers."""
    scene = Scene(source_format="nodeanim", space=Space(options.up, Handedness(options.handedness)))
    reporter, names = Reporter(document, scene.issues), UniqueNames()
    nodes = list(document.find(Node))
    times = key_times(nodes)
    clip, radians = time_base(times, options), radians_per_unit(nodes, options)
    clip.end = float(times[np.isfinite(times)].max()) if np.isfinite(times).any() else 0.0
    header = document.first(Header)
    if header is not None:
        clip.name = scene.title = decode_name(header.name, options.encoding)
        scene.author = decode_name(header.author, options.encoding)
        scene.copyright = copyright_in(scene.author)
        clip.extras["nodeanim"] = {"flags": header.flags, "node_count": header.node_count}
    key_flags = TCB if getattr(document.dialect, "tcb_by_key", False) else 0
    for index, record in enumerate(nodes):
        for field in KEY_FIELDS.values():  # nothing says what these flags mean
            keys: NodeKeys = getattr(record, field)
            if len(keys):
                check_key_flags(reporter, record, field, np.asarray(keys.flags), key_flags)
        name = names.claim(decode_name(record.name, options.encoding))
        node = SceneNode(name, NodeKind.BONE, raw_name=record.name)
        reporter.mark(node, "nodeanim", record, {"flags": record.flags})
        scene.nodes.append(node)
        clip.channels += [Channel(index, track) for track in _tracks(reporter, record, options, radians)]
    scene.clips.append(clip)
    extras = _unread_parts(document)
    if extras:
        scene.extras["nodeanim"] = extras
    return scene


_new_track = unchecked_constructor(Track)


def _tracks(reporter: Reporter, record: Node, options: Options, radians: float) -> list[Track]:
    """Return the tracks of a node; ``radians`` is the factor from stored angles to radians."""
    interpolation = interpolation_of(record)
    tracks: list[Track] = []
    for kind, field in KEY_FIELDS.items():
        keys: NodeKeys = getattr(record, field)
        if not len(keys):
            continue
        columns = {name: keys.column(stored) for name, stored in STORED_COLUMNS.items() if keys.has(stored)}
        check_keys(reporter, record, field, keys.time, keys.value, *columns.values())
        values, form = np.asarray(keys.value, np.float64), RotationForm.NONE
        if kind == "rotation":
            angles, axes = values[:, 0] * radians, values[:, 1:4]
            values = np.column_stack([axes, angles])
            form = _rotation_form(reporter, record, axes, angles, options)
        track: Track = _new_track(kind, np.asarray(keys.time, np.float64), values, interpolation, form=form)
        track.flags = np.asarray(keys.flags, np.int64)
        for name, column in columns.items():
            setattr(track, name, np.asarray(column, np.float64))
        if interpolation is Interpolation.BEZIER and len(keys) > 1:
            reporter.report(SCENE_BEZIER_SMOOTH, record, field)
        reporter.mark(track, "nodeanim", record)
        tracks.append(track)
    return tracks


def _rotation_form(reporter: Reporter, record: Node, axes: Floats, angles: Floats, options: Options) -> RotationForm:
    """Return whether rotation keys are relative or absolute; report zero axes and guesses."""
    without_axis = np.flatnonzero((axes == 0).all(axis=1) & (angles != 0))
    if len(without_axis):
        reporter.report(DATA_ZERO_AXIS, record, f"rotation_keys[{without_axis[0]}]", count=len(without_axis))
    relative, sure = interpret_rotations(axes, angles, bool(record.flags & TCB), options)
    choice, other = ("relative", "absolute") if relative else ("absolute", "relative")
    if not sure:
        alternative = f"rotation_keys={other}"
        reporter.report(
            SCENE_ROTATION_GUESSED, record, "rotation_keys", count=len(angles), choice=choice, other=alternative
        )
    return FORMS[choice]


def _unread_parts(document: Document) -> dict[str, object]:
    """Return unknown chunks and bytes, and the dialect, as extras of the scene."""
    animations, chunks = document.first(Animations), islice(document.find(RawChunk), _MOST_CHUNKS)
    extras: dict[str, object] = {
        "chunks": [{"id": chunk.id, "data": chunk.data.hex()} for chunk in chunks],
        "unread_nodes": "" if animations is None else animations.tail.hex(),
        "trailing": document.trailing.hex(),
        "dialect": "" if document.dialect is None else str(document.dialect),
    }
    return {name: value for name, value in extras.items() if value}


def apply_rules(document: Document, scene: Scene | None, reporter: Reporter) -> None:
    """Check the records of a document beyond what decoding and reading the scene check, and report issues."""
    for header in document.find(Header):
        for field, text in (("name", header.name), ("author", header.author)):
            if text:
                check_name(reporter, header, field, text)
    check_unique(reporter, "nodes", "name", ((node, node.name) for node in document.find(Node)))
    for node in document.find(Node):
        check_name(reporter, node, "name", node.name)
        tables = {field: keys for field in KEY_FIELDS.values() if len(keys := getattr(node, field))}
        if not tables:
            reporter.report(SEM_EMPTY_TRACK, node, what="a node without keys")
        for field, keys in tables.items():
            check_negative_times(reporter, node, field, keys.time)
            check_huge_times(reporter, node, field, keys.time)
            if keys.has("tension"):
                columns = np.column_stack([keys.column(name) for name in TCB_COLUMNS])
                check_tcb(reporter, node, field, columns[:, :3], columns[:, 3:])
        if len(node.rotation_keys):
            check_angles(reporter, node, "rotation_keys", node.rotation_keys.value[:, 0])
