"""Puts all clips of a scene on one timeline, for players that know only one animation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.exchange.kit.spans import written_span
from keyframer.limits import spend
from keyframer.posing import Rig
from keyframer.scene import Channel, Clip, Scene

_KINDS = {"position": "position", "rotation": "rotation_xyzw", "scale": "scale"}
"""kinds of tracks that move nodes, and the fields that they override"""


class Section(NamedTuple):
    """A part of a timeline with a name, in seconds."""

    name: str
    begin: float
    end: float


def sections_of(clip: Clip) -> list[Section]:
    """Return the named ranges of frames that the file states for a clip."""
    span, found = written_span(clip, None), []
    for stated in clip.extras.values():
        for entry in stated.get("sequences", ()) if isinstance(stated, dict) else ():
            begin, end = (float(span.seconds(float(entry[side]) * span.frame)) for side in ("first", "last"))
            found.append(Section(str(entry["name"]), begin, end))
    return found


def on_one_timeline(scene: Scene) -> tuple[Scene, list[Section]]:
    """Return a scene whose clips follow each other in one, sampled at frames, and where each is. A scene with one clip
    stays as it is, and has the sections that its file names."""
    if len(scene.clips) < 2:
        return scene, [section for clip in scene.clips for section in sections_of(clip)]
    first = scene.clips[0]
    rate = first.frames_per_second or 30.0
    samples: dict[tuple[int, str], list[np.ndarray]] = {}
    moving = {(c.node, c.track.kind) for clip in scene.clips for c in clip.channels if c.track.kind in _KINDS}
    counts, sections, done = [], [], 0
    for number, clip in enumerate(scene.clips):
        span = written_span(clip, None)
        count = max(2, math.ceil(float(span.seconds(span.end)) * rate) + 1)
        spend("samples", count * len(moving))
        times = span.begin + np.minimum(np.arange(count) / rate * span.rate, span.end - span.begin)
        rig = Rig(scene, number)
        values = rig.sample(times)
        for node, kind in moving:
            found = rig.channels.node_values(values, kind, node)
            rest = np.asarray(getattr(scene.nodes[node], _KINDS[kind]), np.float64)[None]
            rows = rest if found is None else np.asarray(found, np.float64)
            samples.setdefault((node, kind), []).append(np.broadcast_to(rows, (count, rows.shape[1])))
        sections.append(Section(clip.name, done / rate, done / rate + float(span.seconds(span.end))))
        counts.append(count)
        done += count
    channels = []
    for (node, kind), parts in sorted(samples.items()):
        form = RotationForm.QUATERNION_ABSOLUTE if kind == "rotation" else RotationForm.NONE
        rows = np.concatenate(parts)
        channels.append(Channel(node, Track(kind, np.arange(float(done)), rows, Interpolation.SAMPLED, form=form)))
    clip = Clip(first.name, channels, 0.0, float(done - 1), rate, extras=first.extras)
    return replace(scene, clips=[clip]), sections
