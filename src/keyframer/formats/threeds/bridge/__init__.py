"""The bridge between 3D Studio documents and scenes.

`scene` reads a whole document. `editor` reads the unit, background, fog and ambient light, `materials` reads materials
and maps, `objects` reads meshes, lights and cameras as the editor stores them, `nodes` and `tracks` read the
keyframer's tree and keys, and `vertex_space` decides between stored vertices and keyframer if they disagree.

`writing` writes a whole scene, with `prepared_scene` and the modules that begin with ``write_``. `merging` writes an
edited scene with the `original_conventions` of its document. They are loaded only when a scene is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keyframer.formats.contract import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.kit.summary_tables import Table
from keyframer.formats.threeds.bridge.options import Options
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
