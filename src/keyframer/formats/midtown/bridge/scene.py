"""Read a scene from a clip, a skeleton or a model: the bones of a figure, their motion, and its body; and convert the
numbers in frames and back."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import (
    DATA_NON_FINITE,
    IO_UNRECOGNISED,
    LINK_COUNT_MISMATCH,
    LINK_SKELETON_MISMATCH,
    SCENE_DEFAULT_RIG,
    SEM_MOTION_NOT_PLAYED,
    SEM_RPH_WIDTH,
)
from keyframer.curves import RotationForm, Track
from keyframer.errors import FormatError
from keyframer.files import PathLike
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import (
    Reporter,
    UniqueNames,
    companion_error,
    companion_prefix,
    read_companion,
)
from keyframer.formats.midtown import records as r
from keyframer.formats.midtown.bridge.body import Body
from keyframer.formats.midtown.document import decode
from keyframer.formats.midtown.skeleton import Skeleton, default_skeleton, read_skeleton
from keyframer.formats.midtown.sniff import BEGINNING, MODEL
from keyframer.issues import Severity
from keyframer.maths import quat
from keyframer.scene import Channel, Clip, Node, NodeKind, RawChannel, Scene, Space
from keyframer.text import counted, decode_name
from keyframer.wire.record import Record

_MOST_BONES = 4096
"""limit for a figure (the game's have 19): a channel with more is treated as raw numbers"""
_TURNS_PER_BLOCK = 8_192
"""number of rotations that are converted at once: they fit into the processor's cache"""
_SPACE = Space("y", metres_per_unit=1.0, unit_rule="the game uses metres")
"""metres, Y up, right-handed; figures face -Z"""


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading; the defaults follow the retail game."""

    skeleton: PathLike | Skeleton | None = None
    """the ``.skel`` with the bones' names, offsets and tree"""
    model: PathLike | Document | None = None
    """the ``.mod`` with the body"""
    in_place: bool = False
    """remove the forward motion, as the game does: a walk then stays in place"""
    euler_order: str = "YZX"
    """order of the rotations about X (roll), Y (pitch) and Z (heading): ``YZX`` is the product Y · Z · X for column
    vectors, which rotates about X first; two decompilations of the game agree on YZX, one other loader assumed XYZ"""
    fps: float = 30.0
    """frames per second, which the format does not store"""
    found: str = ""
    """name of a skeleton that was found in the folder of the clip; empty if the user gave it. A found skeleton that
    does not match is ignored"""

    skeleton_error: str = ""
    """why a skeleton in the folder of the clip cannot be read; empty without such a problem"""
    model_found: str = ""
    """name of a model that was found in the folder; empty if the user gave it"""

    def __post_init__(self) -> None:
        if sorted(self.euler_order) != ["X", "Y", "Z"]:
            raise ValueError(f"euler_order must be an order of X, Y and Z such as YZX, not {self.euler_order!r}")
        if not 0 < self.fps < math.inf:
            raise ValueError(f"fps must be positive and finite, not {self.fps}")


def to_scene(document: Document, options: Options) -> Scene:
    """Return the scene of a clip, or that of a skeleton or a model at rest.

    At most one channel of a clip moves a figure (see `posed_channel`); all others are raw channels.
    """
    scene = Scene(source_format="midtown", space=_SPACE)
    reporter = Reporter(document, scene.issues)
    text = own_text(document)
    if text is not None:
        _add_still_figure(scene, reporter, text, options)
        return scene
    clip = Clip(rate=options.fps)
    scene.clips.append(clip)
    channels = [record for record in document.find(Record) if isinstance(record, (r.Channel, r.OldChannel))]
    posed = posed_channel(channels)
    for number, channel in enumerate(channels):
        clip.end = max(clip.end, float(len(channel.rows) - 1))
        if channel is posed:
            _add_figure(scene, reporter, channel, options)
            continue
        if not channel.bones:
            reporter.report(SEM_RPH_WIDTH, channel, floats=channel.rows.shape[1], type=channel.type)
        elif len(channel.rows):
            reason = "the first such channel moves the figure"
            if channel.bones > _MOST_BONES:
                reason = f"a figure has at most {_MOST_BONES} bones"
            reporter.report(SEM_MOTION_NOT_PLAYED, channel, bones=channel.bones, reason=reason)
        raw = RawChannel(f"channel {number}", np.asarray(channel.rows, np.float64))
        reporter.mark(raw, "midtown", channel, {"type": channel.type, "distance": float(channel.distance)})
        clip.raw_channels.append(raw)
    return scene


def own_text(document: Document) -> r.SkeletonText | r.ModelText | None:
    """Return the record of a skeleton or a model; None for a clip."""
    return document.first(r.SkeletonText) or document.first(r.ModelText)


def _add_still_figure(scene: Scene, reporter: Reporter, text: r.SkeletonText | r.ModelText, options: Options) -> None:
    """Add the bones of a skeleton with the body of its model, or the other way round."""
    if isinstance(text, r.ModelText):
        if options.model is not None:
            raise ValueError("this file is the model itself: its companion is the skeleton")
        body = Body(text, reporter)
        bones = min(body.model.bone_count, _MOST_BONES)
        skeleton = _skeleton(scene, reporter, text, bones, options) if bones else None
        _add_bones(scene, skeleton)
        body.add_to(scene, skeleton)
        return
    if options.skeleton is not None:
        raise ValueError("this file is the skeleton itself: its companion is the model")
    skeleton = read_skeleton(text.text)
    _check_count(scene, skeleton, f"{reporter.path(text)}/numbones")
    _add_bones(scene, skeleton)
    _add_body(scene, reporter, text, skeleton, options)


def _add_bones(scene: Scene, skeleton: Skeleton | None) -> None:
    names = UniqueNames()
    for bone in () if skeleton is None else skeleton.bones:
        node = Node(names.claim(decode_name(bone.name)), NodeKind.BONE, None if bone.parent < 0 else bone.parent)
        node.position, node.raw_name = np.array(bone.offset), bone.name
        if bone.words:
            node.extras["midtown"] = {"words": [decode_name(word) for word in bone.words]}
        scene.nodes.append(node)


def _add_body(scene: Scene, reporter: Reporter, record: Record, skeleton: Skeleton, options: Options) -> None:
    """Add the body in the options, if it has the bones of the skeleton."""
    given = options.model
    if given is None:
        return
    document, reason = model_document(given), ""
    text, unsafe = document.first(r.ModelText), document.issues.first_unsafe()
    if text is None:
        reason = "the file given as the model is another kind of file"
        if unsafe is not None:
            reason = f"the model cannot be read: {unsafe.code} at {unsafe.offset:#x}: {unsafe.message}"
    else:
        body = Body(text, Reporter(document, scene.issues, companion_prefix(options.model_found or given)))
        if body.model.bone_count == len(skeleton.bones):
            body.add_to(scene, skeleton)
            return
        reason = f"the model is for {counted(body.model.bone_count, 'bone')}, the figure has {len(skeleton.bones)}"
    severity = Severity.WARNING if options.model_found else None
    reporter.report(LINK_SKELETON_MISMATCH, record, severity=severity, reason=reason)


def model_document(given: PathLike | Document) -> Document:
    """Return the document of a model in the options."""
    if isinstance(given, Document):
        return given
    role = "the model"
    data = read_companion(given, role)
    try:
        if not MODEL.match(data):
            raise IO_UNRECOGNISED.failure(0, "/", reason=f"a model begins with {BEGINNING}")
        return decode(data)
    except FormatError as error:
        raise companion_error(error, role) from None


def posed_channel(channels: Iterable[r.Channel | r.OldChannel]) -> r.Channel | r.OldChannel | None:
    """Return the channel that moves the figure: the first with frames of 1 to `_MOST_BONES` bones; None without one."""
    usable = (channel for channel in channels if channel.bones and channel.bones <= _MOST_BONES and len(channel.rows))
    return next(usable, None)


def _add_figure(scene: Scene, reporter: Reporter, channel: r.Channel | r.OldChannel, options: Options) -> None:
    rows = np.asarray(channel.rows, np.float64)
    count = rows.shape[1] // 3 - 1
    non_finite = ~np.isfinite(rows)
    if non_finite.any():
        first = int(non_finite.any(axis=1).argmax())
        reporter.report(DATA_NON_FINITE, channel, f"rows[{first}]", count=np.count_nonzero(non_finite), index=first)
    distance = float(channel.distance)
    if not np.isfinite(distance):
        reporter.report(DATA_NON_FINITE, channel, "distance", count=1, index=0)
    skeleton = _skeleton(scene, reporter, channel, count, options)
    _add_bones(scene, skeleton)
    _add_body(scene, reporter, channel, skeleton, options)
    clip = scene.clips[0]
    clip.extras["midtown"] = {"distance": distance, "in_place": options.in_place}
    clip.channels.append(Channel(0, Track.sampled("position", root_path(rows[:, :3], distance, options.in_place))))
    turns = quaternions_of(rows[:, 3:].reshape(-1, 3), options.euler_order).reshape(len(rows), count, 4)
    for bone_number in range(count):
        track = Track.sampled("rotation", turns[:, bone_number], form=RotationForm.QUATERNION_ABSOLUTE)
        clip.channels.append(Channel(bone_number, track))
    for bone_channel in clip.channels:
        reporter.mark(bone_channel.track, "midtown", channel)


def quaternions_of(rph: Floats, order: str) -> Floats:
    """Return (N, 4) quaternions of roll (about X), pitch (about Y) and heading (about Z), multiplied in ``order``."""
    axes = ["XYZ".index(axis) for axis in order]
    quaternions = np.empty((len(rph), 4))
    with np.errstate(all="ignore"):
        for begin in range(0, len(rph), _TURNS_PER_BLOCK):
            block = slice(begin, begin + _TURNS_PER_BLOCK)
            first, middle, last = (quat.from_axis_angle(np.eye(3)[axis], rph[block, axis]) for axis in axes)
            quaternions[block] = quat.multiply(quat.multiply(first, middle), last)
    return quaternions


def root_path(stored: Floats, distance: float, in_place: bool) -> Floats:
    """Return the positions of the root from those in the file.

    With ``in_place``, ``i * distance / frames`` is added to z of frame i, as in the game: a walk then stays in place. A
    non-finite distance is ignored.
    """
    if not in_place or not np.isfinite(distance):
        return stored
    path = stored.copy()
    path[:, 2] += np.arange(len(path)) * distance / len(path)
    return path


def stored_path(path: Floats, distance: float, in_place: bool) -> Floats:
    """Return the positions of the root as the file stores them: the inverse of `root_path`."""
    return root_path(path, -distance, in_place)


def skeleton_of(options: Options) -> Skeleton | None:
    """Return the skeleton in the options, read if they name a file; None without one."""
    given = options.skeleton
    return _read(given) if isinstance(given, (str, os.PathLike)) else given


def _check_count(scene: Scene, skeleton: Skeleton, path: str) -> None:
    count = len(skeleton.bones)
    if skeleton.declared_count is not None and skeleton.declared_count != count:
        scene.issues.add(LINK_COUNT_MISMATCH, path, 0, claimed=skeleton.declared_count, what="bones", found=count)


def _skeleton(scene: Scene, reporter: Reporter, record: Record, bones: int, options: Options) -> Skeleton:
    """Return the skeleton in the options if it has this number of bones, or else a default rig."""
    skeleton = skeleton_of(options)
    if skeleton is not None:
        _check_count(scene, skeleton, f"{companion_prefix(options.found or options.skeleton)}/numbones")
        if len(skeleton.bones) == bones:
            return skeleton
        moves = "the model is for" if isinstance(record, r.ModelText) else "the clip animates"
        reason = f"{moves} {counted(bones, 'bone')}, the skeleton has {len(skeleton.bones)}"
        if len(skeleton.bones) > bones:
            reason += f"; nothing animates bone {bones} ({decode_name(skeleton.bones[bones].name)!r})"
        severity = Severity.WARNING if options.found else None
        reporter.report(LINK_SKELETON_MISMATCH, record, severity=severity, reason=reason)
    elif options.skeleton_error:
        reason = f"the skeleton beside the file cannot be read: {options.skeleton_error}"
        reporter.report(LINK_SKELETON_MISMATCH, record, severity=Severity.WARNING, reason=reason)
    reporter.report(SCENE_DEFAULT_RIG, record, bones=bones)
    return default_skeleton(bones)


def _read(path: PathLike) -> Skeleton:
    role = "the skeleton"
    data = read_companion(path, role)
    try:
        return read_skeleton(data)
    except FormatError as error:
        raise companion_error(error, role) from None
