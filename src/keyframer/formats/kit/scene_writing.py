"""Code shared by scene writers: the written document, names that fit, tolerances, the written clip, invalid links."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Track
from keyframer.curves.key_reduction import Distance, turn_degrees, vector_distance
from keyframer.formats.document import Document
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Clip, Node, Scene
from keyframer.scene.clip import FASTEST, SLOWEST
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import CLIPS_UNSUPPORTED, NAME_CHANGED, RATE_UNSUPPORTED
from keyframer.text import decode_name, encode_name

DEFAULT_MAX_ERROR = 1e-4
"""fraction of the scene's size (`posing.bounds_and_duration`)"""
DEGREES_AT_DEFAULT = 0.01
"""allowed rotation error if ``max_error`` is `DEFAULT_MAX_ERROR`; it is proportional to ``max_error``"""


class Written(NamedTuple):
    """A document made from a scene, its loss report, and its companions."""

    document: Document
    report: LossReport
    companions: tuple[tuple[str, bytes], ...] = ()
    """suffix and content of each companion"""
    reader_options: Mapping[str, object] = {}
    """reader options that this file needs"""
    parts: Mapping[int, Hashable] = {}
    """the scene part (``("nodes", 3)``) of each record, by the record's `id`, for merging"""
    data: bytes | None = None
    """the encoded document, if it is available already"""


class CannotMerge(Exception):
    """Raised if an edit cannot be merged into the original document; the message gives the reason."""


class Tolerance:
    """Allowed errors of motion that a format cannot store exactly."""

    def __init__(self, length: float | Callable[[], float], degrees: float, fraction: float) -> None:
        self._length = length
        self.degrees = degrees
        self.fraction = fraction
        """allowed error of scales, colours and other plain numbers"""

    @staticmethod
    def of(scene: Scene, max_error: float) -> Tolerance:
        """Return the tolerance for a scene, whose size is measured on the first use of `length`."""
        degrees = DEGREES_AT_DEFAULT * (max_error / DEFAULT_MAX_ERROR)
        return Tolerance(lambda: max_error * scene_size(scene), degrees, max_error)

    @cached_property
    def length(self) -> float:
        """Return the allowed error of lengths in scene units."""
        return self._length() if callable(self._length) else self._length

    def for_track(self, track: Track) -> tuple[float, Distance, str]:
        """Return the tolerance of a track, the distance function of its values, and the unit of both."""
        if track.is_rotation:
            return self.degrees, turn_degrees, "degree"
        if track.kind == "position":
            return self.length, vector_distance, "scene unit"
        if track.kind in ("fov", "roll", "hotspot", "falloff"):
            return self.degrees, vector_distance, "degree"
        return self.fraction, vector_distance, "1"


def check_max_error(max_error: float) -> None:
    if not (math.isfinite(max_error) and max_error > 0):
        raise ValueError(f"max_error must be positive and finite, not {max_error}")


def first_clip(scene: Scene, report: LossReport) -> Clip:
    """Return the clip to write: the first, or an empty one. Further clips are reported as dropped."""
    for clip in scene.clips[1:]:
        report.add(CLIPS_UNSUPPORTED["second"], f"/clips/{clip.name}")
    return scene.clips[0] if scene.clips else Clip()


def rest_world(scene: Scene) -> Floats:
    """Return (N, 4, 4) world matrices of all nodes at rest."""
    without_clips = Scene(nodes=scene.nodes, cameras=scene.cameras, lights=scene.lights, space=scene.space)
    return Rig(without_clips).world({}, 1)[0] if scene.nodes else np.empty((0, 4, 4))


def frames_per_second(clip: Clip) -> float:
    """Return the clip's frames per second, limited to a plausible range; 30 if they are not positive and finite."""
    rate = clip.frames_per_second
    return min(max(rate, SLOWEST), FASTEST) if math.isfinite(rate) and rate > 0 else 30.0


def report_rate(clip: Clip, fps: float, report: LossReport) -> None:
    """Report another frame rate of a clip than that of a file whose format stores none."""
    clip_rate = frames_per_second(clip)
    if clip.channels and not math.isclose(clip_rate, fps, rel_tol=1e-6):
        advice = f"fps={clip_rate:g} keeps these"
        report.add(RATE_UNSUPPORTED["none"], "/clips/rate", advice=advice, fps=fps, clip_fps=clip_rate)


def whole_frame(time: float) -> int:
    """Return a time rounded to a frame, 0 if it is not finite; raises ValueError if it exceeds 32 bits."""
    frame = round(time) if math.isfinite(time) else 0
    if not -(1 << 31) <= frame < 1 << 31:
        raise ValueError(f"frame {time:g} is outside the range of this format (32-bit whole numbers)")
    return frame


def units_per_second(clip: Clip) -> float:
    """Return the clip's time units per second; if its rate is not positive and finite, the units of 30 frames."""
    return clip.rate if math.isfinite(clip.rate) and clip.rate > 0 else 30.0 * (clip.units_per_frame or 1.0)


