"""From a scene to a document: the original patched where there is one, else a new one.

A format's module ``bridge.patching`` has a class ``Patch(document, options, after, report)`` whose ``apply(changed)``
changes a document in place where fields of the scene changed, and raises `Unpatchable` for what has no place in it.
Where nodes or materials may come and go it also has ``anchors(document, options)``, the records that nodes and
materials of the scene stand for, and ``restructure(document, options, before, after, matching, report)``, which takes
records out and puts new ones in and returns those of new nodes and materials by their numbers in ``after``.

A patch is checked before it counts: the bytes of the patched document are read again and must mean the scene that was
given. Where they do not, or where something changed that has no place in the original, the whole document is written
anew, and the report says why and what of the original is gone.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from keyframer.errors import FormatError
from keyframer.formats._axes import in_space
from keyframer.formats._document import Document
from keyframer.formats._format import Format
from keyframer.formats._matching import Matching, in_order_of, match
from keyframer.formats._patchcheck import differences, displaced
from keyframer.formats._rewritten import tell_rewritten
from keyframer.formats._scenediff import Comparison, Path, shown
from keyframer.formats._writing import Unpatchable, Written, plain_path
from keyframer.scene import Scene
from keyframer.scene.report import LossReport, Outcome
from keyframer.wire.record import Record

_Key = tuple[int, int]

_EXACT = Comparison()
_TURNED = Comparison(1e-12)
"""float64 numbers, through two changes of axes"""
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
    if found is not None and scene.origin is not None:
        tell_rewritten(scene.origin.document, written, found, _Module(format).said_otherwise)
    return written


def _patch(format: Format, scene: Scene, options: dict[str, object]) -> Written | str | None:
    """The patched original, or why it cannot be; None where there is no original of this format."""
    origin = scene.origin
    if origin is None or origin.document.format.name != format.name:
        return None
    original: Document = origin.document
    if scene.issues.first_unsafe() is not None:
        return "what is unsafe in the original is left out"
    module = _Module(format)
    asked = {name: value for name, value in options.items() if name not in _FREE_OPTIONS}
    if not module.agrees(original, asked):
        return "another layout is asked for"
    before = format.to_scene(original, origin.options)
    metres = (scene.space.metres_per_unit if module.holds_unit else None) or before.space.metres_per_unit
    after = in_space(scene, replace(before.space, metres_per_unit=metres))
    matching = match(before, after)
    comparison = _EXACT if after is scene else _TURNED
    beside = module.companions(original, origin.options)
    report = LossReport(format.name)
    if matching.plain and not comparison.scenes(before, after):
        report.add(Outcome.EXACT, "/", "nothing was changed: the original is written as it was")
        return Written(original, report, beside)
    made = copy.deepcopy(original, {id(original.format): original.format, id(original.limits): original.limits})
    work = _Work(module, made, dict(origin.options), before, after, matching, report)
    try:
        return work.patched(comparison, beside)
    except Unpatchable as why:
        return str(why)


class _Work:
    """One original on its way to mean another scene."""

    def __init__(
        self,
        module: _Module,
        made: Document,
        options: dict[str, object],
        before: Scene,
        after: Scene,
        matching: Matching,
        report: LossReport,
    ) -> None:
        self.module = module
        self.made = made
        self.options = options
        self.before = before
        self.after = after
        self.matching = matching
        self.report = report
        self.places: dict[int, int] = {number: number for number in range(len(after.nodes))}
        """numbers of nodes in the scene that is wanted, to those in the document"""

    def patched(self, comparison: Comparison, beside: tuple[tuple[str, bytes], ...]) -> Written:
        """The original with everything changed that has to be; `Unpatchable` where it would mean something else."""
        start, goal = self.before, self.after
        if not self.matching.plain:
            start, goal = self._restructured()
        changed = comparison.scenes(start, goal)
        patch = self.module.patch(self.made, self.options, goal, self.report)
        patch.apply(changed)
        reading = {**self.options, **getattr(patch, "reading", {})}
        again = self.module.read_again(self.made, reading)
        apart, overruled = differences(goal, again)
        if apart:
            raise Unpatchable(f"{shown(apart[0])} would not come out as it is meant")
        if not self.matching.plain:
            lost = displaced(self.after, again, self.places)
            if lost is not None:
                raise Unpatchable(f"{lost!r} would not stand where it should")
        self._tell(changed, overruled)
        companions: tuple[tuple[str, bytes], ...] | None = getattr(patch, "beside", None)
        return Written(self.made, self.report, beside if companions is None else companions)

    def _restructured(self) -> tuple[Scene, Scene]:
        """Records taken out and put in: what the document then means, and what it should."""
        module, made, matching = self.module, self.made, self.matching
        nodes, materials = module.anchors(made, self.options)
        kept = {nodes[old]: new for new, old in matching.nodes.items()}
        paints = {materials[old]: new for new, old in matching.materials.items()}
        new, new_paints = module.restructure(made, self.options, self.before, self.after, matching, self.report)
        kept |= {key: number for number, key in new.items()}
        paints |= {key: number for number, key in new_paints.items()}
        now, colours = module.anchors(made, self.options)
        self.places = {kept[key]: place for place, key in enumerate(now) if key in kept}
        painted = {paints[key]: place for place, key in enumerate(colours) if key in paints}
        middle = module.format.to_scene(made, self.options)
        if len(middle.nodes) != len(now) or not set(matching.nodes) <= set(self.places):
            raise Unpatchable("nodes would get lost")
        return middle, in_order_of(middle, self.after, matching, self.places, painted)

    def _tell(self, changed: list[Path], overruled: set[Path]) -> None:
        for number in self.matching.gone_nodes(self.before):
            if number not in self.matching.instead.values():
                path = plain_path("nodes", self.before.nodes[number].name)
                self.report.add(Outcome.EXACT, path, "was taken out of the original")
        for number in self.matching.new_nodes(self.after):
            instead = number in self.matching.instead
            words = "took the place of what it was in the original" if instead else "was added to the original"
            if number in self.places:
                self.report.add(Outcome.EXACT, plain_path("nodes", self.after.nodes[number].name), words)
        for field in changed:
            lost = field in overruled
            outcome = Outcome.DROPPED if lost else Outcome.EXACT
            words = "other parts of the scene say otherwise" if lost else "changed in the original"
            self.report.add(outcome, shown(field), words)


class _Module:
    """A format's module ``bridge.patching``, and what is taken where it leaves something out."""

    def __init__(self, format: Format) -> None:
        self.format = format

    def _own(self, name: str) -> Any:
        return self.format._load_if_there("bridge.patching", name)

    @property
    def holds_unit(self) -> bool:
        """Whether documents say how long a unit of length is."""
        return bool(self._own("HOLDS_UNIT"))

    @property
    def said_otherwise(self) -> tuple[type[Record], ...]:
        """Kinds of records that mean the same as others that writers use."""
        found: tuple[type[Record], ...] = self._own("SAID_OTHERWISE") or ()
        return found

    def agrees(self, original: Document, asked: dict[str, object]) -> bool:
        """Whether the layout that the options ask for is the original's."""
        own = self._own("agrees")
        return bool(own(original, asked)) if own is not None else not asked

    def companions(self, original: Document, options: Mapping[str, object]) -> tuple[tuple[str, bytes], ...]:
        own = self._own("companions")
        found: tuple[tuple[str, bytes], ...] = own(original, options) if own is not None else ()
        return found

    def patch(self, made: Document, options: Mapping[str, object], goal: Scene, report: LossReport) -> Any:
        own = self._own("Patch")
        if own is None:
            raise Unpatchable("this format's documents cannot be patched")
        return own(made, self.format._load("bridge", "Options")(**options), goal, report)

    def anchors(self, made: Document, options: Mapping[str, object]) -> tuple[list[_Key], list[_Key]]:
        """A key for the record of each node and of each material of the scene."""
        own = self._own("anchors")
        if own is None:
            raise Unpatchable("nodes came or went")
        nodes, materials = own(made, self.format._load("bridge", "Options")(**options))
        return _keys(nodes), _keys(materials)

    def restructure(
        self,
        made: Document,
        options: Mapping[str, object],
        before: Scene,
        after: Scene,
        matching: Matching,
        report: LossReport,
    ) -> tuple[dict[int, _Key], dict[int, _Key]]:
        own, chosen = self._own("restructure"), self.format._load("bridge", "Options")(**options)
        nodes, materials = own(made, chosen, before, after, matching, report)
        return (
            {number: (id(record), 0) for number, record in nodes.items()},
            {number: (id(record), 0) for number, record in materials.items()},
        )

    def read_again(self, made: Document, options: Mapping[str, object]) -> Scene:
        """What readers of the file will find."""
        try:
            document = self.format.decode(self.format.encode(made), made.limits)
        except (FormatError, ValueError) as error:
            raise Unpatchable(f"it would not be a readable file: {error}") from None
        if document.dialect != made.dialect:
            raise Unpatchable(f"readers would take it for {document.dialect}")
        return self.format.to_scene(document, options)


def _keys(records: Iterable[object]) -> list[_Key]:
    """Records as keys; one that stands for several nodes is a key for each of them."""
    seen: Counter[int] = Counter()
    found = []
    for record in records:
        found.append((id(record), seen[id(record)]))
        seen[id(record)] += 1
    return found
