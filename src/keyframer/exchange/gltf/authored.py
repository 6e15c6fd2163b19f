"""What the animation of a clip was made of: authored keys and clips in extras, and what became of each track."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keyframer.curves import Track
from keyframer.exchange.gltf.asset import Json
from keyframer.exchange.gltf.context import Context
from keyframer.exchange.gltf.extras import attach, plain, stated, track_extras
from keyframer.exchange.gltf.keys import CUBIC
from keyframer.exchange.gltf.motion import Motion, Span
from keyframer.exchange.gltf.nodes import Placed
from keyframer.exchange.gltf.numbers import unusable
from keyframer.exchange.gltf.properties import KINDS
from keyframer.exchange.report import Outcome
from keyframer.scene import Clip

_WHOLE = ("position", "rotation", "scale")
"""kinds whose samplers are written wherever they move, as they are"""

Motions = Mapping[tuple[int, str], Motion]
"""by node and kind; ``gaze`` and ``place`` are those of what looks at a target"""


def clip_extras(context: Context, clip: Clip, span: Span) -> Json:
    """The clip as authored; ``origin`` is its time at second 0 of the animation."""
    content: Json = {
        "name": clip.name,
        "start": plain(float(clip.start)),
        "end": plain(float(clip.end)),
        "rate": span.rate,
        "unit": clip.unit,
        "origin": span.begin,
        **stated(clip, "units_per_frame", "current", "bounds"),
    }
    if clip.raw_channels:
        content["raw_channels"] = [plain(channel) for channel in clip.raw_channels]
        for channel in clip.raw_channels:
            context.report.add(
                Outcome.EXTRAS,
                f"/clips/{clip.name}/{channel.name}",
                "numbers of unknown meaning",
                extras=channel.extras,
            )
    if clip.bounds is not None:
        context.report.add(Outcome.EXTRAS, f"/clips/{clip.name}/bounds", "boxes of the frames", extras=clip.extras)
    if clip.extras:
        content["extras"] = plain(clip.extras)
    return content


def keep_tracks(
    context: Context, number: int, placed: list[Placed], motions: Motions, looking: set[int], span: Span
) -> None:
    """Put the authored keys of a clip onto their nodes, and say what became of those that change."""
    for channel in context.scene.clips[number].channels:
        if not 0 <= channel.node < len(placed):
            context.report.add(Outcome.DROPPED, f"/clips/{number}", f"{channel.track!r} of a node that does not exist")
            continue
        track = channel.track
        shapes = context.scene.nodes[channel.node].morph
        if track.kind == "morph" and (shapes is None or np.shape(track.values)[1:] != (len(shapes.names),)):
            path = f"/nodes/{context.scene.nodes[channel.node].name}/morph"
            context.report.add(Outcome.DROPPED, path, "weights of shapes that the node does not have")
            continue
        motion = motions.get((channel.node, track.kind))
        head: Json = context.asset.nodes[placed[channel.node].head]
        repeated = motion is not None and motion.repeats_keys and not motion.keys.is_still
        repeated &= track.kind in _WHOLE and channel.node not in looking and not context.axes.mirrored
        if repeated and motion is not None:  # keys closer than single precision fall together in seconds
            repeated = len(motion.written(span).times) == len(track.times)
        kept: list[Json] = head.get("extras", {}).get("keyframer", {}).get("tracks", [])
        kept.append(track_extras(track, number, repeated))
        attach(head, {"tracks": kept})
        if len(track.times) > 1 and track.kind not in (*KINDS, "visible"):
            _report(context, channel.node, track, motion, motions, looking, span)


def _report(
    context: Context,
    node: int,
    track: Track,
    motion: Motion | None,
    motions: Motions,
    looking: set[int],
    span: Span,
) -> None:
    path = f"/nodes/{context.scene.nodes[node].name}/{track.kind}"

    def say(outcome: Outcome, detail: str, error: float | None = None, unit: str | None = None) -> None:
        context.report.add(outcome, path, detail, error=error, unit=unit, extras=track.extras)

    bad = unusable(track.values) + unusable(track.times)
    if bad:
        say(Outcome.DROPPED, f"{bad} numbers are not finite or too large for single precision")
    last = float(np.nanmax(np.where(np.isfinite(track.times), track.times, -np.inf)))
    if last > span.end and track.wrap.value == "single":
        say(Outcome.DROPPED, f"keys after {span.end:g}, up to {last:g}")
    if motion is None or motion.keys.is_still:
        say(Outcome.EXACT, "holds still")
    elif node in looking and track.kind in ("rotation", "scale"):
        say(Outcome.EXTRAS, "what looks at a target has none of its own")
    elif track.kind == "roll":
        gaze = motions.get((node, "gaze"))
        if gaze is None:
            say(Outcome.EXTRAS, "without a target there is nothing to roll about")
        else:
            say(Outcome.BAKED, "into the rotation", gaze.error(gaze.written(span), span), "degree")
    elif motion.outcome is Outcome.EXACT:
        say(
            Outcome.EXACT, motion.keys.mode + (f", {track.wrap.value} unrolled" if track.wrap.value != "single" else "")
        )
    else:
        sampler = motion.written(span)
        unit = "degree" if track.is_rotation else "scene unit" if track.kind == "position" else "1"
        sort = "of a cubic spline" if sampler.mode == CUBIC else "straight ones"
        words = f"{len(track.times)} keys became {len(sampler.times)} {sort}"
        say(motion.outcome, words, motion.error(sampler, span), unit)
