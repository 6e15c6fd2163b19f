"""The bridge between Blitz3D documents and scenes.

Reading (`scene`): a material for each brush (`surfaces`); nodes in file order, with their meshes; a skin for each mesh
with bones below it, whose bind pose is the pose of the nodes as stored; one clip with the keys of all nodes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from keyframer.catalogue import DATA_QUATERNION_LENGTH
from keyframer.formats.b3d import document as d
from keyframer.formats.b3d.bridge.scene import Options, nodes_of, to_scene
from keyframer.formats.bridge import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import (
    check_depth,
    check_flags,
    check_huge_times,
    check_name,
    check_negative_times,
    check_numbers,
    check_unique,
)
from keyframer.formats.kit.scene_reading import Reporter, check_keys
from keyframer.formats.kit.summary_tables import Table, overview
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter

_TEXTURE_FLAGS, _FX, _KEY_FLAGS = 0x103FF, 0x3F, 7
_COVERED = {(d.Node, "position"), (d.Node, "scale"), (d.Vertices, "vertices"), (d.Bone, "weights"), (d.Keys, "keys")}
"""fields that reading a scene checks for non-finite numbers"""


def apply_rules(document: Document, scene: Scene | None, reporter: Reporter) -> None:
    """Check the records of a document and report issues."""
    records = list(nodes_of(document))
    for record, _ in records:
        check_name(reporter, record, "name", record.name)
        length = math.hypot(*map(float, record.rotation))
        if math.isfinite(length) and abs(length - 1) > 0.01:
            reporter.report(DATA_QUATERNION_LENGTH, record, "rotation", length=length)
    check_unique(reporter, "nodes", "name", ((record, record.name) for record, _ in records))
    for texture in document.find(d.Texture):
        check_flags(reporter, texture, "flags", texture.flags & 0xFFFFFFFF, _TEXTURE_FLAGS)
    for brush in document.find(d.Brush):
        check_flags(reporter, brush, "fx", brush.fx & 0xFFFFFFFF, _FX)
    for keys in document.find(d.Keys):
        check_flags(reporter, keys, "flags", keys.flags & 0xFFFFFFFF, _KEY_FLAGS)
        frames = keys.keys["frame"]
        if len(frames):
            columns = [keys.keys[name] for name in keys.keys.dtype.names or () if name != "frame"]
            check_keys(reporter, keys, "keys", frames, *columns)
            check_negative_times(reporter, keys, "keys", frames)
            check_huge_times(reporter, keys, "keys", frames)
    check_numbers(reporter, document, () if scene is None else _COVERED)
    check_depth(reporter, [record for record, _ in records], [parent for _, parent in records])


class B3dBridge(Bridge[Options]):
    options = Options
    read = staticmethod(to_scene)
    check = staticmethod(apply_rules)

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.b3d.bridge.merging import Merger
        from keyframer.formats.b3d.bridge.writing import Writer

        return Writer(Merger())

    def summarise(self, document: Document) -> list[Table]:
        brushes = Table("brushes", "Brushes", ("name", "red", "green", "blue", "alpha", "blend", "fx", "textures"))
        for brush in document.find(d.Brush):
            textures = ", ".join(str(number) for number in np.asarray(brush.textures).tolist() if number >= 0)
            brushes.add(brush.name, *(float(level) for level in brush.color), brush.blend, brush.fx, textures)
        sequences = Table("sequences", "Sequences", ("name", "first", "last"))
        for sequence in document.find(d.Sequence):
            sequences.add(sequence.name, sequence.first, sequence.last)
        animation = document.first(d.Animation)
        rows: list[tuple[str, Any]] = [] if animation is None else [("frames of the animation", animation.frames)]
        return [overview(*rows), *(table for table in (brushes, sequences) if table.rows)]

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        """Return the column of a kind of keys in the first of the chunks that have it."""
        if not isinstance(record, d.Keys):
            return None
        columns: Any = record.keys.dtype.fields or {}
        kind = channel.track.kind
        if kind not in columns:
            return None
        rows = {int(frame): row for row, frame in enumerate(record.keys["frame"].tolist())}
        at = columns[kind][1]
        order = [rows.get(int(time)) for time in channel.track.times]
        return KeyLocation("keys", None, (at, record.keys.dtype[kind].itemsize), order)


BRIDGE = B3dBridge()
