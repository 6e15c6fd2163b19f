"""The bridge between ASE documents and scenes.

`scene` reads a whole document with `object_meshes`, `skins`, `materials` and `cameras_lights`. `writing` writes a whole
scene with the modules that begin with ``write_``. `tracks`, `target_roll` and `declared_fields` are for both
directions. `merging` merges edits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keyframer.formats.ase.bridge.options import Options
from keyframer.formats.ase.bridge.rules import apply_rules
from keyframer.formats.ase.bridge.scene import read_scene
from keyframer.formats.ase.bridge.summary import describe, summarise
from keyframer.formats.contract import Bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.kit.summary_tables import Table
from keyframer.scene import Scene

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter


class AseBridge(Bridge[Options]):
    options = Options

    def read(self, document: Document, options: Options) -> Scene:
        return read_scene(document, options)[0]

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        apply_rules(document, scene, reporter)

    def summarise(self, document: Document) -> list[Table]:
        return summarise(document)

    def describe(self, cls: type[Any]) -> Mapping[str, str]:
        return describe(cls)

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.ase.bridge.merging import Merger
        from keyframer.formats.ase.bridge.writing import Writer

        return Writer(Merger())


BRIDGE = AseBridge()
