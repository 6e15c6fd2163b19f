"""Converting a file to one of today's formats, or to another of ours."""

from __future__ import annotations

import argparse
import math
import os
from argparse import ArgumentTypeError
from collections.abc import Mapping
from typing import Any

from keyframer.exchange import DEFAULT_EXPORTER, EXPORTERS, exporter_for
from keyframer.exchange.contract import LENGTH, MAX_ERROR, UNITS
from keyframer.operations import READING, Operation, WorkFile, reading_options
from keyframer.operations.reading_options import LAST_FRAME, factor, rate, share

LENGTHS = (*UNITS, "file")
AXES = ("x-up", "x-up-left", "y-up", "y-up-left", "z-up", "z-up-left")
SAVING = (*DEFAULT_EXPORTER.preload, "keyframer.exchange.conversion")
"""modules that write what most conversions write"""


class Convert(Operation):
    name = "convert"
    help = "convert every file to glTF 2.0 or another format"
    loads = (*READING, *SAVING)
    plain = ("to", "fps", "dialect", "max_error")
    reads_scenes = finds_images = replaces_extension = True

    def add_own_options(self, parser: argparse.ArgumentParser, *, in_batch: bool) -> None:
        parser.set_defaults(reads_fps=False)  # --fps is set after loading, also for formats that store a frame rate
        _add_writing(parser)
        _add_steps(parser)

    def own_values(self, options: argparse.Namespace) -> dict[str, Any]:
        return {"steps": _steps(options), "write": dict(options.write)}

    def suffix(self, values: Mapping[str, Any]) -> str:
        """Return the suffix without loading the code of the format."""
        exporter, dialect = exporter_for("", values.get("to") or DEFAULT_EXPORTER.name), values.get("dialect")
        extension = exporter.extension(None if dialect is None else str(dialect))
        exporter.options_from_text(values.get("write") or {})
        return extension

    def skipped_extensions(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return those of the written format if it is one of today's: earlier outputs may be in the same folder."""
        exporter = exporter_for("", values.get("to") or DEFAULT_EXPORTER.name)
        return exporter.extensions if exporter.takes_images else ()

    def perform(self, file: WorkFile) -> None:
        """Write a file in another format and report losses: first those of the edits."""
        from keyframer.scene.loss_report import LossReport, Outcome

        values, scene = file.values, file.scene()
        steps, fps, max_error = values.get("steps") or {}, values.get("fps"), values.get("max_error")
        exporter = exporter_for(file.output, values.get("to", DEFAULT_EXPORTER.name), scene.source_format)
        save_options = {"textures": file.textures(), "dialect": values.get("dialect"), "max_error": max_error}
        save_options |= exporter.options_from_text(values.get("write") or {})
        if exporter.takes_images and fps is not None:
            save_options["fps"], fps = fps, None
        changes = LossReport(exporter.name)
        if "merge" in steps:
            file.depend_on(steps["merge"])
        if steps or fps is not None:
            from keyframer.editing import apply_edits

            scene = apply_edits(scene, {**steps, "max_error": max_error}, fps, exporter.axes, changes)
        report = file.save(scene, exporter, **save_options)
        report.losses[:0] = changes.losses
        for change in changes:
            file.note(change.detail)
        losses = {outcome.value: report.count(outcome) for outcome in Outcome}
        file.details = {"losses": losses, "loss_codes": report.counts(), "measured": dict(report.measured)}


def _add_writing(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the written format: those of all formats, and the flags that exporters declare."""
    group = parser.add_argument_group("format")
    ids = [known.name for known in EXPORTERS]
    group.add_argument(
        "--to",
        metavar="ID",
        choices=ids,
        help="format to write (default: by the extension of OUT, and that of the input if several have this "
        f"extension; {DEFAULT_EXPORTER.name} if OUT is a folder): {', '.join(ids)}",
    )
    dialects = "; ".join(f"{known.name}: {', '.join(known.dialects)}" for known in EXPORTERS if known.dialects)
    group.add_argument("--dialect", metavar="NAME", help=f"layout to write; {dialects} (see docs/converting.md)")
    group.add_argument(
        "--write",
        action="append",
        type=reading_options.pair,
        default=[],
        metavar="NAME=VALUE",
        help="an option of the output format, such as fps=24 (see docs/converting.md)",
    )
    group.add_argument(
        "--max-error",
        type=share,
        metavar="X",
        help=MAX_ERROR.meaning,
    )
    declared = {option.name: option for known in EXPORTERS for option in known.options if option.is_flag}
    for option in declared.values():
        if option.name in ("fps", "max_error"):  # of all formats
            continue
        group.add_argument(
            f"--{option.name.replace('_', '-')}",
            dest="write",
            action=_WriteAction,
            nargs=0 if option.type == "bool" else None,
            type=_length if option.type == LENGTH else str,
            choices=option.choices,
            metavar="LENGTH" if option.type == LENGTH else None,
            help=option.meaning,
        )


class _WriteAction(argparse.Action):
    """A flag that is short for ``--write NAME=VALUE``."""

    def __call__(self, parser: object, namespace: argparse.Namespace, value: object, flag: str | None = None) -> None:
        name = self.option_strings[0].strip("-").replace("-", "_")
        namespace.write = [*namespace.write, (name, "true" if self.nargs == 0 else value)]


def _add_steps(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("edits (in this order)")
    group.add_argument(
        "--merge", metavar="FILE", help="apply the motion to the model or skeleton of this file, matched by node names"
    )
    group.add_argument(
        "--node",
        action="append",
        default=[],
        metavar="NAME",
        help="keep only this node and its descendants (* and ? are wildcards)",
    )
    group.add_argument(
        "--move",
        action="append",
        type=_move,
        default=[],
        metavar="NAME=X,Y,Z",
        help="move the node of this name with all of its motion, in the coordinates of its parent (may be repeated)",
    )
    group.add_argument(
        "--cut",
        metavar="A:B",
        help="keep frames A to B of the clip, renumbered from 0; active: the frames that the file plays",
    )
    group.add_argument("--reverse", action="store_true", help="reverse the motion")
    group.add_argument(
        "--rate",
        type=rate,
        metavar="N",
        help="change to N frames per second; the duration stays the same. Formats without a frame rate "
        "are written for 30, or that of --write fps=N, which their readers must be told",
    )
    group.add_argument("--scale", type=factor, metavar="X", help="multiply all lengths by X; the unit stays the same")
    group.add_argument(
        "--axes",
        choices=AXES,
        metavar="AXES",
        help=f"{', '.join(AXES)}: write these axes (right-handed unless left) instead of those of the format: "
        "for programs that expect them, or to set a scene upright that lies on its side",
    )


def _move(text: str) -> tuple[str, list[float]]:
    name, _, vector = text.rpartition("=")
    try:
        by = [float(number) for number in vector.split(",")]
        if not name or len(by) != 3 or not all(map(math.isfinite, by)):
            raise ValueError
    except ValueError:
        raise ArgumentTypeError(f"expected NAME=X,Y,Z with three numbers, not {text[:80]!r}") from None
    return name, by


def _length(text: str) -> str | float:
    """Parse a length: the name of a unit, or a number of metres."""
    return text if text in LENGTHS else factor(text)


def _steps(options: argparse.Namespace) -> dict[str, Any]:
    """Return the chosen edits as `keyframer.editing.apply_edits` expects them; raises ValueError if ``--cut`` is
    invalid."""
    names = ("node", "move", "reverse", "rate", "scale", "axes")
    given = {"merge": options.merge and os.path.abspath(options.merge), "cut": _cut(options.cut)}
    given |= {name: getattr(options, name) for name in names}
    return {name: value for name, value in given.items() if value not in (None, False, [])}


def _cut(text: str | None) -> list[float] | str | None:
    if text is None or text == "active":
        return text
    first, mark, last = text.partition(":")
    try:
        if not mark or not -LAST_FRAME <= float(first) < float(last) <= LAST_FRAME:
            raise ValueError
        return [float(first), float(last)]
    except ValueError:
        allowed = f"from {-LAST_FRAME:g} to {LAST_FRAME:g}, the earlier first"
        raise ValueError(f"--cut needs active, or two frames A:B {allowed}, not {text!r}") from None
