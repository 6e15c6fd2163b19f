"""From 3D Studio documents to scenes and back: the only place where the two meet.

`editor` reads the surroundings, `materials` materials and maps, `objects` meshes, lights and cameras as the editor has
them, `tracks` keys, `nodes` the keyframer's tree, and `rest` decides where stored vertices and keyframer disagree.
`writing` is the way back, loaded only when it is gone; the modules that it is made of begin with ``write_``.
"""

from __future__ import annotations

from keyframer.formats.document import Document
from keyframer.formats.scene_reader import KeyLayout, SceneReader
from keyframer.formats.threeds.bridge.options import Options
from keyframer.formats.threeds.bridge.scene import to_scene
from keyframer.formats.threeds.records import HideTrack
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record


class Reader(SceneReader[Options]):
    options = Options

    def to_scene(self, document: Document, options: Options) -> Scene:
        return to_scene(document, options)

    def key_layout(self, record: Record, channel: Channel) -> KeyLayout | None:
        """Visibility is sorted, and begins with a state before the first toggle, which is not stored."""
        layout = super().key_layout(record, channel)
        if layout is None or not isinstance(record, HideTrack):
            return layout
        return layout._replace(order=[None, *record.keys.time.argsort(kind="stable").tolist()])
