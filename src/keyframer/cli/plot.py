"""``keyframer plot``: draw curves and keys, or the path of a node, as SVG, PNG or text."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence

from keyframer.cli import inputs, output_style, outputs, scene_loading
from keyframer.cli.each_input import LOAD_FAILURES, EachInput
from keyframer.cli.inputs import Input
from keyframer.cli.messages import note, shown_name
from keyframer.errors import FormatError
from keyframer.inspecting.charts import chart, panels_as_text
from keyframer.inspecting.motion_paths import motion_paths, path_drawing, paths_as_text
from keyframer.inspecting.panels import Panel, chosen_panels
from keyframer.operations import reading_options
from keyframer.scene import Scene

ABOUT = """Draw curves with keys, tangents, ease and wrap as SVG, PNG or text.

Without -o, the plot is drawn as text if stdout is a terminal, else it is
written as SVG to stdout.

Without --node and --track all tracks with several keys are plotted, up to
--most panels, in the units of the file. Rotations are shown as angles about the
three axes in degrees, without jumps. --motion draws the path of nodes in space
instead."""

_LATEST = 1e11
"""latest time of a plot, in the unit of the file: a frame may have 4,800 ticks"""

EXAMPLES = (
    "keyframer plot scene.3ds --node Rotor -o rotor.svg",
    "keyframer plot scene.3ds --track position --terminal",
    "keyframer plot scene.3ds --motion --node Camera01 -o path.png",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    reading_options.add_scene_arguments(parser)
    what = parser.add_argument_group("what to plot")
    reading_options.add_clip(what)
    what.add_argument(
        "--node", action="append", default=[], metavar="NAME", help="a node, or a pattern such as 'Sail*'"
    )
    what.add_argument(
        "--track", action="append", default=[], metavar="KIND", help="position, rotation, scale, fov …, or raw"
    )
    what.add_argument("--span", metavar="A:B", help="range of time, in the time unit of the file")
    what.add_argument("--motion", action="store_true", help="draw the path of nodes in space instead of curves")
    what.add_argument(
        "--most", type=int, default=24, metavar="N", help="maximum number of panels or paths (default: 24)"
    )
    what.add_argument("--terminal", action="store_true", help="draw as text on stdout (the default in a terminal)")
    what.add_argument("--no-color", action="store_true", help="no colours in the terminal (NO_COLOR does the same)")
    outputs.add_arguments(parser, required=False, suffix=".svg")
    parser.add_argument(
        "--to", choices=("svg", "png"), help="image format, if the extension of OUT does not determine it"
    )


def run(options: argparse.Namespace) -> int:
    inputs.require_input(options)
    if options.output is None and options.to is None and sys.stdout.isatty():
        options.terminal = True
    if options.output is None and not options.terminal and inputs.names_several_inputs(options):
        options.parser.error("several files need -o: a folder, or a suffix such as .svg")
    if not 1 <= options.most <= 1_000:
        options.parser.error("--most must be from 1 to 1000")
    kind = _kind(options)
    if kind == "png" and options.output is None and not options.terminal and sys.stdout.isatty():
        options.parser.error("a PNG cannot be shown in a terminal: give a file with -o, or use --terminal")
    try:
        span = _span(options.span)
    except ValueError as error:
        options.parser.error(str(error))
    out = outputs.Output(options, lambda name: f"{name}.{kind}", "" if options.terminal else "plot")
    each = EachInput(options, inputs.LOADABLE, (*LOAD_FAILURES, LookupError))

    def plot(item: Input) -> bytes | list[str]:
        return _plot(item, options, kind, span)

    return outputs.write_each(options, out, each, plot)


def _kind(options: argparse.Namespace) -> str:
    """Return the kind of picture: from ``--to`` or the extension of OUT, which must not differ; else SVG."""
    out: str = options.output if outputs.has_output_extension(options) else ""
    ending = (os.path.splitext(out)[1] or out).lower()
    kind = ending[1:] if ending.startswith(".") else None
    if kind not in (None, "svg", "png"):
        options.parser.error(f"plots are .svg or .png, not {ending}")
    if kind is not None and options.to not in (None, kind):
        options.parser.error(f"{out} is the name of a {kind} picture, but --to is {options.to}")
    return options.to or kind or "svg"


def _plot(item: Input, options: argparse.Namespace, kind: str, span: tuple[float, float] | None) -> bytes | list[str]:
    scene = scene_loading.load_scene(item, options)
    if options.motion:
        return _motion(item, scene, options, kind, span)
    panels = _panels(item, scene, options, span)
    if options.terminal:
        columns, colored = _terminal(options)
        return [panels_as_text(panels, columns, colored=colored)]
    drawing = chart(panels, shown_name(os.path.basename(item.name)))
    return drawing.png() if kind == "png" else [drawing.svg()]


def _panels(item: Input, scene: Scene, options: argparse.Namespace, span: tuple[float, float] | None) -> list[Panel]:
    panels, count = chosen_panels(scene, options.node, options.track, span, options.most)
    _note_unplotted(item, count, "tracks", "--most, --node and --track choose", options)
    return panels


def _motion(
    item: Input, scene: Scene, options: argparse.Namespace, kind: str, span: tuple[float, float] | None
) -> bytes | list[str]:
    nodes = _moving_nodes(scene, options.node)
    _note_unplotted(item, len(nodes), "nodes", "--most and --node choose", options)
    paths = motion_paths(scene, nodes[: options.most], _frames(scene, span))
    if not paths:
        raise FormatError("SEM_EMPTY_TRACK", 0, "/", "no node moves: there is no path to draw")
    if options.terminal:
        columns, colored = _terminal(options)
        return [paths_as_text(scene, paths, columns, 20, colored=colored)]
    drawing = path_drawing(scene, paths, shown_name(os.path.basename(item.name)))
    return drawing.png() if kind == "png" else [drawing.svg()]


def _moving_nodes(scene: Scene, wanted: Sequence[str]) -> list[int]:
    """Return the chosen nodes, or all nodes with a position track of more than one key."""
    if not wanted:
        channels = scene.clips[0].channels if scene.clips else []
        moving = (c.node for c in channels if c.track.kind == "position" and len(c.track.times) > 1)
        return list(dict.fromkeys(moving))
    return list(dict.fromkeys(number for name in wanted for number in scene.find_all(name)))


def _frames(scene: Scene, span: tuple[float, float] | None) -> list[float]:
    """Return evenly spaced times in frames, over the range or the clip: about one per frame, at most 1,001."""
    if not scene.clips:
        return [0.0]
    clip = scene.clips[0]
    scale = clip.units_per_frame or 1.0
    first, last = (part / scale for part in span or (clip.start, max(clip.start, clip.end)))
    count = int(min(max(round(last - first), 1), 1_000))
    return [first + (last - first) * at / count for at in range(count + 1)]


def _note_unplotted(item: Input, count: int, noun: str, hint: str, options: argparse.Namespace) -> None:
    if count > options.most:
        note(options, f"{item.name}: plotting {options.most} of {count} {noun} ({hint})")


def _span(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        first, last = (float(part) for part in text.split(":"))
    except ValueError:
        raise ValueError(f"--span needs two times such as 0:100, not {text!r}") from None
    if not -_LATEST <= first < last <= _LATEST:
        allowed = f"from {-_LATEST:g} to {_LATEST:g}, the earlier first"
        raise ValueError(f"--span needs two times A:B {allowed}, not {text!r}")
    return first, last


def _terminal(options: argparse.Namespace) -> tuple[int, bool]:
    """Return the width of the terminal and whether to use colours."""
    return min(shutil.get_terminal_size((80, 24)).columns, 200), not output_style.is_plain(options)
