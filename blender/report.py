# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows reports: one line, a popup with losses and issues, a text block with all details."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from keyframer.issues import Issue
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted

_MOST_SHOWN = 12
"""maximum number of losses and issues in the popup; the text block has all"""


class FileReport:
    """The report of one file."""

    def __init__(
        self, verb: str, name: str, losses: LossReport, issues: Iterable[Issue] = (), tracks: str = ""
    ) -> None:
        self.name = name
        self.losses = losses
        self.issues = [str(issue) for issue in issues]
        self.line = f"{verb} {name}{f' ({tracks})' if tracks else ''}: {losses.summary()}"
        if self.issues:
            self.line += f"; {counted(len(self.issues), 'issue')} in the file"

    @property
    def needs_attention(self) -> bool:
        """Whether the file has issues, or something was dropped."""
        return bool(self.issues) or bool(self.losses.count(Outcome.DROPPED))

    def lines(self) -> list[str]:
        """Return the issues, then the outcome of each part, the worst first."""
        order = (Outcome.DROPPED, Outcome.EXTRAS, Outcome.BAKED, Outcome.APPROXIMATED, Outcome.EXACT)
        return [*self.issues, *(str(loss) for outcome in order for loss in self.losses.of(outcome))]


def write_text_block(report: FileReport) -> Any:
    """Write the text block with all details; it replaces an older report on a file of the same name."""
    name = f"Keyframer: {report.name}"
    text = bpy.data.texts.get(name) or bpy.data.texts.new(name)
    text.clear()
    text.write("\n".join([report.line, "", *report.lines()]) + "\n")
    return text


def draw_lines(layout: Any, reports: list[FileReport]) -> None:
    """Draw the popup: losses and issues, and where to find all details."""
    lines = [f"{report.name}: {line}" for report in reports for line in report.lines() if not line.startswith("exact")]
    for line in lines[:_MOST_SHOWN]:
        layout.label(text=line[:160])
    if len(lines) > _MOST_SHOWN:
        layout.label(text=f"… and {len(lines) - _MOST_SHOWN} more")
    names = ", ".join(f"“Keyframer: {report.name}”" for report in reports[:3])
    layout.label(text=f"Details are in the Text Editor: {names}", icon="TEXT")


def show(context: Any, title: str, reports: list[FileReport]) -> None:
    """Open the popup, if there are reports and a window."""
    if bpy.app.background or context.window is None or not reports:
        return
    context.window_manager.popup_menu(lambda menu, _: draw_lines(menu.layout, reports), title=title, icon="INFO")
