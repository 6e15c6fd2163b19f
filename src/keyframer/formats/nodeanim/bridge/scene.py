"""Read a scene from a node animation: nodes without a tree, and their keys."""

from __future__ import annotations

from itertools import islice

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import DATA_ZERO_AXIS, SCENE_BEZIER_SMOOTH, SCENE_ROTATION_GUESSED
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.lazy_fields import add_extras, unchecked_constructor
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames, check_keys
from keyframer.formats.nodeanim.bridge import unit_detection
from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.dialect import BEZIER, TCB
from keyframer.formats.nodeanim.keys import NodeKeys
from keyframer.formats.nodeanim.records import Animations, Header, Node, Prefix, RawChunk
from keyframer.formats.scene_reader import KeyLocation, SceneReader
from keyframer.scene import Channel, Handedness, NodeKind, Scene, Space
from keyframer.scene import Node as SceneNode
from keyframer.text import decode_name
from keyframer.wire.record import Record

_MOST_CHUNKS = 10_000
"""limit for unknown chunks in the extras of a scene; the document has all of them"""
KEY_FIELDS = {"position": "translation_keys", "rotation": "rotation_keys", "scale": "scale_keys"}
"""the keys of a record, by kind of track"""
STORED_COLUMNS = {
    "tension": "tension",
    "continuity": "continuity",
    "bias": "bias",
    "ease_to": "ease_in",
    "ease_from": "ease_out",
}
"""names of stored columns, by their names in tracks; easeIn of 3ds Max is the approach to a key: ``ease_to``"""


def to_scene(document: Document, options: Options) -> Scene:
    """Return the scene of a document, with units from the options or from the numbers (see `unit_detection`)."""
    scene = Scene(source_format="nodeanim", space=Space(options.up, Handedness(options.handedness)))
    reporter = Reporter(document, scene.issues)
    nodes = list(document.find(Node))
    base = unit_detection.time_base(nodes, options)
    clip = base.clip()
    header = document.first(Header)
    if header is not None:
        clip.name = scene.title = decode_name(header.name, options.encoding)
        scene.author = decode_name(header.author, options.encoding)
        scene.copyright = copyright_in(scene.author)
        clip.extras["nodeanim"] = {"flags": header.flags, "node_count": header.node_count}
    names = UniqueNames()
    radians_per_unit = unit_detection.radians_per_unit(nodes, options)
    for index, record in enumerate(nodes):
        node = SceneNode(names.claim(decode_name(record.name, options.encoding)), NodeKind.BONE, raw_name=record.name)
        reporter.mark(node, "nodeanim", record, {"flags": record.flags})
        scene.nodes.append(node)
        clip.channels += [Channel(index, track) for track in _tracks(reporter, record, options, radians_per_unit)]
    finite_times = [channel.track.times[np.isfinite(channel.track.times)] for channel in clip.channels]
    clip.end = max((float(times.max()) for times in finite_times if len(times)), default=0.0)
    scene.clips.append(clip)
    _keep_unknown_chunks(document, scene)
    return scene


def copyright_in(author: str) -> str:
    """Return the text about the author if it contains a copyright notice, else an empty text."""
    return author if any(mark in author.lower() for mark in ("(c)", "©", "copyright")) else ""


def _tracks(reporter: Reporter, record: Node, options: Options, radians_per_unit: float) -> list[Track]:
    interpolation = interpolation_of(record)
    tracks: list[Track] = []
    for kind, field in KEY_FIELDS.items():
        keys: NodeKeys = getattr(record, field)
        if not len(keys):
            continue
        columns = [keys.column(column) for column in STORED_COLUMNS.values() if keys.has(column)]
        check_keys(reporter, record, field, keys.time, keys.value, *columns)
        if kind == "rotation":
            tracks.append(_rotation(reporter, record, keys, interpolation, options, radians_per_unit))
        else:
            tracks.append(_track(kind, keys, np.asarray(keys.value, np.float64), interpolation))
        if keys.has("axis"):
            axes = np.asarray(keys.column("axis"), np.float64)
            form = RotationForm.QUATERNION_ABSOLUTE
            tracks.append(Track("scale_axes", tracks[-1].times, axes, Interpolation.LINEAR, form=form))
        if interpolation is Interpolation.BEZIER and len(keys) > 1:
            reporter.report(SCENE_BEZIER_SMOOTH, record, field)
    for track in tracks:
        reporter.mark(track, "nodeanim", record)
    return tracks


