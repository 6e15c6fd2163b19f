"""Changes that a format has no place for: taken back before its original is patched, and told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from keyframer.formats._scenediff import Path, shown
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome

Pattern = tuple[str, ...]
"""the beginning of a path; ``*`` is any number"""

NO_TEXT: tuple[Pattern, ...] = (("title",), ("author",), ("copyright",), ("clips", "*", "name"))
NO_SURROUNDINGS: tuple[Pattern, ...] = (("environment",), ("clips", "*", "current"))


def take_back(start: Scene, goal: Scene, changed: list[Path], no_place: Sequence[Pattern], report: LossReport) -> Scene:
    """The scene that is wanted, but as it was where the format cannot say otherwise."""
    for path in changed:
        if any(_fits(path, pattern) for pattern in no_place):
            report.add(Outcome.DROPPED, shown(path), "the format has no place for it")
            goal = _as_it_was(start, goal, path)
    return goal


def one_clip(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """The scene without the clips that files of one clip cannot hold."""
    most = max(len(before.clips), 1)
    for clip in scene.clips[most:]:
        report.add(Outcome.DROPPED, f"/clips/{clip.name}", "the format holds one clip")
    return scene if len(scene.clips) <= most else replace(scene, clips=scene.clips[:most])


def _fits(path: Path, pattern: Pattern) -> bool:
    return len(path) >= len(pattern) and all(part in ("*", step) for step, part in zip(path, pattern, strict=False))


def _as_it_was(start: Scene, goal: Scene, path: Path) -> Scene:
    top: Any = path[0]
    if len(path) == 1:
        return replace(goal, **{top: getattr(start, top)})
    if isinstance(path[1], str):  # a field of a part that there is one of
        part: Any = replace(getattr(goal, top), **{path[1]: getattr(getattr(start, top), path[1])})
        return replace(goal, **{top: part})
    parts: Any = list(getattr(goal, top))
    name: Any = path[2]
    parts[path[1]] = replace(parts[path[1]], **{name: getattr(getattr(start, top)[path[1]], name)})
    return replace(goal, **{top: parts})
