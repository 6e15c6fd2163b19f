"""The bridge between U3D (UTO!) documents and scenes.

`scene` reads a whole document; `objects` reads what nodes carry and `controllers` reads animation. `writing` writes a
whole scene; the modules it uses begin with ``write_``.
"""

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
