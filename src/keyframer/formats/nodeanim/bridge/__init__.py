"""The bridge between node animation documents and scenes; `unit_detection` finds units that the file does not state."""

from __future__ import annotations

from keyframer.formats.document import Document
from keyframer.formats.nodeanim.bridge.options import Options
from keyframer.formats.nodeanim.bridge.scene import KEY_FIELDS, to_scene
from keyframer.formats.scene_reader import KeyLayout, SceneReader
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record


class Reader(SceneReader[Options]):
    options = Options

    def to_scene(self, document: Document, options: Options) -> Scene:
        return to_scene(document, options)

    def key_layout(self, record: Record, channel: Channel) -> KeyLayout:
        """A node has three tables."""
        return KeyLayout(KEY_FIELDS.get(channel.track.kind, "scale_keys"))