def cut_name(text: str, most: int, encoding: str | None = None) -> bytes:
    """Truncate a name to ``most`` bytes without splitting a character or its combining marks."""
    cut = text[:most]
    while cut and (len(encode_name(cut, encoding)) > most or unicodedata.combining((text + " ")[len(cut)])):
        cut = cut[:-1]
    return encode_name(cut, encoding)


class UniqueByteNames:
    """Makes byte names that fit a format: limited in length, unique regardless of case, never empty."""

    def __init__(self, limit: int | None = None, encoding: str | None = None, reserved: Iterable[bytes] = ()) -> None:
        self._limit = limit
        self._encoding = encoding
        self._taken = {name.lower() for name in reserved}
        self._next: dict[tuple[bytes, int], int] = {}
        """for each stem and number of digits the number to try next"""

    def claim(self, name: str, raw: bytes | None = None, fallback: str = "unnamed") -> bytes:
        """Return a name for a part called ``name``.

        ``raw`` is its name in the source file, which is used if it decodes to ``name``; ``fallback`` replaces an empty
        name.
        """
        text = name or fallback
        usable = raw and b"\0" not in raw and decode_name(raw, self._encoding) == name
        encoded = raw if raw and usable else encode_name(text, self._encoding)
        base = encoded if self._limit is None or len(encoded) <= self._limit else self._cut(text, self._limit)
        base = base or encode_name(fallback)[: self._limit]
        candidate = base if base.lower() not in self._taken else self._numbered(text, base)
        self._taken.add(candidate.lower())
        return candidate

    def claim_for(
        self, node: Node, report: LossReport, wanted: str | None = None, rule: str = "", fallback: str = "unnamed"
    ) -> bytes:
        """Return a name for a node, made from ``wanted`` if that is given; a name that is not its own is reported."""
        name = self.claim(node.name if wanted is None else wanted, node.raw_name, fallback)
        if self.decode(name) != node.name:
            report.add(NAME_CHANGED["rule"], plain_path("nodes", node.name), name=self.decode(name), rule=rule)
        return name

    def _numbered(self, text: str, base: bytes) -> bytes:
        """Return the first free name of the form *stem* and number, from 2 on; longer numbers have shorter stems."""
        number = 2
        while True:
            digits = len(str(number))
            if self._limit is None:
                stem = base + b"."
            else:
                stem_size = max(self._limit - digits, 0)
                stem = base if len(base) <= stem_size else self._cut(text, stem_size)
            key = (stem.lower(), digits)
            number = max(number, self._next.get(key, 0))
            if number >= 10**digits:
                continue
            self._next[key] = number + 1
            candidate = stem + str(number).encode()
            if candidate.lower() not in self._taken:
                return candidate
            number += 1

    def _cut(self, text: str, most: int) -> bytes:
        return cut_name(text, most, self._encoding)

    def decode(self, name: bytes) -> str:
        return decode_name(name, self._encoding)


def without_quotes(name: str) -> str:
    """Return a name that texts can have in double quotes on one line."""
    return name.replace('"', "'").replace("\n", " ").replace("\r", " ")


def plain_path(kind: str, name: str) -> str:
    """Return the path of a part in reports: ``/nodes/Box``."""
    return f"/{kind}/{name}"


def without_invalid_links(scene: Scene) -> tuple[Scene, list[tuple[str, str]]]:
    """Return the scene without invalid links, and path and reason of each removed one.

    Links are parents, targets and channels. A link is invalid if it refers to a missing node, or if it is a parent that
    makes a node its own ancestor. The scene is the same object if all links are valid.
    """
    count = len(scene.nodes)
    missing = "no such node"
    in_cycles = set(evaluation_order(scene.nodes).cut)
    orphans = [channel for clip in scene.clips for channel in clip.channels if not 0 <= channel.node < count]
    removed = [(f"/clips/channels/{orphan.node}/{orphan.track.kind}", missing) for orphan in orphans]
    nodes = list(scene.nodes)
    for number, node in enumerate(scene.nodes):
        changes: dict[str, Any] = {}
        for link, linked in (("parent", node.parent), ("target", node.target)):
            if linked is not None and not 0 <= linked < count:
                reason = missing
            elif link == "parent" and number in in_cycles:
                reason = "is its own ancestor"
            else:
                continue
            removed.append((f"{plain_path('nodes', node.name)}/{link}", reason))
            changes[link] = None
        if changes:
            nodes[number] = replace(node, **changes)
    if not removed:
        return scene, removed
    clips = [_with_valid_channels(clip, count) for clip in scene.clips] if orphans else scene.clips
    return replace(scene, nodes=nodes, clips=clips), removed


def _with_valid_channels(clip: Clip, count: int) -> Clip:
    return replace(clip, channels=[channel for channel in clip.channels if 0 <= channel.node < count])
