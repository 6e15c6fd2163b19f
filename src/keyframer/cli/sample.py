"""``keyframer sample``: compute the world transform of every node at given times."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Sequence

import numpy as np

from keyframer.cli import inputs, outputs, scene_loading
from keyframer.cli.each_input import READ_FAILURES, budget_for
from keyframer.cli.exit_handling import INPUTS_FAILED, SUCCESS
from keyframer.cli.messages import failure, note
from keyframer.formats.kit.summary_tables import Cell, Table
from keyframer.inspecting.samples import Sample, parse_frames
from keyframer.inspecting.tables import aligned
from keyframer.operations import reading_options

ABOUT = """Compute the world transform of every node at given times.

The table and CSV have world position, rotation, scale and visibility. JSON has
world matrices, visibility, fields of view, colours, morph weights and raw
channels: numbers per frame with unknown meaning. --format npz writes numpy
arrays (frames, times, names, world, visible, raw_0 ...) to the file given with
-o. Without --frames and --times whole frames are sampled, at most 101. Matrices
are for column vectors, stored row by row, in the axes and units of the file
unless --axes is given."""

EXAMPLES = (
    "keyframer sample scene.3ds --frames 0:100:5",
    "keyframer sample scene.3ds --times 0,0.5,1 --node Rotor --format csv",
    "keyframer sample scene.3ds --format npz -o scene.npz",
    "keyframer sample walk.anim --skeleton man.skel --set in_place=true",
)

STYLES = ("pretty", "csv", "json", "npz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    reading_options.add_scene_arguments(parser)
    what = parser.add_argument_group("what to sample")
    reading_options.add_clip(what)
    moments = what.add_mutually_exclusive_group()
    moments.add_argument("--frames", metavar="LIST", help="frames: 0:100:5 (the end is included) or 3.5,7")
    moments.add_argument("--times", metavar="LIST", help="seconds: 0:2:0.1 (the end is included) or 0.5,1")
    what.add_argument("--node", action="append", default=[], metavar="NAME", help="only this node (may be repeated)")
    what.add_argument("--axes", choices=("file", "y-up"), default="file", help="axes of the file, or right-handed Y up")
    output = parser.add_argument_group("output")
    output.add_argument("--format", choices=STYLES, default="pretty", help="style of the output (default: pretty)")
    output.add_argument("--no-color", action="store_true", help="no colours (NO_COLOR does the same)")
    output.add_argument("-o", "--output", metavar="OUT", help="write to a file instead of stdout (required for npz)")
    output.add_argument("-f", "--force", action="store_true", help="overwrite an existing file")


def run(options: argparse.Namespace) -> int:
    items = list(inputs.inputs_of(options, inputs.LOADABLE))
    if len(items) != 1:
        options.parser.error("only one FILE can be sampled at a time" if items else "no input: give a FILE")
    if options.format == "npz" and options.output in (None, outputs.STDOUT):
        options.parser.error("npz cannot be shown as text: give a file with -o")
    try:
        frames = parse_frames(options.frames) if options.frames is not None else None
        times = parse_frames(options.times) if options.times is not None else None
    except ValueError as error:
        options.parser.error(str(error))
    item = items[0]
    try:
        with budget_for(options, item):
            scene = scene_loading.load_scene(item, options)
            sample = Sample(scene, frames=frames, times=times, nodes=options.node, axes=options.axes)
            _write(sample, options)
    except (*READ_FAILURES, LookupError) as error:
        failure(item.name, error)
        return INPUTS_FAILED
    except ValueError as error:  # an unknown option, or too many samples
        options.parser.error(str(error))
    if frames is None and times is None and len(sample.pose.frames) > 1:
        step = sample.pose.frames[1] - sample.pose.frames[0]
        if step > 1:
            note(options, f"{item.name}: sampled every {step:g} frames (--frames or --times chooses others)")
    for issue in scene.issues:
        if not issue.unsafe:
            note(options, f"{item.name}: {issue}")
    return SUCCESS


def _write(sample: Sample, options: argparse.Namespace) -> None:
    if options.format == "npz":
        outputs.write_file(options.output, _npz(sample), force=options.force)
    else:
        text = {"json": _json, "csv": Sample.csv, "pretty": _pretty}[options.format](sample)
        outputs.write_text(options.output, text, force=options.force)


def _json(sample: Sample) -> str:
    return json.dumps(sample.record(), allow_nan=False) + "\n"


def _pretty(sample: Sample) -> str:
    columns = ("frame", "node", "x", "y", "z", "qx", "qy", "qz", "qw", "scale", "visible")
    rows: list[Sequence[Cell]] = []
    for frame, _, node, x, y, z, qx, qy, qz, qw, sx, sy, sz, visible in sample.rows():
        place = [_short(number) for number in (x, y, z, qx, qy, qz, qw)]
        rows.append([frame, node, *place, " ".join(f"{part:.4g}" for part in (sx, sy, sz)), visible])
    return "\n".join(aligned(Table("sample", "sample", columns, rows))) + "\n"


def _short(number: float | str) -> str:
    """Format with four decimals; normalises -0.0."""
    return f"{round(float(number), 4) + 0.0:.4f}"


def _npz(sample: Sample) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **sample.arrays())  # type: ignore[arg-type]
    return stream.getvalue()
