"""From U3D documents to scenes and back: `things` stand in the tree, `controllers` move them, `scene` is the whole;
the modules that write have the same names with ``write_``."""

from __future__ import annotations

from keyframer.formats.document import Document
from keyframer.formats.scene_reader import SceneReader
from keyframer.formats.uto3d.bridge.options import Options
from keyframer.formats.uto3d.bridge.scene import to_scene
from keyframer.scene import Scene


class Reader(SceneReader[Options]):
    options = Options

    def to_scene(self, document: Document, options: Options) -> Scene:
        return to_scene(document, options)
