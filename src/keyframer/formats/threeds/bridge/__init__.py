"""The bridge between 3D Studio documents and scenes.

Reading, in the order of `scene`, which goes once through the document:

1. `editor` reads the settings (unit, background, fog), the materials, and the objects: meshes, cameras and lights as
   the 3D editor stores them, in scene space.
2. `nodes` reads the tree of the keyframer: names, parents, targets.
3. `tracks` reads the keys of all nodes together. Their first keys are the rest pose.
4. Cameras, lights and meshes are attached to their nodes. If stored vertices and keyframer disagree about the place of
   a mesh, `vertex_space` decides. Objects without a node get one.

`declared_fields` says once how fields of a scene are stored in chunks, for both directions; `context` has the options
and what all readers need: reports, sub-chunks, extras for chunks that are not read.

Writing, in the order of `writing`:

1. `write_nodes` takes the mirrors out of the nodes, fits their tracks to frames and places them at frame 0; then it
   writes one node after the other, with its object. `write_motion` writes tracks and finds targets, `write_objects`
   writes meshes, cameras, lights and materials.
2. The sections are put together: version, editor, keyframer.

An edited scene is written in the same way, but with the `original_conventions` of its document: names, numbers, pivots,
matrices. `merging` says which of its records correspond to those of the original, which keeps all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keyframer.formats.contract import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.kit.summary_tables import Table
from keyframer.formats.threeds.bridge.context import Options
from keyframer.formats.threeds.bridge.rules import apply_rules
from keyframer.formats.threeds.bridge.scene import to_linked_scene
from keyframer.formats.threeds.bridge.summary import describe, summarise
from keyframer.formats.threeds.records import HideTrack
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter


class StudioBridge(Bridge[Options]):
    options = Options

    def read(self, document: Document, options: Options) -> Scene:
        return to_linked_scene(document, options)[0]

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        apply_rules(document, scene, reporter)

    def summarise(self, document: Document) -> list[Table]:
        return summarise(document)

    def describe(self, cls: type[Any]) -> Mapping[str, str]:
        return describe(cls)

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        """Return where the keys of a channel are stored.

        Keys of a visibility track are sorted; the first, with the state before the first toggle, is not stored.
        """
        location = super().key_location(record, channel)
        if location is None or not isinstance(record, HideTrack):
            return location
        return location._replace(order=[None, *record.keys.time.argsort(kind="stable").tolist()])

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.threeds.bridge.merging import Merger
        from keyframer.formats.threeds.bridge.writing import Writer

        return Writer(Merger())


BRIDGE = StudioBridge()
