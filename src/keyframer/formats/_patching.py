"""Originals changed in place by the editors of formats that do not merge yet (see `_saving`)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from keyframer.formats._matching import Matching, in_order_of, match
from keyframer.formats._patchcheck import differences, displaced, read_again
from keyframer.formats._rewritten import tell_nodes
from keyframer.formats._scenediff import Comparison, Path, shown
from keyframer.formats._unheld import one_clip, take_back
from keyframer.formats.bridge import Change, Editor
from keyframer.formats.contract import Format, make_options
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import Unpatchable, Written
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome


def patch(
    format: Format,
    editor: Editor[Any],
    original: Document,
    given: dict[str, object],
    before: Scene,
    after: Scene,
    comparison: Comparison,
    asked: Mapping[str, object],
    report: LossReport,
) -> Written | str:
    """The patched original, or why it cannot be."""
    try:
        after = editor.normalise_for_format(one_clip(after, before, report), before, report)
    except (Unpatchable, ArithmeticError, ValueError) as why:
        return str(why)
    matching = match(before, after)
    if matching.plain and not comparison.scenes(before, after):
        report.add(Outcome.EXACT, "/", "nothing was changed: the original is written as it was")
        return editor.choose_file(Written(original, report, editor.companion_files(original, given)), asked)
    if matching.plain and editor.needs_reordering(after) and not editor.needs_reordering(before):
        matching.plain = False
    made = copy.deepcopy(original, {id(original.format): original.format, id(original.limits): original.limits})
    work = _Work(format, editor, made, given, before, after, matching, report)
    try:
        return editor.choose_file(work.patched(comparison), asked)
    except (Unpatchable, ArithmeticError, ValueError) as why:  # scenes made by hand have rates and lenses of 0 and NaN
        return str(why)


class _Work:
    """One original on its way to mean another scene."""

    def __init__(
        self,
        format: Format,
        editor: Editor[Any],
        made: Document,
        options: dict[str, object],
        before: Scene,
        after: Scene,
        matching: Matching,
        report: LossReport,
    ) -> None:
        self.format = format
        self.editor = editor
        self.made = made
        self.options = options
        self.before = before
        self.after = after
        self.matching = matching
        self.report = report
        self.places: dict[int, int] = {number: number for number in range(len(after.nodes))}
        """numbers of nodes in the scene that is wanted, to those in the document"""

    def patched(self, comparison: Comparison) -> Written:
        """The original with everything changed that has to be; `Unpatchable` where it would mean something else."""
        start, goal = self.before, self.after
        if not self.matching.plain:
            start, goal = self._restructured()
        goal = self.editor.align_with_document(goal, start, self.report)
        changed = comparison.scenes(start, goal)
        wanted = goal
        goal = take_back(start, goal, changed, self.editor.unsupported_fields, self.report)
        if goal is not wanted:
            changed = comparison.scenes(start, goal)
        patch = self.editor.patch(self.made, self._reading(), goal, self.report)
        patch.apply(changed)
        reading = {**self.options, **patch.reading}
        data, _, again = read_again(self.made, reading)
        apart, overruled = differences(goal, again, self.editor)
        if apart:
            raise Unpatchable(f"{shown(apart[0])} would not come out as it is meant")
        if not self.matching.plain:
            lost = displaced(self.after, again, self.places)
            if lost is not None:
                raise Unpatchable(f"{lost!r} would not stand where it should")
        self._tell(changed, overruled)
        return Written(self.made, self.report, self.editor.companion_files(self.made, reading), data=data)

    def _restructured(self) -> tuple[Scene, Scene]:
        """Records taken out and put in: what the document then means, and what it should."""
        change = Change(self.before, self.after, self.matching, self.report)
        rebuilt = self.editor.rebuild(self.made, self._reading(), change)
        self.places = rebuilt.nodes
        self.options |= rebuilt.reading
        middle = self.format.to_scene(self.made, self.options)
        if len(middle.nodes) != rebuilt.node_count or not set(self.matching.nodes) <= set(self.places):
            raise Unpatchable("nodes would get lost")
        return middle, in_order_of(middle, self.after, self.matching, self.places, rebuilt.materials)

    def _reading(self) -> Any:
        """The options of the reader, as they stand."""
        return make_options(self.format.name, self.format.scene_reader().options, self.options)

    def _tell(self, changed: list[Path], overruled: set[Path]) -> None:
        tell_nodes(self.report, self.before, self.after, self.matching, self.places)
        for field in changed:
            lost = field in overruled
            outcome = Outcome.DROPPED if lost else Outcome.EXACT
            words = "other parts of the scene say otherwise" if lost else "changed in the original"
            self.report.add(outcome, shown(field), words)
