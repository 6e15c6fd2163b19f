"""The formats of `keyframer.formats` as exporters: their bridges write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyframer.exchange.contract import Exporter

if TYPE_CHECKING:
    from pathlib import Path

    from keyframer.formats import Format
    from keyframer.formats.kit.declared_fields import Capabilities
    from keyframer.scene import Scene
    from keyframer.scene.loss_report import LossReport


class NativeExporter(Exporter):
    """A format of `keyframer.formats`, written by its bridge."""

    def __init__(self, format: Format) -> None:
        self.name, self.title, self.extensions = format.name, format.title, format.extensions
        self.dialects, self.axes, self.takes_any_scene = format.dialects, format.axes, format.writes_scenes
        self.format = format

    def check_dialect(self, dialect: str) -> None:
        self.format.check_dialect(dialect)

    def extension(self, dialect: str | None) -> str:
        if dialect is not None:
            self.check_dialect(dialect)
        return self.extensions[0]

    def option_types(self) -> dict[str, str]:
        return self.format.write_option_types()

    def capabilities(self) -> Capabilities:
        return self.format.scene_writer().capabilities

    def choices(self) -> tuple[None]:
        return (None,)

    def save(
        self, scene: Scene, path: Path, *, dialect: str | None, overwrite: bool, options: dict[str, object]
    ) -> LossReport:
        from keyframer.exchange.saving import save_in_format

        return save_in_format(self.format, scene, path, dialect, overwrite, options)
