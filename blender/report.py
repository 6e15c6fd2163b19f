# SPDX-License-Identifier: GPL-3.0-or-later
"""What users are told: one line, a popup with the losses, a text block with everything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from keyframer.issues import Issue
from keyframer.scene.loss_report import LossReport, Outcome

_MOST_SHOWN = 12
"""lines of the popup; the text block has all"""


class Told:
    """The report of one file."""

    def __init__(self, verb: str, name: str, losses: LossReport, issues: Iterable[Issue] = (), keys: str = "") -> None:
        self.name = name
        self.losses = losses
        self.issues = [str(issue) for issue in issues]
        self.line = f"{verb} {name}{f' ({keys})' if keys else ''}: {losses.summary()}"
        if self.issues:
            self.line += f"; {len(self.issues)} problem{'s' if len(self.issues) > 1 else ''} in the file"

    @property
    def is_lossy(self) -> bool:
        """Whether there is anything that a user should look at."""
        return bool(self.issues) or bool(self.losses.count(Outcome.DROPPED))

    def lines(self) -> list[str]:
        """Everything, the worst first."""
        order = (Outcome.DROPPED, Outcome.EXTRAS, Outcome.BAKED, Outcome.APPROXIMATED, Outcome.EXACT)
        return [*self.issues, *(str(loss) for outcome in order for loss in self.losses.of(outcome))]


def keep_text(told: Told) -> Any:
    """The text block with all details; a second report of a file of the same name replaces the first."""
    name = f"Keyframer: {told.name}"
    text = bpy.data.texts.get(name) or bpy.data.texts.new(name)
    text.clear()
    text.write("\n".join([told.line, "", *told.lines()]) + "\n")
    return text


def draw_lines(layout: Any, told: list[Told]) -> None:
    """The popup: losses and problems, and where to find the rest."""
    lines = [f"{each.name}: {line}" for each in told for line in each.lines() if not line.startswith("exact")]
    for line in lines[:_MOST_SHOWN]:
        layout.label(text=line[:160])
    if len(lines) > _MOST_SHOWN:
        layout.label(text=f"… and {len(lines) - _MOST_SHOWN} more")
    names = ", ".join(f"“Keyframer: {each.name}”" for each in told[:3])
    layout.label(text=f"All of it is in the Text Editor: {names}", icon="TEXT")


def show(context: Any, title: str, told: list[Told]) -> None:
    """Open the popup, where there is a window to open it in."""
    if bpy.app.background or context.window is None or not told:
        return
    context.window_manager.popup_menu(lambda menu, _: draw_lines(menu.layout, told), title=title, icon="INFO")
