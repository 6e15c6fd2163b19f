"""``keyframer diff``: compare the content and the motion of two files."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from keyframer.cli import inputs, output_style, scene_loading
from keyframer.cli.each_input import LOAD_FAILURES, READ_FAILURES, budget_for
from keyframer.cli.exit_handling import FINDINGS, INPUTS_FAILED, SUCCESS
from keyframer.cli.inputs import Input
from keyframer.cli.messages import error_record, failure, note, one_line, shown_name
from keyframer.cli.outputs import refused, write_file
from keyframer.errors import FormatError
from keyframer.exchange.opening import OpenedFile
from keyframer.formats.kit.summary_tables import Cell, Table
from keyframer.inspecting.charts import chart
from keyframer.inspecting.comparison import COLUMNS, SCHEMA, SCHEMA_VERSION, Comparison, compare, side_of
from keyframer.inspecting.listing import Listing
from keyframer.inspecting.motion_diff import motion_panels
from keyframer.inspecting.tables import aligned
from keyframer.operations import reading_options
from keyframer.scene import Scene
from keyframer.text import counted, safe_text

ABOUT = """Compare two files, of the same format or of different ones.

Structure: records added, removed, changed and moved, with their paths; for two
glTF files the values of their JSON and the bytes of their buffer views. Files
of different formats are compared as scenes (nodes, meshes, materials, tracks).
Motion: the largest and the mean difference of each node over time. The exit
code is 0 if the files are equal and 1 if they differ."""

EXAMPLES = (
    "keyframer diff old.3ds new.3ds",
    "keyframer diff scene.3ds scene.u3d --what motion --tolerance 0.01",
    "keyframer diff old.3ds new.3ds --plot difference.svg --format json",
)

_SHOWN = 40
"""maximum number of differences listed in pretty output"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs=2, metavar="FILE", help="a file, ARCHIVE!/MEMBER, or - for stdin")
    reading_options.add_scene_arguments(parser)
    what = parser.add_argument_group("what to compare")
    reading_options.add_clip(what)
    what.add_argument(
        "--what", choices=("all", "structure", "motion"), default="all", help="what to compare (default: all)"
    )
    what.add_argument(
        "--tolerance",
        type=_non_negative,
        metavar="UNITS",
        help="distances below this are treated as equal (default: 1e-5 of the size of the scene)",
    )
    what.add_argument(
        "--tolerance-degrees",
        type=_non_negative,
        metavar="DEGREES",
        help="angles below this are treated as equal (default: 0.01)",
    )
    output_style.add_arguments(parser)
    plot = parser.add_argument_group("plot")
    plot.add_argument("--plot", metavar="OUT", help="draw the difference of the motion over time, as .svg or .png")
    plot.add_argument("-f", "--force", action="store_true", help="overwrite an existing plot")