def interpolation_of(record: Node) -> Interpolation:
    """Return the interpolation: TCB overrides Bezier, which overrides linear."""
    if record.flags & TCB:
        return Interpolation.TCB
    return Interpolation.BEZIER if record.flags & BEZIER else Interpolation.LINEAR


def _rotation(
    reporter: Reporter,
    record: Node,
    keys: NodeKeys,
    interpolation: Interpolation,
    options: Options,
    radians_per_unit: float,
) -> Track:
    value = np.asarray(keys.value, np.float64)
    angles, axes = value[:, 0] * radians_per_unit, value[:, 1:4]
    without_axis = np.flatnonzero((axes == 0).all(axis=1) & (angles != 0))
    if len(without_axis):
        reporter.report(DATA_ZERO_AXIS, record, f"rotation_keys[{without_axis[0]}]", count=len(without_axis))
    relative, sure = unit_detection.interpret_rotations(axes, angles, interpolation is Interpolation.TCB, options)
    if not sure:
        choice, alternative = ("relative", "absolute") if relative else ("absolute", "relative")
        reporter.report(
            SCENE_ROTATION_GUESSED,
            record,
            "rotation_keys",
            count=len(keys),
            choice=choice,
            other=f"rotation_keys={alternative}",
        )
    form = RotationForm.AXIS_ANGLE_RELATIVE if relative else RotationForm.AXIS_ANGLE_ABSOLUTE
    return _track("rotation", keys, np.column_stack([axes, angles]), interpolation, form)


_new_track = unchecked_constructor(Track)


def _track(
    kind: str, keys: NodeKeys, values: Floats, interpolation: Interpolation, form: RotationForm = RotationForm.NONE
) -> Track:
    track: Track = _new_track(kind, np.asarray(keys.time, np.float64), values, interpolation, form=form)
    track.flags = np.asarray(keys.flags, np.int64)
    for name, column in STORED_COLUMNS.items():
        if keys.has(column):
            setattr(track, name, np.asarray(keys.column(column), np.float64))
    if keys.has("tangents"):
        add_extras(track, "nodeanim", {"tangents": np.asarray(keys.column("tangents"), np.float64)})
    return track


def _keep_unknown_chunks(document: Document, scene: Scene) -> None:
    """Keep unknown chunks and bytes, and the dialect, in the extras of the scene."""
    extras: dict[str, object] = {}
    chunks = [{"id": chunk.id, "data": chunk.data.hex()} for chunk in islice(document.find(RawChunk), _MOST_CHUNKS)]
    if chunks:
        extras["chunks"] = chunks
    animations = document.first(Animations)
    if animations is not None and animations.tail:
        extras["unread_nodes"] = animations.tail.hex()
    prefix = document.first(Prefix)
    if prefix is not None:
        extras["prefix"] = prefix.data.hex()
    if document.trailing:
        extras["trailing"] = document.trailing.hex()
    if document.dialect is not None:
        extras["dialect"] = str(document.dialect)
    if extras:
        scene.extras["nodeanim"] = extras


class Reader(SceneReader[Options]):
    options = Options

    def to_scene(self, document: Document, options: Options) -> Scene:
        return to_scene(document, options)

    def key_location(self, record: Record, channel: Channel) -> KeyLocation:
        """Return the field with the keys of a channel; scale axes are stored in the scale keys."""
        return KeyLocation(KEY_FIELDS.get(channel.track.kind, "scale_keys"))
