"""What writers of scenes share: the result, names that fit, tolerances, the clip that is written, invalid links."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keyframer.curves import Track
from keyframer.curves.cubic_fit import Distance, largest_difference, turn_degrees
from keyframer.formats.document import Document
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.posing.evaluation_order import placing_order
from keyframer.scene import Clip, Node, Scene
from keyframer.scene.clip import FASTEST, SLOWEST
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import decode_name

Floats = npt.NDArray[np.float64]

DEFAULT_MAX_ERROR = 1e-4
"""of the scene's size (`posing.bounds_and_duration`)"""
DEGREES_AT_DEFAULT = 0.01
"""what turns may be off when ``max_error`` is `DEFAULT_MAX_ERROR`; it grows and shrinks with it"""


class Written(NamedTuple):
    """A document made from a scene, what became of everything, and the files that belong beside it."""

    document: Document
    report: LossReport
    companions: tuple[tuple[str, bytes], ...] = ()
    """suffix and content of each"""
    reading: Mapping[str, object] = {}
    """options that a reader needs to understand the file as it is meant"""
    parts: Mapping[int, Hashable] = {}
    """by the `id` of a record: the part of the scene that it stands for (``("nodes", 3)``), for merging"""
    data: bytes | None = None
    """the bytes of the document, where it was encoded already"""


class CannotMerge(Exception):
    """An edit that cannot be merged into the original document; the words say why."""


class Tolerance:
    """How far motion may be off where a target cannot hold it exactly."""

    def __init__(self, length: float | Callable[[], float], degrees: float, fraction: float) -> None:
        self._length = length
        self.degrees = degrees
        self.fraction = fraction
        """of scales and colours"""

    @staticmethod
    def of(scene: Scene, max_error: float) -> Tolerance:
        """The scene is measured when the tolerance of a length is first asked for."""
        share = max_error / DEFAULT_MAX_ERROR
        return Tolerance(lambda: max_error * scene_size(scene), DEGREES_AT_DEFAULT * share, max_error)

    @cached_property
    def length(self) -> float:
        """scene units"""
        return self._length() if callable(self._length) else self._length

    def for_track(self, track: Track) -> tuple[float, Distance, str]:
        """The tolerance of a track, how its values are compared, and the unit of both."""
        if track.is_rotation:
            return self.degrees, turn_degrees, "degree"
        if track.kind == "position":
            return self.length, largest_difference, "scene unit"
        if track.kind in ("fov", "roll", "hotspot", "falloff"):
            return self.degrees, largest_difference, "degree"
        return self.fraction, largest_difference, "of 1"


def check_max_error(max_error: float) -> None:
    if not (math.isfinite(max_error) and max_error > 0):
        raise ValueError(f"max_error must be positive, not {max_error}")


def first_clip(scene: Scene, report: LossReport) -> Clip:
    """The clip that is written: the first, or an empty one; the others are reported as left out."""
    for clip in scene.clips[1:]:
        report.add(Outcome.DROPPED, f"/clips/{clip.name}", "the format can store only one clip")
    return scene.clips[0] if scene.clips else Clip()


def frames_per_second(clip: Clip) -> float:
    """The clip's own rate, within reason; 30 where it has none."""
    rate = clip.frames_per_second
    return min(max(rate, SLOWEST), FASTEST) if math.isfinite(rate) and rate > 0 else 30.0


def whole_frame(time: float) -> int:
    """The frame next to a time; ValueError where 32 bits cannot count so far, 0 where it is no number."""
    frame = round(time) if math.isfinite(time) else 0
    if not -(1 << 31) <= frame < 1 << 31:
        raise ValueError(f"frame {time:g} is too far for the format to count")
    return frame


def units_per_second(clip: Clip) -> float:
    """How many of the clip's time units make a second."""
    return clip.rate if math.isfinite(clip.rate) and clip.rate > 0 else 30.0 * (clip.units_per_frame or 1.0)


