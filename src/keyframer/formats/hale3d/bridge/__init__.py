"""From Hale3D documents to scenes: `skeleton` builds the frames, `surface` the skinned model, `scene` joins them.
`writing` makes an animation of a scene, `write_model` its model."""

from __future__ import annotations

from pathlib import Path

from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.options import Options, companions
from keyframer.formats.hale3d.bridge.scene import to_scene
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, Frames, Joint
from keyframer.formats.scene_reader import KeyLayout, SceneReader
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record


class Reader(SceneReader[Options]):
    options = Options

    def to_scene(self, document: Document, options: Options) -> Scene:
        return to_scene(document, options)

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        return companions(document, path)

    def key_layout(self, record: Record, channel: Channel) -> KeyLayout | None:
        """A frame holds a box, then for each joint those of Tx Ty Tz Qx Qy Qz that its flags announce."""
        if not isinstance(record, Joint):
            return None
        moved, turned = (record.flags & 7).bit_count(), (record.flags >> 3 & 7).bit_count()
        first, count = (0, moved) if channel.track.kind == "position" else (moved, turned)
        return KeyLayout("rows", Frames, (4 * (BOUNDS_FLOATS + record.start_index + first), 4 * count))
