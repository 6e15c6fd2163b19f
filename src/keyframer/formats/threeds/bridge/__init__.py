"""The bridge between 3D Studio documents and scenes.

`scene` reads a whole document. `editor` reads background, fog and ambient light, `materials` reads materials and maps,
`objects` reads meshes, lights and cameras as the editor stores them, `nodes` and `tracks` read the keyframer's tree and
keys, and `vertex_space` decides what to do where stored vertices and keyframer disagree. `writing` writes a whole scene
and is loaded only when a scene is written; the modules it uses begin with ``write_``.
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
