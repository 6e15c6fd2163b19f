"""Archives of stage lighting: GDTF fixtures and MVR shows, read into scenes and written again with other models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from keyframer.exchange.contract import Exporter, Importer, WriteOption

if TYPE_CHECKING:
    from keyframer.exchange.contract import SceneLoader, SceneSaver
    from keyframer.formats.kit.summary_tables import Table
    from keyframer.scene import Scene

MODELS = ("keep", "gltf")


class StageExporter(Exporter):
    """Writes an archive of stage lighting that was read before, unchanged or with its models in glTF."""

    axes = ("z", "right")
    takes_any_scene = False
    options = (
        WriteOption(
            *("models", "str"),
            "when a show (.mvr) or fixture (.gdtf) is saved again: keep its models unchanged (default) or convert "
            "them to glTF",
            is_flag=True,
            choices=MODELS,
        ),
        WriteOption(
            *("replace", "bool"),
            "replace the models of a fixture instead of adding glTF models to them",
            is_flag=True,
        ),
    )

    def __init__(self, name: str, title: str, extension: str) -> None:
        self.name, self.title, self.extensions = name, title, (extension,)

    def writer(self) -> SceneSaver:
        from keyframer.exchange.stage import saving

        return saving


class StageImporter(Importer):
    """Reads zip archives of stage lighting, recognised by extension or by their description."""

    tables = ("fixtures", "modes")

    def __init__(self, name: str, title: str, extension: str, description: bytes) -> None:
        self.name, self.title, self.extensions = name, title, (extension,)
        self.description = description

    def loader(self) -> SceneLoader:
        from keyframer.exchange.stage import reading

        return reading

    def summarise(self, scene: Scene) -> list[Table]:
        from keyframer.exchange.stage import reading

        return reading.summarise(scene)

    def subjects(self, scene: Scene) -> list[int]:
        from keyframer.exchange.stage import reading

        return reading.fixtures_of(scene)

    def sniff(self, head: bytes, name: str = "") -> str | None:
        if head[:4] != b"PK\x03\x04":
            return None
        if os.path.splitext(name)[1].lower() in self.extensions:
            return "a zip archive, and the extension"
        return "a zip archive with a description" if self._has_description(head) else None

    def _has_description(self, data: bytes) -> bool:
        """Return whether the header of the first member, or the directory at the end, names the description."""
        position = -1
        while (position := data.find(self.description, position + 1)) >= 0:
            if position == 30 or data[max(position - 46, 0) : position - 42] == b"PK\x01\x02":
                return True
        return False


EXPORTERS = (StageExporter("mvr", "MVR show", ".mvr"), StageExporter("gdtf", "GDTF fixture", ".gdtf"))
IMPORTERS = (
    StageImporter("mvr", "MVR show", ".mvr", b"GeneralSceneDescription.xml"),
    StageImporter("gdtf", "GDTF fixture", ".gdtf", b"description.xml"),
)
