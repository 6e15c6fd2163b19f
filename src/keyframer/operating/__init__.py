"""Operations on scenes: each returns the changed scene and leaves its argument unchanged.

from keyframer import operating

scene = operating.cut(scene, 10, 50)
scene = operating.change_axes(scene, up="y")

`apply_operations` applies several, as in ``keyframer convert``; `keep_clip` chooses one of several clips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from keyframer.errors import FormatError
from keyframer.exchange.opening import load
from keyframer.operating.node_selection import change_axes, choose_nodes, merge, scale
from keyframer.operating.timing import change_rate, cut, reverse
from keyframer.posing.bounds_and_duration import clip_span
from keyframer.scene import Handedness, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import did_you_mean

__all__ = ["change_axes", "change_rate", "choose_nodes", "cut", "merge", "reverse", "scale"]

_NAMED = 8
"""maximum number of clips listed in a message"""


def apply_operations(
    scene: Scene,
    wanted: Mapping[str, Any],
    fps: float | None = None,
    format_axes: tuple[str, str] | None = None,
    report: LossReport | None = None,
) -> Scene:
    """Return the scene after the chosen operations, in this order: ``merge`` (a path), ``node`` (patterns), ``cut``
    (two frames), ``reverse``, ``rate``, ``scale``, ``axes`` (``y-up``, ``z-up-left`` …).

    ``max_error`` is for operations that fit curves; ``fps`` replaces the frame rate of the first clip. ``format_axes``
    are the axes of the output format (`Exporter.axes`): the file will have numbers in the wanted axes, although readers
    assume those of the format. ``report`` gets an entry for multiplied lengths, and for a cut beyond the clip, which is
    limited to it. Raises ValueError for an operation that is impossible.
    """
    report = LossReport("") if report is None else report
    if fps is not None and scene.clips:
        clip = scene.clips[0]
        scene = replace(scene, clips=[replace(clip, rate=fps * (clip.units_per_frame or 1.0)), *scene.clips[1:]])
    fit_options = {} if wanted.get("max_error") is None else {"max_error": wanted["max_error"]}
    if wanted.get("merge") is not None:
        scene = merge(scene, load(wanted["merge"]))
    if wanted.get("node"):
        try:
            scene = choose_nodes(scene, wanted["node"])
        except LookupError as error:
            raise ValueError(str(error.args[0])) from None
    if wanted.get("cut") is not None:
        first, last = wanted["cut"]
        first, last = _within_clip(scene, first, last, report)
        scene = cut(scene, first, last, **fit_options)
    if wanted.get("reverse"):
        scene = reverse(scene, **fit_options)
    if wanted.get("rate") is not None:
        scene = change_rate(scene, wanted["rate"])
    if wanted.get("scale") is not None:
        scene = scale(scene, wanted["scale"])
        unit = scene.space.metres_per_unit
        kept = "the unit stays unknown" if unit is None else f"a unit is still {unit:g} m"
        report.add(Outcome.BAKED, "/space", f"all lengths were multiplied by {wanted['scale']:g}; {kept}")
    if wanted.get("axes") is not None:
        up, _, hand = wanted["axes"].partition("-up")
        scene = change_axes(scene, up=up, handedness=hand.removeprefix("-") or "right")
        if format_axes is not None:
            space = replace(scene.space, up=format_axes[0], handedness=Handedness(format_axes[1]))
            scene = replace(scene, space=space)
    return scene


def _within_clip(scene: Scene, first: float, last: float, report: LossReport) -> tuple[float, float]:
    """Return the frames of a cut, limited to those of the clip; raises ValueError if none is left."""
    if not scene.clips:
        return first, last
    begin, end = (time / (scene.clips[0].units_per_frame or 1.0) for time in clip_span(scene.clips[0]))
    if not (first < end and last > begin):
        raise ValueError(f"frames {first:g} to {last:g} are outside the clip, which has frames {begin:g} to {end:g}")
    if first < begin or last > end:
        first, last = max(first, begin), min(last, end)
        message = f"the clip has frames {begin:g} to {end:g}: frames {first:g} to {last:g} were kept"
        report.add(Outcome.APPROXIMATED, "/clips/cut", message)
    return first, last


def listed_clips(scene: Scene) -> str:
    """Return the names of the first clips, for messages."""
    names = [clip.name or "(unnamed)" for clip in scene.clips[:_NAMED]]
    return ", ".join(names) + (" …" if len(scene.clips) > _NAMED else "") or "none"


def keep_clip(scene: Scene, wanted: str) -> None:
    """Keep only the clip of this name, or of this number counted from 1; raises FormatError if there is none."""
    names = [clip.name for clip in scene.clips]
    index = names.index(wanted) if wanted in names else _index_of(wanted)
    if not 0 <= index < len(names):
        message = f"no clip is named {wanted!r} (available: {listed_clips(scene)}){did_you_mean(wanted, names)}"
        raise FormatError("LINK_UNRESOLVED_NAME", 0, "/", message)
    scene.clips = [scene.clips[index]]


def _index_of(text: str) -> int:
    """Return the index for a number counted from 1; -1 for other text."""
    return int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 9 else -1
