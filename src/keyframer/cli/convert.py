"""``keyframer convert``: convert to glTF 2.0 or another format, and report losses."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import suppress
from typing import Any

from keyframer.batch.operations import OPERATIONS, prepare_conversion
from keyframer.cli import inputs, operation_options, reading_options, scene_loading, texture_search
from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.cli.inputs import Input
from keyframer.cli.messages import StatusLine, detail, error_record, failure, note, shown_name
from keyframer.cli.outputs import STDOUT, Output, check_file, output_errors, refused, write_text
from keyframer.errors import FormatError
from keyframer.exchange import DEFAULT_EXPORTER, SharedExtension, exporter_for
from keyframer.exchange.conversion import save_opened
from keyframer.scene.loss_report import LossReport
from keyframer.text import safe_text

SCHEMA = "keyframer.convert"
SCHEMA_VERSION = 1

ABOUT = """Convert files to glTF 2.0 or to another format, and report what was lost.

docs/converting.md lists what each format can store of a scene. OUT is a file
(for one input), a folder (outputs keep the subfolders of the inputs), or a
suffix such as .glb (next to each input). In glTF, curves become LINEAR keys that
stay within --max-error in every player; --keys writes cubic splines or one key
per frame instead. The actual error is measured and reported. Data that glTF
cannot store is kept in extras. Losses are summarised on stderr; -v lists them,
and --report writes all of them as JSON. Images are searched for only in the
folder of the file and in those of --texture-path; every guess and every missing
image is reported. If OUT is -, the one file is written to stdout; --to chooses
its format."""

EXAMPLES = (
    "keyframer convert scene.3ds scene.glb",
    "keyframer convert -r archive/ converted/ --report losses.json",
    "keyframer convert 'models/*.3ds' .glb --unit file",
    "keyframer convert scene.3ds scene.gltf --core-only --max-error 1e-5",
    "keyframer convert scene.3ds scene.glb --keys cubic",
    "keyframer convert scene.3ds scene.glb --texture-path maps --texture-recursive",
    "keyframer convert scene.3ds scene.u3d --dialect A",
    "keyframer convert show.mvr new.mvr --models gltf",
    "keyframer convert walk.nanim walk.anim --to hale3d --cut 10:40 --axes y-up",
    "keyframer convert mill.3ds taller.3ds --move Rotor=0,0,10",
    "keyframer convert scene.3ds - --to gltf > scene.glb",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    output = parser.add_argument_group("output (the last name is OUT, unless -o is given)")
    output.add_argument(
        "-o", "--output", metavar="OUT", help="a file, a folder, a suffix such as .glb, or - for stdout"
    )
    output.add_argument("-f", "--force", action="store_true", help="overwrite existing files")
    output.add_argument("--report", metavar="FILE", help="write the losses of every file as JSON; - for stdout")
    operation_options.add_options(parser, "convert")


def run(options: argparse.Namespace) -> int:
    if options.output is None and options.files:
        options.output = options.files.pop()
    if not options.files and options.files_from is None:
        options.parser.error("give at least one file, and OUT: a file, a folder or a suffix such as .glb")
    if options.output is None:
        options.parser.error("OUT must be a file, a folder, a suffix such as .glb, or - for stdout")
    if options.output == STDOUT:
        _check_stdout(options)
    if options.report not in (None, STDOUT):
        if not options.force and os.path.lexists(options.report):
            options.parser.error(f"{options.report} exists (-f overwrites it)")
        try:
            check_file(options.report, force=options.force)
        except FormatError as error:
            failure(options.report, error)
            return INPUTS_FAILED
    operation = OPERATIONS["convert"]
    try:
        values = operation_options.values_of(options, "convert")
        out = Output(options, lambda name: operation.naming(values)(name))
        output_name = "x" + options.output if out.is_suffix else options.output
        to = DEFAULT_EXPORTER.name if out.is_folder and options.to is None else options.to
        with suppress(SharedExtension):  # then the format of each input decides
            values["to"] = _exporter_name(output_name, to)
            operation.suffix(values)
    except ValueError as error:
        options.parser.error(str(error))
    records: list[dict[str, object]] = []
    code = SUCCESS
    progress = StatusLine(options)
    extensions = operation_options.input_extensions("convert", values.get("to", ""))
    for done, item in enumerate(inputs.inputs_of(options, extensions)):
        progress.show(f"{done} done, {shown_name(item.name)[-60:]}")
        try:
            with reading_options.budget_for(options, item):
                if done and options.output == STDOUT:
                    raise refused("stdout takes only one file (a folder or a suffix as OUT takes several)")
                path, report = _convert(item, options, values, out)
        except (*reading_options.LOAD_FAILURES, MemoryError) as error:
            progress.clear()
            code = INPUTS_FAILED
            failure(item.name, error)
            records.append({"file": safe_text(item.name), "error": error_record(error, item.name)})
            continue
        progress.clear()
        note(options, f"{shown_name(item.name)} -> {shown_name(path)}: {report.summary()}")
        for loss in report:
            detail(options, f"  {loss} [{loss.code}]")
        records.append({"file": safe_text(item.name), **report.as_dict()})
    if options.report is not None and not _write_report(options, records):
        code = INPUTS_FAILED
    return code


def _exporter_name(output_name: str, to: str | None) -> str:
    try:
        return exporter_for(output_name, to).name
    except SharedExtension:
        raise
    except ValueError as error:
        raise ValueError(f"{error}; --to chooses the format") from None


def _check_stdout(options: argparse.Namespace) -> None:
    """End the command with a message if the result cannot be written to stdout."""
    if options.to is None:
        options.parser.error("OUT is stdout: --to must choose the format")
    if options.report == STDOUT:
        options.parser.error("stdout takes either the file or the report")
    if inputs.names_several_inputs(options):
        options.parser.error("stdout takes only one file: OUT must be a folder or a suffix such as .glb")


def _convert(item: Input, options: argparse.Namespace, values: dict[str, Any], out: Output) -> tuple[str, LossReport]:
    """Convert an input; returns the name of the output and the losses."""
    path = out.path_for(item)
    opened = scene_loading.open_input(item, options)
    scene = scene_loading.scene_of_opened(item, opened, options)
    try:
        exporter = exporter_for(path or "", options.to, scene.source_format)
    except SharedExtension as error:
        raise refused(f"{error}; --to chooses the format") from None
    textures = texture_search.source_for(item, options)
    scene, save_options, changes = prepare_conversion(scene, exporter, values)
    save_options |= {"textures": textures, "name": os.path.basename(item.relative)}
    if path is None:
        report = save_opened(opened, scene, sys.stdout.buffer, exporter, **save_options)
    else:
        with output_errors(path):
            if out.is_folder:
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            report = save_opened(opened, scene, path, exporter, overwrite=options.force, **save_options)
    texture_search.report(item, textures, options)
    for change in changes:
        note(options, f"{shown_name(item.name)}: {change.detail}")
    report.losses[:0] = changes
    return path or "<stdout>", report


def _write_report(options: argparse.Namespace, records: list[dict[str, object]]) -> bool:
    content = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "files": records}
    text = json.dumps(content, allow_nan=False, indent=1) + "\n"
    try:
        write_text(options.report, text, force=options.force)
    except FormatError as error:
        failure(options.report, error)
        return False
    return True
