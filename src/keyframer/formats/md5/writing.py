"""Write MD5 pairs. Cameras are only read: one that was not edited is written as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from keyframer.formats import bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.joint_pairs.reading import Options
from keyframer.formats.kit.joint_pairs.writing import Merger, WriteOptions, Writer
from keyframer.formats.kit.scene_writing import CannotMerge, Written
from keyframer.formats.md5.camera import CameraPath
from keyframer.scene import Scene
from keyframer.scene.loss_report import CannotWrite


@dataclass(frozen=True)
class Md5WriteOptions(WriteOptions):
    """Options. An animation and its model are two files."""

    files: ClassVar[tuple[str, ...]] = (*WriteOptions.files, "camera")


class Md5Writer(Writer):
    options = Md5WriteOptions

    def write(self, scene: Scene, options: WriteOptions) -> Written:
        if options.file == "camera":
            raise CannotWrite("cameras are only read: an .md5camera is written unchanged, or not at all")
        return super().write(scene, options)

    def options_for(self, suffix: str) -> dict[str, object]:
        return {"file": "camera"} if suffix == ".md5camera" else super().options_for(suffix)


class Md5Merger(Merger):
    def read(self, document: Document, options: Options) -> tuple[Scene, Any]:
        return bridge.Merger.read(self, document, options) if _is_camera(document) else super().read(document, options)

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        if _is_camera(original.document):
            raise CannotMerge("cameras are only read")
        return super().write(scene, original)

    def keeps_layout(self, original: Document, requested: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        if _is_camera(original):
            return requested.get("file") in (None, "camera")
        return super().keeps_layout(original, requested, options)


def _is_camera(document: Document) -> bool:
    return document.first(CameraPath) is not None
