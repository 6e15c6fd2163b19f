"""``keyframer convert``: from any format to any other and to glTF, and what was lost on the way."""

from __future__ import annotations

import argparse
import json
import os
import sys
from hashlib import sha256
from typing import Any

from keyframer.cli import inputs, operation_options, reading_options, scene_loading, shared_arguments, texture_options
from keyframer.cli.exit_handling import FINE, NOT_ALL_DONE
from keyframer.cli.inputs import Input
from keyframer.cli.messages import detail, error_record, failure, note, shown_name
from keyframer.cli.output_targets import STDOUT, Targets, check_file, refused, refusing, write_text
from keyframer.errors import FormatError
from keyframer.exchange import EXPORTERS, Exporter, exporter_for, save
from keyframer.exchange.gltf.write.images import Pictures, no_images
from keyframer.exchange.opening import OpenedFile
from keyframer.exchange.provenance import source_note
from keyframer.operating.operation_sequence import take_steps
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport
from keyframer.text import safe_text
from keyframer.textures import TextureSource

SCHEMA = "keyframer.convert"
SCHEMA_VERSION = 1

ABOUT = """Files as glTF 2.0: meshes with normals, materials, the tree of nodes, cameras, lights, skins, and all motion.
Or as any of the formats that can be read: what each holds of a scene is in docs/converting.md.

OUT is a file (one input), a folder (the tree of the inputs is kept), or a suffix such as .glb (beside each
input). In glTF, curves become LINEAR keys that stay within --max-error in every player; --keys writes cubic
splines or a key for each frame instead. The error reached is measured and reported. What glTF cannot say is
kept in extras; what was lost is summed up on stderr, -v lists it, and --report writes all of it as JSON.
Images are looked for beside the file and in the folders of --texture-path, nowhere else; every guess and
every miss is reported."""

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
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    scene_loading.add_arguments(parser)
    output = parser.add_argument_group("output (the last name is OUT, unless -o gives it)")
    output.add_argument("-o", "--output", metavar="OUT", help="a file, a folder, or a suffix such as .glb")
    output.add_argument("-f", "--force", action="store_true", help="overwrite files that exist")
    ids = [known.name for known in EXPORTERS]
    dialects = "; ".join(f"{known.name}: {', '.join(known.dialects)}" for known in EXPORTERS if known.dialects)
    output.add_argument("--to", metavar="ID", choices=ids, help=f"what to write, if OUT does not say: {', '.join(ids)}")
    output.add_argument(
        "--dialect",
        metavar="NAME",
        help=f"the layout that is written; {dialects} (see docs/converting.md)",
    )
    output.add_argument(
        "--write",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the format that is written, such as fps=24 (see docs/converting.md)",
    )
    output.add_argument("--report", metavar="FILE", help="write what was lost, file by file, as JSON; - for stdout")
    output.add_argument(
        "--max-error",
        type=operation_options.share,
        metavar="X",
        help="how far motion may be off where it must be fitted, as a share of the scene's size (default 1e-4; turns "
        "may then be 0.01 degree off, and more or less with it)",
    )
    operation_options.add_keys(output)
    operation_options.add_models(output)
    output.add_argument("--core-only", action="store_true", help="use no glTF extensions")
    output.add_argument(
        "--unit",
        type=operation_options.unit,
        metavar="LENGTH",
        help="how long a unit is: metres, or mm, cm, m, km, inch, foot, or file for what the file says "
        "(default: numbers stay as they are)",
    )
    operation_options.add_arguments(parser)
    shared_arguments.add_textures(parser)


