"""The arguments of ``keyframer convert`` for operations on the scene, which have a fixed order, and for its outputs."""

from __future__ import annotations

import argparse

from keyframer.cli.reading_options import LAST_FRAME, factor, rate, share
from keyframer.exchange import EXPORTERS
from keyframer.exchange.gltf import KEY_STYLES

LENGTHS = ("mm", "cm", "m", "km", "inch", "foot", "file")
AXES = ("x-up", "x-up-left", "y-up", "y-up-left", "z-up", "z-up-left")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("operations (in this order)")
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
    group.add_argument("--cut", metavar="A:B", help="keep frames A to B of the clip, renumbered from 0")
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


def add_writing(group: argparse._ArgumentGroup) -> None:
    """Add the arguments for outputs. ``--models`` and ``--replace`` are short for options of ``--write``."""
    dialects = "; ".join(f"{known.name}: {', '.join(known.dialects)}" for known in EXPORTERS if known.dialects)
    group.add_argument("--dialect", metavar="NAME", help=f"layout to write; {dialects} (see docs/converting.md)")
    group.add_argument(
        "--write",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the output format, such as fps=24 (see docs/converting.md)",
    )
    group.add_argument(
        "--max-error",
        type=share,
        metavar="X",
        help="largest error of sampled motion, as a fraction of the size of the scene (default: 1e-4, which also "
        "allows rotations an error of 0.01 degrees; both scale together)",
    )
    group.add_argument(
        "--keys",
        choices=KEY_STYLES,
        help="keys in glTF: linear keys as needed for --max-error (the default; all players agree on them), cubic "
        "splines where they are exact (Blender ignores their tangents), or one key per frame",
    )
    group.add_argument(
        "--models",
        dest="write",
        action="append",
        type=_models,
        metavar="{keep,gltf}",
        help="when a show (.mvr) or fixture (.gdtf) is saved again: keep its models unchanged (default) or convert "
        "them to glTF; short for --write models=keep or models=gltf",
    )
    group.add_argument(
        "--replace",
        dest="write",
        action="append_const",
        const="replace=true",
        help="replace the models of a fixture instead of adding glTF models to them",
    )
    group.add_argument("--core-only", action="store_true", help="write glTF without extensions")
    group.add_argument(
        "--embed-source",
        action="store_true",
        help="embed the source file in glTF: as long as the glTF file is not changed, reading gives the source back "
        "byte for byte, with its authored keys",
    )
    group.add_argument(
        "--unit",
        type=unit,
        metavar="LENGTH",
        help="length of a unit: a number of metres, or mm, cm, m, km, inch, foot, or file for the unit of the file "
        "(default: numbers are not scaled)",
    )


def _models(text: str) -> str:
    if text not in ("keep", "gltf"):
        raise argparse.ArgumentTypeError(f"expected keep or gltf, not {text!r}")
    return f"models={text}"


def unit(text: str) -> str | float:
    """Parse a length: the name of a unit, or a number of metres."""
    return text if text in LENGTHS else factor(text)


def cut_of(options: argparse.Namespace) -> tuple[float, float] | None:
    """Return the frames of ``--cut``; raises ValueError if they are invalid."""
    if options.cut is None:
        return None
    first, mark, last = options.cut.partition(":")
    try:
        if not mark or not -LAST_FRAME <= float(first) < float(last) <= LAST_FRAME:
            raise ValueError
        return float(first), float(last)
    except ValueError:
        allowed = f"from {-LAST_FRAME:g} to {LAST_FRAME:g}, the earlier first"
        raise ValueError(f"--cut needs two frames A:B {allowed}, not {options.cut!r}") from None


def operations_of(options: argparse.Namespace) -> dict[str, object]:
    """Return the chosen operations as `keyframer.operating.operation_sequence.apply_operations` expects them; raises
    ValueError if ``--cut`` is invalid."""
    names = ("merge", "node", "reverse", "rate", "scale", "axes", "max_error")
    given = {name: getattr(options, name) for name in names} | {"cut": cut_of(options)}
    return {name: value for name, value in given.items() if value is not None and value is not False and value != []}
