"""Telling the format of a file."""

from __future__ import annotations

import argparse

from keyframer.operations import Operation, WorkFile


class Identify(Operation):
    name = "identify"
    help = "identify every file and write JSON"
    loads = ("keyframer.inspecting.identity", "keyframer.inspecting.listing")
    ending = ".identify.json"
    reads_companions = False

    def add_options(self, parser: argparse.ArgumentParser, *, in_batch: bool = False) -> None:
        """There are none."""

    def perform(self, file: WorkFile) -> None:
        """Recognise the format of a file."""
        from keyframer.catalogue import IO_UNRECOGNISED
        from keyframer.formats.contract import HEAD_SIZE
        from keyframer.inspecting import identity
        from keyframer.inspecting.listing import json_file

        data = file.opened.data
        identified = identity.identify(data[:HEAD_SIZE], len(data), file.name, lambda: data)
        file.write(json_file(identity.SCHEMA, identity.SCHEMA_VERSION, identified.record()))
        file.format = identified.format
        file.details = {name: getattr(identified, name) for name in ("certainty", "pronom", "version")}
        if identified.format is None:  # the record is written, too, as `keyframer identify` prints it
            raise IO_UNRECOGNISED.failure(0, "/", reason=str(identified))
