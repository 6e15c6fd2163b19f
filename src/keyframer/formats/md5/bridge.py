"""The bridge between MD5 documents and scenes: that of all pairs of animations and models (`kit.joint_pairs`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from keyframer.formats.bridge import Bridge, KeyLocation
from keyframer.formats.document import Document
from keyframer.formats.kit.joint_pairs import Family
from keyframer.formats.kit.joint_pairs.reading import Options, to_scene
from keyframer.formats.kit.joint_pairs.rules import apply_rules, find_companion
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.md5 import FORMAT, VERSION
from keyframer.formats.md5.document import Animation, Model, decode, encode, new_animation, new_model
from keyframer.scene import Channel, Scene
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter

FAMILY = Family(
    FORMAT,
    Animation,
    Model,
    VERSION,
    ".md5anim",
    ".md5mesh",
    decode,
    encode,
    new_animation,
    new_model,
    lambda meshes, joints: [*joints, *meshes],
)


class Md5Bridge(Bridge[Options]):
    options = Options
    internal_options = ("found",)

    def read(self, document: Document, options: Options) -> Scene:
        return to_scene(FAMILY, document, options)

    def check(self, document: Document, scene: Scene | None, reporter: Reporter) -> None:
        apply_rules(FAMILY, document, scene, reporter)

    def companions(self, document: Document, path: Path) -> dict[str, object]:
        return find_companion(FAMILY, document, path)

    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        return None  # the values of a row of text have no separate locations

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.kit.joint_pairs.writing import Merger, Writer

        return Writer(FAMILY, Merger(FAMILY))


BRIDGE = Md5Bridge()