def _non_negative(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= 0 or math.isinf(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return value


def run(options: argparse.Namespace) -> int:
    options.recursive, options.all_files, options.files_from = False, True, None
    items = list(inputs.inputs_of(options))
    if len(items) != 2:
        options.parser.error(
            "give exactly two files (an archive stands for all its members: choose one with ARCHIVE!/MEMBER)"
        )
    if options.plot is not None and os.path.splitext(options.plot)[1].lower() not in (".svg", ".png"):
        options.parser.error("--plot needs a name that ends in .svg or .png")
    listing = Listing(sys.stdout.write, options.format, SCHEMA, SCHEMA_VERSION, COLUMNS, key="comparisons")
    names = {"a": safe_text(items[0].name), "b": safe_text(items[1].name)}
    with budget_for(options):
        return _compare(items, names, listing, options)


def _compare(items: list[Input], names: dict[str, str], listing: Listing, options: argparse.Namespace) -> int:
    opened: list[OpenedFile] = []
    errors: list[Exception] = []
    for item in items:
        try:
            opened.append(_open(item, options))
        except READ_FAILURES as error:
            failure(item.name, error)
            errors.append(error)
    if errors:
        listing.json({**names, "error": error_record(errors[0])})
        listing.close()
        return INPUTS_FAILED
    sides = [side_of(file) for file in opened]
    scenes, failed = _scenes(items, opened, options)
    compared = partial(
        compare,
        (sides[0], sides[1]),
        structure=options.what != "motion",
        tolerance=options.tolerance,
        degrees=options.tolerance_degrees,
    )
    try:
        comparison = compared(scenes)
    except FormatError as error:  # a limit was exceeded
        note(options, f"the scenes are not compared: {one_line(error)}")
        comparison, failed = compared(None), True
    _show(listing, items, comparison, names, options)
    listing.close()
    code = SUCCESS if comparison.same else FINDINGS
    if failed and comparison.same:
        code = INPUTS_FAILED
    if options.plot is not None and not _plot(items, comparison, options):
        code = INPUTS_FAILED
    options.salvaged = False  # exit code 1 means only that the files differ
    return code


def _open(item: Input, options: argparse.Namespace) -> OpenedFile:
    """Open an input and check that it can be decoded."""
    opened = scene_loading.open_input(item, options)
    if opened.importer is None:
        _ = opened.document
    else:
        with suppress(ValueError):  # an unknown option: reported when the scene is made
            opened.scene(salvage=True)
    return opened


def _scenes(
    items: list[Input], opened: list[OpenedFile], options: argparse.Namespace
) -> tuple[tuple[Scene, Scene] | None, bool]:
    """Return both scenes or None, and whether loading one of them failed."""
    if options.what == "structure" and opened[0].reader is opened[1].reader:
        return None, False
    scenes: list[Scene] = []
    for item, file in zip(items, opened, strict=True):
        try:
            scenes.append(scene_loading.scene_of_opened(item, file, options))
        except LOAD_FAILURES as error:
            note(options, f"{item.name}: the scenes are not compared: {one_line(error)}")
            return None, True
    return (scenes[0], scenes[1]), False


def _show(
    listing: Listing,
    items: list[Input],
    comparison: Comparison,
    names: dict[str, str],
    options: argparse.Namespace,
) -> None:
    if options.format in ("json", "jsonl"):
        listing.json({**names, **comparison.record()})
    elif options.format in ("csv", "md"):
        for row in comparison.rows():
            listing.row(row)
    else:
        listing.text("\n".join(_pretty(items, comparison)) + "\n")


def _pretty(items: list[Input], comparison: Comparison) -> list[str]:
    lines = [
        f"a: {shown_name(items[0].name)} ({comparison.formats[0]})",
        f"b: {shown_name(items[1].name)} ({comparison.formats[1]})",
    ]
    structure, motion = comparison.structure, comparison.motion
    if structure is not None:
        counts = ", ".join(f"{structure.counts[kind]} {kind}" for kind in ("added", "removed", "changed", "moved"))
        kind = {"records": "records", "values": "values of the JSON", "scene": "parts of the scene"}[comparison.level]
        lines += ["", f"structure ({kind}): {counts if structure.total else 'equal'}"]
        rows: list[Sequence[Cell]] = [row[1:7] for row in comparison.rows() if row[0] == "structure"]
        if rows:
            table = Table("structure", "", ("", "path", "field", "a", "b", "largest"), rows[:_SHOWN])
            lines += [f"  {line}" for line in aligned(table)]
        if len(rows) > _SHOWN or structure.truncated:
            lines.append(f"  … and more ({structure.total} in all; --format json lists up to 1000)")
    if motion is not None:
        span = f"{counted(len(motion.times), 'sample')}, {motion.unit} {motion.times[0]:g} to {motion.times[-1]:g}"
        different = len(comparison.nodes_with_different_motion)
        lines += ["", f"motion ({span}): {different} of {counted(len(motion.nodes), 'node')} different"]
        rows = [[row[2], row[3] or row[1], row[6], row[7]] for row in comparison.rows() if row[0] == "motion"]
        if rows:
            table = Table("motion", "", ("node", "what", "largest", "mean"), rows[:_SHOWN])
            lines += [f"  {line}" for line in aligned(table)]
        if len(rows) > _SHOWN:
            lines.append(f"  … and {len(rows) - _SHOWN} more")
    return lines


def _plot(items: list[Input], comparison: Comparison, options: argparse.Namespace) -> bool:
    """Write the plot; returns whether that succeeded."""
    try:
        if comparison.motion is None:
            raise refused("no motion to plot (--what structure was given, or the scenes could not be compared)")
        panels = motion_panels(comparison.motion, comparison.tolerance, comparison.degrees)
        drawing = chart(panels, " and ".join(os.path.basename(item.name) for item in items))
        data = drawing.png() if options.plot.lower().endswith(".png") else drawing.svg().encode()
        write_file(options.plot, data, force=options.force)
    except FormatError as error:
        failure(options.plot, error)
        return False
    return True
