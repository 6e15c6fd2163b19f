"""The bridge between ASE documents and scenes.

Reading (`scene.read_scene`): materials; nodes with their parents; rest transforms from the world matrices of the file;
the clip (`tracks`); cameras, lights, meshes and morphs (`objects`); then the roll of cameras and lights with a target,
which is separated from their rotation; skins, which find their bones by name; at last the environment.

Writing (`writing`): names and targets are settled first; then one block for the scene, one for the materials, and one
for each node with its transform, content (`write_objects`) and controllers (`write_tracks`).

Edits (`merging`): the writer writes the scene with the names, numbers and matrices of the original, and nodes and
materials are moved into the groups and materials that contain them there.

`declared_fields` says which lines store which fields, for both directions and for loss reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keyframer.formats.ase.bridge.rules import apply_rules
from keyframer.formats.ase.bridge.scene import Options, read_scene
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
