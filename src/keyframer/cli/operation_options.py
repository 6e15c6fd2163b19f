"""Operations on the way from one file to another: arguments of ``keyframer convert``, applied in a fixed order."""

from __future__ import annotations

import argparse
from argparse import ArgumentTypeError
from collections.abc import Callable

from keyframer.exchange import KEY_STYLES

LENGTHS = ("mm", "cm", "m", "km", "inch", "foot", "file")
AXES = ("x-up", "x-up-left", "y-up", "y-up-left", "z-up", "z-up-left")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("on the way (in this order)")
    group.add_argument("--merge", metavar="FILE", help="move the model or skeleton of this file, by names of nodes")
    group.add_argument(
        "--node",
        action="append",
        default=[],
        metavar="NAME",
        help="just this node and what hangs on it (* and ? match)",
    )
    group.add_argument("--cut", metavar="A:B", help="frames A to B, which become 0 to B - A")
    group.add_argument("--reverse", action="store_true", help="play it backwards")
    group.add_argument("--rate", type=rate, metavar="N", help="count N frames a second; the motion takes the same time")
    group.add_argument("--scale", type=factor, metavar="X", help="all lengths times X")
    group.add_argument(
        "--axes",
        choices=AXES,
        help="write the numbers in these axes (right-handed unless it says left) instead of the format's own: for "
        "programs that expect them so, or to stand up what lies down",
    )


def add_models(group: argparse._ArgumentGroup) -> None:
    """What becomes of the models in a stage archive that is written again: short for two options of --write."""
    group.add_argument(
        "--models",
        dest="write",
        action="append",
        type=_models,
        metavar="{keep,gltf}",
        help="the models of a show (.mvr) or fixture (.gdtf) that is written again: as they are (the default), or as "
        "glTF; short for --write models=gltf",
    )
    group.add_argument(
        "--replace",
        dest="write",
        action="append_const",
        const="replace=true",
        help="write the models of a fixture instead of the old ones, not beside them",
    )


def _models(text: str) -> str:
    if text not in ("keep", "gltf"):
        raise argparse.ArgumentTypeError(f"keep or gltf is wanted, not {text!r}")
    return f"models={text}"


def add_keys(group: argparse._ArgumentGroup) -> None:
    """How the keys of glTF files are written, for the commands that write them."""
    group.add_argument(
        "--keys",
        choices=KEY_STYLES,
        help="how curves are written to glTF: linear keys where --max-error needs them (the default; every player "
        "shows them alike), cubic splines with the fewest keys (Blender ignores their tangents), or a key for each "
        "frame",
    )


def number(least: float, most: float) -> Callable[[str], float]:
    """The type of an argument that is a number of this range: what is beyond cannot be meant."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise ArgumentTypeError(f"{text!r} is not a number from {least:g} to {most:g}")
        return value

    return read


factor = number(1e-9, 1e9)
"""lengths"""
rate = number(1e-3, 1e5)
"""frames a second"""
share = number(1e-8, 1.0)
"""errors, of the scene's size: single precision, which most formats have, ends at 6e-8"""
LONGEST = 1e7
"""frames from 0, four days of them: where motion may begin and end"""
frame = number(-LONGEST, LONGEST)


def unit(text: str) -> str | float:
    """A length of the command line: the name of one, or metres."""
    return text if text in LENGTHS else factor(text)


def cut_of(options: argparse.Namespace) -> tuple[float, float] | None:
    """The frames of ``--cut``; ValueError where they are none."""
    if options.cut is None:
        return None
    first, mark, last = options.cut.partition(":")
    try:
        if not mark or not -LONGEST <= float(first) < float(last) <= LONGEST:
            raise ValueError
        return float(first), float(last)
    except ValueError:
        allowed = f"from {-LONGEST:g} to {LONGEST:g}, the earlier first"
        raise ValueError(f"--cut wants two frames A:B {allowed}, not {options.cut!r}") from None


def wanted_of(options: argparse.Namespace) -> dict[str, object]:
    """Return the chosen operations as `keyframer.operating.operation_sequence.take_steps` expects them; raises
    ValueError if they contradict each other."""
    names = ("merge", "node", "reverse", "rate", "scale", "axes", "max_error")
    found = {name: getattr(options, name) for name in names} | {"cut": cut_of(options)}
    return {name: value for name, value in found.items() if value is not None and value is not False and value != []}