def encode_name(text: str, encoding: str | None = None) -> bytes:
    """A name as 8-bit text that decodes to itself again where that can be; what cannot becomes ``_``."""
    text = text.replace("\0", "_")
    for codec in (encoding or "cp1252", "utf-8"):
        raw = text.encode(codec, "ignore")
        if decode_name(raw, encoding) == text:
            return raw
    return text.encode("ascii", "replace").replace(b"?", b"_")


def cut_name(text: str, most: int, encoding: str | None = None) -> bytes:
    """As many characters of a name as fit into ``most`` bytes; no character is cut, nor what is written over one."""
    kept = text[:most]
    while kept and (len(encode_name(kept, encoding)) > most or unicodedata.combining((text + " ")[len(kept)])):
        kept = kept[:-1]
    return encode_name(kept, encoding)


class NamesThatFit:
    """Hands out names as bytes: within a limit, unique (letters large and small count as the same), never empty."""

    def __init__(self, limit: int | None = None, encoding: str | None = None, reserved: Iterable[bytes] = ()) -> None:
        self._limit = limit
        self._encoding = encoding
        self._taken = {name.lower() for name in reserved}
        self._next: dict[bytes, int] = {}

    def claim(self, name: str, raw: bytes | None = None, fallback: str = "unnamed") -> bytes:
        """A name for the thing called ``name``; ``raw`` is how a file had it, and is taken where it says the same."""
        text = name or fallback
        usable = raw and b"\0" not in raw and decode_name(raw, self._encoding) == name
        same = raw if raw and usable else encode_name(text, self._encoding)
        base = same if self._limit is None or len(same) <= self._limit else self._cut(text, self._limit)
        base = base or encode_name(fallback)[: self._limit]
        candidate = base
        while candidate.lower() in self._taken:
            number = self._next.get(base.lower(), 2)
            self._next[base.lower()] = number + 1
            mark = f".{number}".encode() if self._limit is None else str(number).encode()
            room = len(base) if self._limit is None else max(self._limit - len(mark), 0)
            candidate = (base if len(base) <= room else self._cut(text, room)) + mark
        self._taken.add(candidate.lower())
        return candidate

    def _cut(self, text: str, most: int) -> bytes:
        return cut_name(text, most, self._encoding)

    def shown(self, name: bytes) -> str:
        return decode_name(name, self._encoding)


def plain_path(kind: str, name: str) -> str:
    """The path of a part in reports: ``/nodes/Box``."""
    return f"/{kind}/{name}"


def without_invalid_links(scene: Scene) -> tuple[Scene, list[tuple[str, str]]]:
    """The scene without parents, targets and channels of nodes that it does not have, and without circles of parents:
    itself where there are none; and the path of what is lost by that, with the reason."""
    count = len(scene.nodes)
    cut = set(placing_order(scene.nodes).cut)
    nodes = [_with_known(node, count, number in cut) for number, node in enumerate(scene.nodes)]
    ghosts = [channel for clip in scene.clips for channel in clip.channels if not 0 <= channel.node < count]
    lost = [(f"/clips/channels/{ghost.node}/{ghost.track.kind}", "no such node") for ghost in ghosts]
    clips = [_of_known(clip, count) for clip in scene.clips] if ghosts else scene.clips
    lost += [
        (f"{plain_path('nodes', scene.nodes[number].name)}/parent", "is among its own parents")
        for number in sorted(cut)
    ]
    if not lost and all(one is other for one, other in zip(nodes, scene.nodes, strict=True)):
        return scene, lost
    return replace(scene, nodes=nodes, clips=clips), lost


def _with_known(node: Node, count: int, circular: bool) -> Node:
    has_parent = _is_known(node.parent, count) and not circular
    if has_parent and _is_known(node.target, count):
        return node
    target = node.target if _is_known(node.target, count) else None
    return replace(node, parent=node.parent if has_parent else None, target=target)


def _is_known(number: int | None, count: int) -> bool:
    return number is None or 0 <= number < count


def _of_known(clip: Clip, count: int) -> Clip:
    return replace(clip, channels=[channel for channel in clip.channels if 0 <= channel.node < count])
