"""A file at work in a single command: its input, its output, and what the user is told about them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from keyframer.cli import texture_search
from keyframer.cli.messages import detail, note, shown_name
from keyframer.cli.outputs import output_errors
from keyframer.cli.scene_loading import open_input, scene_of_opened
from keyframer.operations import WorkFile
from keyframer.text import counted

if TYPE_CHECKING:
    from keyframer.cli.inputs import Input
    from keyframer.cli.outputs import Output
    from keyframer.exchange import Exporter
    from keyframer.scene import Scene
    from keyframer.scene.loss_report import LossReport
    from keyframer.textures import TextureFinder, TextureSource


class CommandFile(WorkFile):
    def __init__(self, item: Input, options: argparse.Namespace, values: Mapping[str, Any], out: Output) -> None:
        self.name, self.values = item.name, values
        self.output = out.path_for(item) or ""
        self.opened = open_input(item, options)
        self._item = item
        self._options = options
        self._out = out
        self._textures: TextureSource | None = None

    def scene(self) -> Scene:
        return scene_of_opened(self._item, self.opened, self._options)

    def finder(self) -> TextureFinder | None:
        return texture_search.finder_for(self._item, self._options)

    def textures(self) -> TextureSource | None:
        self._textures = super().textures()
        return self._textures

    def write(self, data: bytes, path: str = "") -> None:
        texture_search.report(self._item, self._textures, self._options)
        path = path or self.output
        if not path:
            sys.stdout.buffer.write(data)
            return
        self._out.write(path, data)
        detail(self._options, f"{self.name} -> {path} ({counted(len(data), 'byte')})")

    def save(self, scene: Scene, exporter: Exporter, **options: Any) -> LossReport:
        from keyframer.exchange.conversion import save_opened

        options["name"] = os.path.basename(self._item.relative)
        if not self.output:
            report = save_opened(self.opened, scene, sys.stdout.buffer, exporter, **options)
        else:
            with output_errors(self.output):
                self._out.make_folder(self.output)
                report = save_opened(
                    self.opened, scene, self.output, exporter, overwrite=self._options.force, **options
                )
        texture_search.report(self._item, self._textures, self._options)
        self.losses = report
        return report

    def note(self, text: str) -> None:
        note(self._options, f"{shown_name(self.name)}: {text}")
