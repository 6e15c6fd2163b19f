"""The loss report of the motion of a clip: the outcome of each track."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from keyframer.curves import Track
from keyframer.exchange.kit.clip_motions import PROPERTY_KINDS, ClipMotions
from keyframer.exchange.kit.motion import CUBIC, STEP
from keyframer.exchange.kit.numbers import count_unusable
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted


def report_tracks(
    motions: ClipMotions, report: LossReport, with_geometry: Container[int], drawn: Container[int]
) -> int:
    """Report the outcome of each track of a clip, except those of cameras and lights; returns how many tracks got other
    keys than the authored ones. ``with_geometry`` are the nodes that can be hidden, ``drawn`` those with faces.
    """
    resampled = 0
    nodes = motions.rig.scene.nodes
    for channel in motions.clip.channels:
        track, path = channel.track, f"/nodes/{nodes[channel.node].name}/{channel.track.kind}"
        morph = nodes[channel.node].morph
        if track.kind == "morph" and not (
            morph is not None and np.shape(track.values)[1:] == (len(morph.names),) and channel.node in drawn
        ):
            report.add(Outcome.DROPPED, path, "the weights do not match the written shapes")
            continue
        motion = motions.motions.get((channel.node, track.kind))
        if len(track.times) < 2:
            continue
        resampled += motion is None or not (
            motion.has_track_keys or motion.sampler.is_still or motion.sampler.mode == STEP
        )
        if track.kind == "visible" and channel.node not in with_geometry:
            report.add(Outcome.DROPPED, path, "the node has no geometry to hide", extras=track.extras)
        if track.kind not in (*PROPERTY_KINDS, "visible"):
            _report(motions, report, channel.node, track, path)
    return resampled


def _report(motions: ClipMotions, report: LossReport, node: int, track: Track, path: str) -> None:
    """Report the outcome of a track."""
    motion, span = motions.motions.get((node, track.kind)), motions.span

    def add(outcome: Outcome, detail: str, error: float | None = None, unit: str | None = None) -> None:
        report.add(outcome, path, detail, error=error, unit=unit, extras=track.extras)

    unusable = count_unusable(track.values) + count_unusable(track.times)
    if unusable:
        add(Outcome.DROPPED, f"{counted(unusable, 'number')} not finite or too large for single precision")
    last = float(track.times.max())
    if not np.isfinite(last):
        last = float(np.nanmax(np.where(np.isfinite(track.times), track.times, -np.inf)))
    if last > span.end and track.wrap.value == "single":
        add(Outcome.DROPPED, f"keys after {span.end:g} (up to {last:g}) are not written")
    if motion is None or motion.sampler.is_still:
        add(Outcome.EXACT, "does not move")
    elif node in motions.aims and track.kind in ("rotation", "scale"):
        add(Outcome.DROPPED, "overridden by the target")
    elif track.kind == "roll":
        if (node, "aim") in motions.motions:
            add(Outcome.BAKED, "applied to the rotation", motions.motions[node, "aim"].error, "degree")
        else:
            add(Outcome.DROPPED, "a roll has no effect without a target")
    elif motion.outcome is Outcome.EXACT:
        add(
            Outcome.EXACT,
            motion.sampler.mode + (f", {track.wrap.value} unrolled" if track.wrap.value != "single" else ""),
        )
    else:
        sampler = motion.sampler
        unit = "degree" if track.is_rotation else "scene unit" if track.kind == "position" else "1"
        style = "cubic" if sampler.mode == CUBIC else "linear"
        message = f"{counted(len(track.times), 'key')} became {counted(len(sampler.times), f'{style} key')}"
        add(motion.outcome, message, motion.error, unit)
