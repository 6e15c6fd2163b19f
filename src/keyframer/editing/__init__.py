"""Edits of scenes: each returns the changed scene and leaves its argument unchanged.

from keyframer import editing

scene = editing.cut(scene, 10, 50)
scene = editing.change_axes(scene, up="y")

`apply_edits` applies several, as in ``keyframer convert``; `keep_clip` chooses one of several clips.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyframer.editing._results import edit, separate
from keyframer.editing.timing import change_rate, cut, reverse
from keyframer.errors import FormatError
from keyframer.exchange.opening import load
from keyframer.formats.kit.coordinates import in_space
from keyframer.posing.bounds_and_duration import active_segment, clip_span
from keyframer.posing.evaluation_order import evaluation_order, reachable
from keyframer.scene import Channel, Clip, Handedness, Node, NodeKind, Scene, Skin
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import CLIP_RANGE_CHANGED, LENGTHS_CONVERTED
from keyframer.scene.moving import warn_of_overridden
from keyframer.text import did_you_mean


@edit
def choose_nodes(scene: Scene, names: Iterable[str], *, with_children: bool = True) -> Scene:
    """Return the scene with only the nodes of these names or patterns (``Sail*``), with all descendants if
    ``with_children``.

    Their ancestors stay as dummies, so that the motion is unchanged; ancestors that are bones, cameras or lights keep
    their kind. Targets of the chosen nodes and bones of their skins stay, too. Meshes, cameras, lights and skins that
    are no longer used are removed. Raises LookupError for an unknown name.
    """
    parents = evaluation_order(scene.nodes).parents.tolist()
    chosen = {number for name in names for number in scene.find_all(name)}
    if with_children:
        children: dict[int, list[int]] = {}
        for number, parent in enumerate(parents):
            children.setdefault(parent, []).append(number)
        chosen = set(reachable(chosen, lambda number: children.get(number, ())))
    for number in list(chosen):
        node = scene.nodes[number]
        if node.target is not None:
            chosen.add(node.target)
        if node.skin is not None:
            chosen.update(scene.skins[node.skin].joints)
    kept = set(chosen)
    for number in chosen:
        while number >= 0:
            kept.add(number)
            number = parents[number]
    return _with_only(scene, sorted(kept), chosen)


def without_nodes(scene: Scene, numbers: Iterable[int]) -> Scene:
    """Return the scene without some nodes, given by index. Their children become roots, with the same transform."""
    removed = set(numbers)
    kept = [number for number in range(len(scene.nodes)) if number not in removed]
    return _with_only(scene, kept, set(kept))


def _with_only(scene: Scene, kept: list[int], chosen: set[int]) -> Scene:
    """Return the scene with only the ``kept`` nodes, renumbered; those that are not ``chosen`` become dummies."""
    new_nodes = {number: position for position, number in enumerate(kept)}
    nodes = [scene.nodes[number] for number in kept]
    nodes = [node if number in chosen else _as_dummy(node) for number, node in zip(kept, nodes, strict=True)]
    used = {
        name: sorted({value for node in nodes if (value := getattr(node, name)) is not None})
        for name in ("mesh", "camera", "light", "skin")
    }
    numbers = {name: {old: new for new, old in enumerate(values)} for name, values in used.items()}
    kept_nodes = []
    for node in nodes:
        links: dict[str, Any] = {name: _renumbered(getattr(node, name), numbers[name]) for name in numbers}
        links |= {name: _renumbered(getattr(node, name), new_nodes) for name in ("parent", "target")}
        kept_nodes.append(replace(node, **links))
    return replace(
        scene,
        nodes=kept_nodes,
        meshes=[scene.meshes[number] for number in used["mesh"]],
        cameras=[scene.cameras[number] for number in used["camera"]],
        lights=[scene.lights[number] for number in used["light"]],
        skins=[_skin(scene.skins[number], new_nodes) for number in used["skin"]],
        clips=[_with_moved_channels(clip, new_nodes) for clip in scene.clips],
    )


def _with_moved_channels(clip: Clip, new_nodes: dict[int, int]) -> Clip:
    """Return the clip with its channels moved to other nodes; ``new_nodes`` maps old to new numbers.

    Channels of nodes that are not in ``new_nodes`` are left out.
    """
    channels = [
        Channel(new_nodes[channel.node], channel.track) for channel in clip.channels if channel.node in new_nodes
    ]
    return replace(clip, channels=channels)


def _as_dummy(node: Node) -> Node:
    """Return an ancestor of chosen nodes as a dummy without a mesh; cameras and lights stay, bones keep their kind."""
    kind = node.kind if node.kind is NodeKind.BONE else NodeKind.DUMMY
    if node.camera is not None or node.light is not None:
        return node  # children of a camera follow its aim
    return replace(node, kind=kind, mesh=None, skin=None, morph=None, pivot=np.zeros(3))


def _skin(skin: Skin, new_nodes: dict[int, int]) -> Skin:
    return replace(skin, joints=[new_nodes[joint] for joint in skin.joints])


def _renumbered(number: int | None, new_numbers: dict[int, int]) -> int | None:
    return None if number is None else new_numbers.get(number)


def merge(motion: Scene, model: Scene, *, by: str = "name") -> Scene:
    """Return the scene ``model`` with the clips of the scene ``motion``.

    Nodes are paired by name (``by="name"``, ignoring case) or by index (``by="order"``, for files without names). The
    clips are converted to the axes of the model. Nodes without tracks stay as in the model; tracks without a node in
    the model are dropped. Raises ValueError if no track remains.
    """
    if by not in ("name", "order"):
        raise ValueError(f"by must be name or order, not {by!r}")
    converted = in_space(motion, replace(model.space, v_up=motion.space.v_up))
    if by == "name":
        known = {node.name.lower(): number for number, node in reversed(list(enumerate(model.nodes)))}
        new_nodes = {i: known[node.name.lower()] for i, node in enumerate(motion.nodes) if node.name.lower() in known}
    else:
        new_nodes = {number: number for number in range(min(len(motion.nodes), len(model.nodes)))}
    clips = [_with_moved_channels(clip, new_nodes) for clip in converted.clips]
    if not any(clip.channels for clip in clips):
        raise ValueError("no clip has a track for a node of the model")
    return separate(replace(model, clips=clips, origin=None))


def move(scene: Scene, node: int | str, by: ArrayLike) -> Scene:
    """Return the scene with a node moved with all of its motion, as `Scene.move` does."""
    warn_of_overridden(scene, stacklevel=2)
    moved = separate(scene)
    moved.move(node, by)
    return moved


@edit
def scale(scene: Scene, factor: float) -> Scene:
    """Return the scene with all lengths multiplied by ``factor``; the length of its unit stays the same."""
    if not (math.isfinite(factor) and factor > 0):
        raise ValueError(f"expected a positive factor, not {factor}")
    return in_space(scene, scene.space, factor)


@edit
def change_axes(scene: Scene, *, up: str | None = None, handedness: str | Handedness | None = None) -> Scene:
    """Return the scene in other axes: coordinates are exchanged and negated, the picture stays the same.

    Z up becomes Y up by (x, z, -y), left-handed Y up becomes right-handed by (x, y, -z); arguments that are None leave
    that property unchanged.
    """
    hand = scene.space.handedness if handedness is None else Handedness(handedness)
    return in_space(scene, replace(scene.space, up=up or scene.space.up, handedness=hand))


__all__ = ["change_axes", "change_rate", "choose_nodes", "cut", "merge", "move", "reverse", "scale"]

_NAMED = 8
"""maximum number of clips listed in a message"""


def apply_edits(
    scene: Scene,
    wanted: Mapping[str, Any],
    fps: float | None = None,
    format_axes: tuple[str, str] | None = None,
    report: LossReport | None = None,
) -> Scene:
    """Return the scene after the chosen edits, in this order: ``merge`` (a path), ``node`` (patterns), ``move``
    (pairs of a name and a vector), ``cut`` (two frames, or ``active`` for those that the file plays), ``reverse``,
    ``rate``, ``scale``, ``axes`` (``y-up``, ``z-up-left`` …).

    ``max_error`` is for edits that fit curves; ``fps`` replaces the frame rate of the first clip. ``format_axes``
    are the axes of the output format (`Exporter.axes`): the file will have numbers in the wanted axes, although readers
    assume those of the format. ``report`` gets an entry for multiplied lengths, and for a cut beyond the clip, which is
    limited to it. Raises ValueError for an edit that is impossible.
    """
    report = LossReport("") if report is None else report
    if fps is not None and scene.clips:
        clip = scene.clips[0]
        scene = replace(scene, clips=[replace(clip, rate=fps * (clip.units_per_frame or 1.0)), *scene.clips[1:]])
    fit_options = {} if wanted.get("max_error") is None else {"max_error": wanted["max_error"]}
    if wanted.get("merge") is not None:
        scene = merge(scene, load(wanted["merge"]))
    try:
        if wanted.get("node"):
            scene = choose_nodes(scene, wanted["node"])
        for name, by in wanted.get("move", ()):
            scene = move(scene, name, by)
    except LookupError as error:
        raise ValueError(str(error.args[0])) from None
    frames = wanted.get("cut")
    if frames == "active":
        frames = active_segment(scene.clips[0]) if scene.clips else None
    if frames is not None:
        first, last = frames
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
        report.add(LENGTHS_CONVERTED["scaled"], "/space", factor=wanted["scale"], kept=kept)
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
        report.add(CLIP_RANGE_CHANGED["cut"], "/clips/cut", begin=begin, end=end, first=first, last=last)
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
