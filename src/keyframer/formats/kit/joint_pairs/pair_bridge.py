"""The bridge of a format whose files are pairs of animations and models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyframer.formats.bridge import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.kit.joint_pairs import Family
from keyframer.formats.kit.joint_pairs.reading import Options, to_scene
from keyframer.formats.kit.joint_pairs.rules import apply_rules, find_companion
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter


class PairBridge(Bridge[Options]):
    """Reads, checks and writes the files of a family. Formats override what is different in them."""

    options = Options
    internal_options = ("found",)

    def __init__(self, family: Family) -> None:
        self.family = family

    def read(self, document: Document, options: Options) -> Scene:
        return to_scene(self.family, document, options)

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        apply_rules(self.family, document, scene, reporter)

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        return find_companion(self.family, document, path)

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        return None  # the values of a row of text have no separate locations

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.kit.joint_pairs.writing import Merger, Writer

        return Writer(self.family, Merger(self.family))
