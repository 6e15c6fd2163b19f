"""The bridge between U3D (UTO!) documents and scenes.

Reading (`scene.to_scene`): materials; nodes in the order of their records; parents and targets by id (targets of
Flexporter lights by name); meshes, cameras and lights (`objects`); the clip with one or two tracks for each controller
(`controllers`); at last `skins`, whose bind pose is the rest pose of the bones.

Writing (`writing`): every node gets its id first, because records refer to ids; then materials, nodes (bones in their
bind pose), targets, controllers, and the first and last frame, whose unit depends on all of them.

Edits (`merging`): the writer writes the scene with the ids, names, layout and time unit of the original.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyframer.formats.contract import Bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.uto3d.bridge.rules import apply_rules
from keyframer.formats.uto3d.bridge.scene import Options, to_scene
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
