"""``keyframer convert``: convert to glTF 2.0 or another format, and report losses."""

from __future__ import annotations

import argparse
import json
import os

from keyframer.cli import inputs
from keyframer.cli.command_file import CommandFile
from keyframer.cli.each_input import LOAD_FAILURES, EachInput
from keyframer.cli.exit_handling import INPUTS_FAILED
from keyframer.cli.messages import StatusLine, detail, error_record, failure, note, shown_name
from keyframer.cli.outputs import STDOUT, Output, check_file, refused, write_text
from keyframer.errors import FormatError
from keyframer.exchange import DEFAULT_EXPORTER, SharedExtension, exporter_for
from keyframer.operations.convert import Convert
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

CONVERT = Convert()
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
    CONVERT.add_options(parser)


def run(options: argparse.Namespace) -> int:
    _check_arguments(options)
    if options.report not in (None, STDOUT):
        try:
            check_file(options.report, force=options.force)
        except FormatError as error:
            failure(options.report, error)
            return INPUTS_FAILED
    try:
        values = CONVERT.values_of(options)
        out = Output(options, lambda name: os.path.splitext(name)[0] + CONVERT.suffix(values))
        values["to"] = _exporter_name(options, out)
        if values["to"] is not None:
            CONVERT.suffix(values)
    except ValueError as error:
        options.parser.error(str(error))
    records: list[dict[str, object]] = []
    progress = StatusLine(options)
    extensions = inputs.loadable_except(CONVERT.skipped_extensions(values) if values["to"] else ())
    each = EachInput(options, extensions, (*LOAD_FAILURES, MemoryError), progress.clear)
    for done, item in enumerate(each):
        progress.show(f"{done} done, {shown_name(item.name)[-60:]}")
        with each.guarded(item):
            file = CommandFile(item, options, values, out)
            try:
                CONVERT.perform(file)
            except SharedExtension as error:
                raise refused(f"{error}; --to chooses the format") from None
        progress.clear()
        if each.error is not None:
            records.append({"file": safe_text(item.name), "error": error_record(each.error, item.name)})
            continue
        note(options, f"{shown_name(item.name)} -> {shown_name(file.output or '<stdout>')}: {file.losses.summary()}")
        for loss in file.losses:
            detail(options, f"  {loss} [{loss.type.key}]")
        records.append({"file": safe_text(item.name), **file.losses.as_dict()})
    if options.report is not None and not _write_report(options, records):
        return INPUTS_FAILED
    return each.code


def _check_arguments(options: argparse.Namespace) -> None:
    """Take OUT from the names; ends the command with a message if the arguments do not fit each other."""
    if options.output is None and options.files:
        options.output = options.files.pop()
    if not options.files and options.files_from is None:
        options.parser.error("give at least one file, and OUT: a file, a folder or a suffix such as .glb")
    if options.output is None:
        options.parser.error("OUT must be a file, a folder, a suffix such as .glb, or - for stdout")
    if options.output == STDOUT:
        _check_stdout(options)
    if options.report not in (None, STDOUT) and not options.force and os.path.lexists(options.report):
        options.parser.error(f"{options.report} exists (-f overwrites it)")


def _exporter_name(options: argparse.Namespace, out: Output) -> str | None:
    """Return the id of the format to write; None if several have the extension of OUT: then each input decides."""
    if out.is_folder and options.to is None:
        return DEFAULT_EXPORTER.name
    try:
        return exporter_for("x" + options.output if out.is_suffix else options.output, options.to).name
    except SharedExtension:
        return None
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


def _write_report(options: argparse.Namespace, records: list[dict[str, object]]) -> bool:
    content = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "files": records}
    text = json.dumps(content, allow_nan=False, indent=1) + "\n"
    try:
        write_text(options.report, text, force=options.force)
    except FormatError as error:
        failure(options.report, error)
        return False
    return True
