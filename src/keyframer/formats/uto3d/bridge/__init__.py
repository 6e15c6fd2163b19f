"""The bridge between U3D (UTO!) documents and scenes.

`scene` reads a document, `writing` writes a scene, `merging` merges edits. They use `objects` for meshes, cameras and
lights, `controllers` for animation, and `skins`; the tables of fields are in `declared_fields`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyframer.formats.contract import Bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.uto3d.bridge.options import Options
from keyframer.formats.uto3d.bridge.rules import apply_rules
from keyframer.formats.uto3d.bridge.scene import to_scene
from keyframer.scene import Scene

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter


class UtoBridge(Bridge[Options]):
    options = Options

    def read(self, document: Document, options: Options) -> Scene:
        return to_scene(document, options)

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        apply_rules(document, scene, reporter)

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.uto3d.bridge.merging import Merger
        from keyframer.formats.uto3d.bridge.writing import Writer

        return Writer(Merger())


BRIDGE = UtoBridge()
