"""The bridge between Hale3D documents and scenes.

`scene` reads an animation, a model (`surface`) or both. `writing` writes new files with the records of `pair_writer`.
`merging` writes an edited scene: the same records, with what did not change from the original.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyframer.errors import FormatError
from keyframer.files import read_bytes
from keyframer.formats.contract import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.rules import apply_rules
from keyframer.formats.hale3d.bridge.scene import Options, to_scene
from keyframer.formats.hale3d.document import decode
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, Animation, Frames, Joint, Model
from keyframer.formats.kit.scene_reading import Reporter, companion_paths
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter


class HaleBridge(Bridge[Options]):
    options = Options
    internal_options = ("found",)

    def read(self, document: Document, options: Options) -> Scene:
        return to_scene(document, options)

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        apply_rules(document, scene, reporter)

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        """Return options with the other file of the pair, if it has the same stem and is in the same folder."""
        option, suffix = ("model", ".mdl") if document.first(Animation) is not None else ("animation", ".anim")
        for candidate in companion_paths(path, suffix):
            try:
                companion = decode(read_bytes(candidate))
            except (OSError, FormatError):
                continue
            if companion.first(Model if option == "model" else Animation) is not None:
                return {option: companion, "found": candidate.name}
        return {}

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        """Return which bytes of a frame belong to a channel: a frame has a box, then the components of all joints."""
        if not isinstance(record, Joint):
            return None
        position_count, rotation_count = (record.flags & 7).bit_count(), (record.flags >> 3 & 7).bit_count()
        first, count = (0, position_count) if channel.track.kind == "position" else (position_count, rotation_count)
        return KeyLocation("rows", Frames, (4 * (BOUNDS_FLOATS + record.start_index + first), 4 * count))

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.hale3d.bridge.merging import Merger
        from keyframer.formats.hale3d.bridge.writing import Writer

        return Writer(Merger())


BRIDGE = HaleBridge()
