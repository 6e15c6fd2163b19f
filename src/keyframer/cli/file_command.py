"""The commands of operations that have no module here: they write one file for each input."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress

from keyframer.cli import inputs, outputs, scene_loading, texture_search
from keyframer.cli.command_file import CommandFile
from keyframer.cli.each_input import LOAD_FAILURES, EachInput
from keyframer.cli.inputs import Input
from keyframer.errors import FormatError
from keyframer.operations import Operation


class FileCommand:
    """The command of an operation, with the interface of a module of this package."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.ABOUT, self.EXAMPLES = operation.about, operation.examples

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        inputs.add_arguments(parser)
        self.operation.add_options(parser)
        outputs.add_arguments(parser, required=False, suffix=self.operation.suffix({}))

    def run(self, options: argparse.Namespace) -> int:
        inputs.require_input(options)
        operation, several = self.operation, inputs.names_several_inputs(options)
        if several and options.output is None:
            options.parser.error(f"several files need -o: a folder, or a suffix such as {operation.suffix({})}")
        if options.output is None and not operation.is_text and sys.stdout.isatty():
            options.parser.error(f"a {operation.noun} cannot be shown as text: give a file with -o")
        try:
            if outputs.has_output_extension(options):
                operation.fit_output(options)
            values = operation.values_of(options)
        except ValueError as error:
            options.parser.error(str(error))
        out = outputs.Output(options, lambda name: name + operation.suffix(values), operation.noun)
        if options.force and several:
            _register_images(options, out)
        for item in (each := EachInput(options, inputs.LOADABLE, (*LOAD_FAILURES, LookupError))):
            with each.guarded(item):
                operation.perform(CommandFile(item, options, values, out))
        return each.code


def _register_images(options: argparse.Namespace, out: outputs.Output) -> None:
    """Register the images of all inputs if outputs replace existing files: none may replace an image of a later
    input."""

    def replaces(item: Input) -> bool:
        with suppress(FormatError):
            return os.path.lexists(out.unchecked_path(item) or "")
        return False

    if not (hasattr(options, "no_textures") and any(map(replaces, inputs.inputs_of(options, inputs.LOADABLE)))):
        return
    quiet_options = type(options)(**{**vars(options), "quiet": True, "salvage": True})
    for item in inputs.inputs_of(options, inputs.LOADABLE):
        if isinstance(item, inputs.FileInput) and not os.path.isfile(item.name):
            continue  # a pipe can be read only once
        with suppress(*LOAD_FAILURES, LookupError, MemoryError):  # reported when its output is made
            scene = scene_loading.load_scene(item, quiet_options)
            texture_search.note_inputs(item, scene, options)
