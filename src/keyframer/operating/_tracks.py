"""What operations on time share: tracks moved, tracks sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.curves.key_reduction import Sampling, fewest_keys, values_of
from keyframer.formats.kit.scene_writing import Tolerance
from keyframer.scene import Channel, Clip, Scene

Floats = npt.NDArray[np.float64]


def with_tracks(scene: Scene, change: Callable[[Track], Track | None], **clip: object) -> Scene:
    """The scene with every track of its first clip changed (left out where that gives None), and fields of the clip."""
    if not scene.clips:
        return scene
    return with_these_tracks(scene, [change(channel.track) for channel in scene.clips[0].channels], **clip)


def with_these_tracks(scene: Scene, tracks: Iterable[Track | None], **clip: object) -> Scene:
    """The scene with other tracks for the channels of its first clip (None leaves one out), and fields of the clip."""
    first = scene.clips[0]
    changed = zip(first.channels, tracks, strict=True)
    channels = [Channel(channel.node, track) for channel, track in changed if track is not None]
    clip_with_tracks: Clip = replace(first, channels=channels, **clip)  # type: ignore[arg-type]
    return replace(scene, clips=[clip_with_tracks, *scene.clips[1:]])


def sampled(track: Track, times: Floats, tolerance: Tolerance) -> Sampling[Track]:
    """Few keys through the track's values at these times, and between them where all of the track's own are among
    them: keys that stand elsewhere cannot follow its corners."""
    values = yield from values_of(track, times)
    if track.interpolation is Interpolation.STEP and not track.is_rotation:
        kept = np.concatenate([[True], np.any(np.diff(values.reshape(len(times), -1), axis=0) != 0, axis=1)])
        return Track(track.kind, times[kept], values[kept], Interpolation.STEP)
    form = RotationForm.QUATERNION_ABSOLUTE if track.is_rotation else RotationForm.NONE
    allowed, distance, _ = tolerance.for_track(track)
    widest = 90.0 if track.is_rotation else np.inf
    key_times = track.times[(track.times >= times[0]) & (track.times <= times[-1])]
    known = track.wrap is Wrap.SINGLE and bool(np.isin(key_times, times).all())
    between = partial(values_of, track) if known else None
    return (yield from fewest_keys(track.kind, times, values, form, allowed, distance, widest, between))[0]
