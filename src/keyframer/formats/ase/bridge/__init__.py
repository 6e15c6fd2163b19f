"""The bridge between ASE documents and scenes.

`scene` reads a whole document; `object_meshes`, `materials` and `cameras_lights` read what nodes carry, `tracks` reads
animation, and `target_roll` handles cameras and lights with targets. `writing` writes a whole scene; the modules it
uses begin with ``write_``.
"""

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
