"""From a scene to a document: the original patched where there is one, else a new one.

A patch is checked before it counts: the patched document is read again and must mean the scene that was given. Where
it does not, or where something changed that has no place in the original, the whole document is written anew.
"""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any

import numpy as np

from keyframer.formats._axes import in_space
from keyframer.formats._document import Document
from keyframer.formats._format import Format
from keyframer.formats._scenediff import Comparison, Path, by_kind
from keyframer.formats._writing import Written
from keyframer.scene import NodeKind, Scene
from keyframer.scene.report import LossReport, Outcome

_EXACT = Comparison()
_TURNED = Comparison(1e-12)
"""float64 numbers, through two changes of axes"""
_NEAR = Comparison(1e-5)
"""float32 numbers, once through a matrix and back"""
_FREE_OPTIONS = {"max_error", "companion"}
"""options that say nothing about the layout of the file"""


def write_scene(format: Format, scene: Scene, options: dict[str, object]) -> Written:
    """What `Format.from_scene` does."""
    known = format._load("bridge.writing", "WriteOptions")
    names = [item.name for item in fields(known)]
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise ValueError(f"{format.name} has no option {unknown[0]!r} (it has: {', '.join(names)})")
    chosen: Any = known(**options)
    with np.errstate(all="ignore"):
        found = _patch(format, scene, options)
        if isinstance(found, Written):
            return found
        written: Written = format._load("bridge.writing", "from_scene")(scene, chosen)
    if found is not None:
        written.report.add(Outcome.BAKED, "/", f"the original could not be patched ({found}): all was written anew")
    return written


def _patch(format: Format, scene: Scene, options: dict[str, object]) -> Written | str | None:
    """The patched original, or why it cannot be; None where there is no original of this format."""
    origin = scene.origin
    if origin is None or origin.document.format.name != format.name:
        return None
    original: Document = origin.document
    module = _Patcher(format)
    asked = {name: value for name, value in options.items() if name not in _FREE_OPTIONS}
    if not module.agrees(original, asked):
        return "another layout is asked for"
    before = format.to_scene(original, origin.options)
    after = in_space(scene, before.space)
    changed = (_EXACT if after is scene else _TURNED).scenes(before, after)
    report = LossReport(format.name)
    beside = module.companions(original, origin.options)
    if not changed:
        report.add(Outcome.EXACT, "/", "nothing was changed: the original is written as it was")
        return Written(original, report, beside)
    made = copy.deepcopy(original, {id(original.format): original.format, id(original.limits): original.limits})
    why = module.apply(made, origin.options, after, changed, report)
    if why is not None:
        return why
    again = format.to_scene(made, origin.options)
    apart = [
        path
        for path in _NEAR.scenes(after, again)
        if not _is_overruled(after, path) and not _says_the_rest(after, again, path)
    ]
    if apart:
        return f"{shown(apart[0])} would not come out as it is meant"
    for path in changed:
        outcome = Outcome.DROPPED if _is_overruled(after, path) else Outcome.EXACT
        report.add(
            outcome, shown(path), "keys say otherwise" if outcome is Outcome.DROPPED else "changed in the original"
        )
    return Written(made, report, beside)


def _is_overruled(scene: Scene, path: Path) -> bool:
    """Whether a value has no say: at rest where there are keys, the name of what is called as its node."""
    if len(path) == 3 and path[0] in ("meshes", "cameras", "lights") and path[2] in ("name", "axes"):
        return True
    if len(path) == 3 and path[0] == "nodes" and path[2] == "name":
        return scene.source_format == "3ds" and scene.nodes[int(path[1])].kind is NodeKind.TARGET
    if len(path) != 3 or path[0] != "nodes" or not scene.clips:
        return False
    kind = {"position": "position", "rotation_xyzw": "rotation", "scale": "scale", "hidden": "visible"}.get(
        str(path[2])
    )
    tracks = by_kind(scene.clips[0]) or {}
    return kind is not None and (int(path[1]), kind) in tracks


def _says_the_rest(after: Scene, again: Scene, path: Path) -> bool:
    """Whether a track that is new says no more than the node's rest place: some formats know no other way."""
    if len(path) != 5 or path[:3] != ("clips", 0, "channels"):
        return False
    node, kind = int(path[3]), str(path[4])
    tracks, mine = by_kind(again.clips[0]) or {}, by_kind(after.clips[0]) or {}
    name = {"position": "position", "rotation": "rotation_xyzw", "scale": "scale"}.get(kind)
    if name is None or (node, kind) in mine or len(tracks[node, kind].times) != 1:
        return False
    return _NEAR.same(np.asarray(getattr(after.nodes[node], name)), np.asarray(getattr(again.nodes[node], name)))


def shown(path: Path) -> str:
    return "/" + "/".join(map(str, path))


class _Patcher:
    """A format's module ``bridge.patching``: ``apply``, and ``agrees`` and ``companions`` where it has them."""

    def __init__(self, format: Format) -> None:
        self._format = format

    def agrees(self, original: Document, asked: dict[str, object]) -> bool:
        """Whether the layout that the options ask for is the original's."""
        own = self._format._load_if_there("bridge.patching", "agrees")
        return bool(own(original, asked)) if own is not None else not asked

    def companions(self, original: Document, options: Any) -> tuple[tuple[str, bytes], ...]:
        own = self._format._load_if_there("bridge.patching", "companions")
        found: tuple[tuple[str, bytes], ...] = own(original, options) if own is not None else ()
        return found

    def apply(self, made: Document, options: Any, after: Scene, changed: list[Path], report: LossReport) -> str | None:
        """Change the document; says what has no place in it, if something has none."""
        own = self._format._load_if_there("bridge.patching", "apply")
        if own is None:
            return "this format's documents cannot be patched"
        why: str | None = own(made, options, after, changed, report)
        return why