def run(options: argparse.Namespace) -> int:
    if options.output is None and options.files:
        options.output = options.files.pop()
    if not options.files and options.files_from is None:
        options.parser.error("give at least one file, and OUT: a file, a folder or a suffix such as .glb")
    if options.output in (None, STDOUT):
        options.parser.error("OUT is a file, a folder or a suffix such as .glb")
    if options.report not in (None, STDOUT):
        if not options.force and os.path.lexists(options.report):
            options.parser.error(f"{options.report} exists (-f overwrites it)")
        try:
            check_file(options.report, force=options.force)
        except FormatError as error:
            failure(options.report, error)
            return NOT_ALL_DONE
    many = options.recursive or options.files_from is not None or len(options.files) > 1
    target = Targets(options, many, lambda name: os.path.splitext(name)[0] + extension)
    named = "x.glb" if target.is_folder else "x" + options.output if target.is_suffix else options.output
    try:
        exporter = exporter_for(named, options.to)
    except ValueError as error:
        options.parser.error(f"{error}; --to decides")
    try:
        extension = exporter.extension(options.dialect)
        operation_options.cut_of(options)
        options.written = exporter.options_from_text(scene_loading.pairs_of(options.write, "--write"))
    except ValueError as error:
        options.parser.error(str(error))
    records: list[dict[str, object]] = []
    code = FINE
    progress = Progress(options)
    for item in inputs.inputs_of(options, _wanted(exporter)):
        progress.show(item.name)
        try:
            with reading_options.budget_for(options, item):
                path, report = _convert(item, options, target)
        except (*scene_loading.LOAD_FAILURES, MemoryError) as error:
            progress.clear()
            code = NOT_ALL_DONE
            failure(item.name, error)
            records.append({"file": safe_text(item.name), "error": error_record(error)})
            continue
        progress.clear()
        note(options, f"{shown_name(item.name)} -> {shown_name(path)}: {report.summary()}")
        for loss in report:
            detail(options, f"  {loss}")
        records.append({"file": safe_text(item.name), **report.as_dict()})
    if options.report is not None and not _write_report(options, records):
        code = NOT_ALL_DONE
    return code


def _wanted(exporter: Exporter) -> tuple[str, ...]:
    """What is taken from folders: glTF files too, unless they are what is made (they may stand beside their inputs)."""
    return tuple(each for each in inputs.LOADABLE if exporter.name != "gltf" or each not in exporter.extensions)


def _convert(item: Input, options: argparse.Namespace, target: Targets) -> tuple[str, LossReport]:
    path = target.path_for(item)
    assert path is not None
    fps, options.fps = options.fps, None  # the exporter applies it, whether or not the format has such an option
    try:
        opened = scene_loading.open_input(item, options)
    finally:
        options.fps = fps
    scene = scene_loading.scene_of_opened(item, opened, options)
    chosen: dict[str, Any] = {}
    source = None
    exporter = exporter_for(path, options.to)
    scene = _changed(scene, options, None if exporter.name == "gltf" else fps, exporter.axes)
    if exporter.name == "gltf":
        source = texture_options.source_for(item, options)
        chosen = _for_gltf(options, fps, source, _source(item, opened))
    elif options.core_only or options.unit is not None or options.keys is not None:
        raise refused("--core-only, --unit and --keys are for glTF only")
    chosen = {"dialect": options.dialect, "max_error": options.max_error} | options.written | chosen
    with refusing(path):
        if target.is_folder:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        report = save(scene, path, format=options.to, overwrite=options.force, **chosen)
    texture_options.report(item, source, options)
    return path, report


def _changed(scene: Scene, options: argparse.Namespace, fps: float | None, own_axes: tuple[str, str]) -> Scene:
    """The scene after everything that was asked for. ``fps`` is how many of its own frames make a second, ``own_axes``
    are those of the format that will be written."""
    wanted = operation_options.wanted_of(options)
    if fps is None and not wanted.keys() - {"max_error"}:
        return scene
    return take_steps(scene, wanted, fps, own_axes)


def _for_gltf(
    options: argparse.Namespace, fps: float | None, source: TextureSource | None, about: dict[str, object]
) -> dict[str, Any]:
    """The options of the exporter. Images come from the folders that the user named, and from that of the file."""
    chosen: dict[str, Any] = {"source": about}
    if options.core_only:
        chosen["core_only"] = True
    chosen["images"] = no_images if source is None else Pictures(source)
    if options.unit is not None:
        chosen["unit"] = options.unit
    if options.keys is not None:
        chosen["keys"] = options.keys
    if fps is not None:
        chosen["fps"] = fps
    return chosen


def _source(item: Input, opened: OpenedFile) -> dict[str, object]:
    return source_note(os.path.basename(item.relative), sha256(opened.data).hexdigest(), opened)


def _write_report(options: argparse.Namespace, records: list[dict[str, object]]) -> bool:
    content = {"schema": SCHEMA, "schema_version": SCHEMA_VERSION, "files": records}
    text = json.dumps(content, allow_nan=False, indent=1) + "\n"
    try:
        write_text(options.report, text, force=options.force)
    except FormatError as error:
        failure(options.report, error)
        return False
    return True


class Progress:
    """The file at work and how many are done, on a terminal only."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._on = not options.quiet and sys.stderr.isatty()
        self._done = 0

    def show(self, name: str) -> None:
        if self._on:
            print(f"\r\x1b[K{self._done} done, {shown_name(name)[-60:]}", end="", file=sys.stderr, flush=True)
        self._done += 1

    def clear(self) -> None:
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
