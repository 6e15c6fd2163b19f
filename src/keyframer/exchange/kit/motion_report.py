"""The loss report of the motion of a clip: the outcome of each track."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from keyframer.curves import Track
from keyframer.exchange.kit.clip_motions import PROPERTY_KINDS, ClipMotions
from keyframer.exchange.kit.motion import CUBIC, STEP
from keyframer.exchange.kit.numbers import count_unusable
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import (
    AIM_BAKED,
    KEYS_CONVERTED,
    KEYS_LEFT_OUT,
    MORPHS_UNSUPPORTED,
    MOTION_WRITTEN,
    NUMBERS_UNUSABLE,
    TRACK_WITHOUT_EFFECT,
)
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
        track = channel.track
        if len(track.times) < 2 and track.kind != "morph":
            continue
        path, morph = f"/nodes/{nodes[channel.node].name}/{track.kind}", nodes[channel.node].morph
        if track.kind == "morph" and not (
            morph is not None and np.shape(track.values)[1:] == (len(morph.names),) and channel.node in drawn
        ):
            report.add(MORPHS_UNSUPPORTED["weights"], path)
            continue
        motion = motions.motions.get((channel.node, track.kind))
        if len(track.times) < 2:
            continue
        resampled += motion is None or not (
            motion.has_track_keys or motion.sampler.is_still or motion.sampler.mode == STEP
        )
        if track.kind == "visible" and channel.node not in with_geometry:
            report.add(TRACK_WITHOUT_EFFECT["no geometry"], path, extras=track.extras)
        if track.kind not in (*PROPERTY_KINDS, "visible"):
            _report(motions, report, channel.node, track, path)
    return resampled


def _report(motions: ClipMotions, report: LossReport, node: int, track: Track, path: str) -> None:
    """Report the outcome of a track."""
    motion, span, extras = motions.motions.get((node, track.kind)), motions.span, track.extras
    unusable = count_unusable(track.values) + count_unusable(track.times)
    if unusable:
        report.add(NUMBERS_UNUSABLE["values"], path, extras=extras, count=unusable)
    last = float(track.times.max())
    if not np.isfinite(last):
        last = float(np.nanmax(np.where(np.isfinite(track.times), track.times, -np.inf)))
    if last > span.end and track.wrap.value == "single":
        report.add(KEYS_LEFT_OUT["after the end"], path, extras=extras, end=span.end, last=last)
    if motion is None or motion.sampler.is_still:
        report.add(MOTION_WRITTEN["still"], path, extras=extras)
    elif node in motions.aims and track.kind in ("rotation", "scale"):
        report.add(TRACK_WITHOUT_EFFECT["aimed"], path, extras=extras)
    elif track.kind == "roll":
        if (node, "aim") in motions.motions:
            report.add(AIM_BAKED["roll"], path, error=motions.motions[node, "aim"].error, extras=extras)
        else:
            report.add(TRACK_WITHOUT_EFFECT["roll"], path, extras=extras)
    elif motion.outcome is Outcome.EXACT:
        keys = motion.sampler.mode + (f", {track.wrap.value} unrolled" if track.wrap.value != "single" else "")
        report.add(MOTION_WRITTEN["keys"], path, extras=extras, keys=keys)
    else:
        sampler, outcome, error = motion.sampler, motion.outcome, motion.error
        unit = "degree" if track.is_rotation else "scene unit" if track.kind == "position" else "1"
        style = "cubic" if sampler.mode == CUBIC else "linear"
        words: dict[str, Any] = {"count": len(track.times), "keys": counted(len(sampler.times), f"{style} key")}
        report.add(KEYS_CONVERTED["other keys"], path, outcome=outcome, error=error, unit=unit, extras=extras, **words)
