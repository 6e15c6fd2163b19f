"""From ASE documents to scenes and back: `object_meshes`, `palette` and `things` are what nodes carry,
`tracks` move them, `aims` look at targets, `scene` is the whole; the modules that write begin with ``write_``."""

from __future__ import annotations

from keyframer.formats.ase.bridge.options import Options
from keyframer.formats.ase.bridge.scene import to_scene
from keyframer.formats.document import Document
from keyframer.formats.scene_reader import SceneReader
from keyframer.scene import Scene


class Reader(SceneReader[Options]):
    options = Options

    def to_scene(self, document: Document, options: Options) -> Scene:
        return to_scene(document, options)
