"""From Midtown Madness 2 clips to scenes: `rig` has the skeleton, `scene` the motion; `writing` is the way back."""

from __future__ import annotations

from pathlib import Path

from keyframer.formats.document import Document
from keyframer.formats.midtown.bridge.options import Options, companions
from keyframer.formats.midtown.bridge.scene import to_scene
from keyframer.formats.scene_reader import KeyLayout, SceneReader
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record


class Reader(SceneReader[Options]):
    options = Options

    def to_scene(self, document: Document, options: Options) -> Scene:
        return to_scene(document, options)

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        return companions(document, path)

    def key_layout(self, record: Record, channel: Channel) -> KeyLayout:
        """A frame holds the place of the root, then three angles for each bone."""
        first = 0 if channel.track.kind == "position" else 3 + 3 * channel.node
        return KeyLayout("rows", columns=(4 * first, 12))
