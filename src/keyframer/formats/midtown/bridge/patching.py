"""A Midtown clip changed where a scene was: other frames, bones and channels stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from keyframer.curves import Track
from keyframer.formats._document import Document
from keyframer.formats._scenediff import Path, by_kind
from keyframer.formats._writing import Unpatchable
from keyframer.formats.midtown import records as r
from keyframer.formats.midtown.bridge.options import Options
from keyframer.formats.midtown.bridge.scene import root_path, to_scene
from keyframer.maths import euler
from keyframer.scene import Scene
from keyframer.scene.report import LossReport
from keyframer.wire.record import Record


def agrees(original: Document, asked: Mapping[str, Any]) -> bool:
    """Whether the options ask for the layout that the original has."""
    return set(asked) <= {"dialect"} and asked.get("dialect", str(original.dialect)) == str(original.dialect)


def apply(
    document: Document, options: Mapping[str, Any], after: Scene, changed: list[Path], report: LossReport
) -> str | None:
    """Change the document so that it means ``after``; says what has no place in it, if something has none."""
    try:
        _Patch(document, Options(**options), after).apply(changed)
    except Unpatchable as why:
        return str(why)
    return None


class _Patch:
    def __init__(self, document: Document, options: Options, after: Scene) -> None:
        self.options = options
        self.after = after
        channels = [each for each in document.find(Record) if isinstance(each, (r.Channel, r.OldChannel))]
        self.channels = channels
        self.posed = next((each for each in channels if each.bones), None)
        self.before = by_kind(to_scene(document, options).clips[0]) or {}
        self.tracks = by_kind(after.clips[0]) or {}

    def apply(self, changed: list[Path]) -> None:
        for path in changed:
            match path:
                case ("clips", 0, "channels", int(node), "position" | "rotation" as kind):
                    self._track(node, str(kind))
                case _:
                    raise Unpatchable("/".join(map(str, path)))

    def _track(self, number: int, kind: str) -> None:
        before, after = self.before.get((number, kind)), self.tracks.get((number, kind))
        if self.posed is None or before is None or after is None or not np.array_equal(before.times, after.times):
            raise Unpatchable("other frames")
        moved = (before.values != after.values).any(axis=1)
        rows = np.array(self.posed.rows)
        if kind == "position":
            rows[moved, :3] = self._stored_path(after)[moved]
        else:
            order = self.options.euler_order
            angles = euler.from_quaternion(after.values[moved], order)
            by_axis = angles[:, [order.index(axis) for axis in "XYZ"]]
            rows[moved, 3 + 3 * number : 6 + 3 * number] = by_axis
        self.posed.rows = rows

    def _stored_path(self, track: Track) -> Any:
        """Positions without what ``in_place`` added."""
        assert self.posed is not None
        added = root_path(np.zeros_like(track.values), float(self.posed.distance), self.options.in_place)
        return track.values - added
