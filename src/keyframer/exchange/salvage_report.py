"""Adds to a loss report what reading left out: parts of a damaged file, and content that scenes cannot store."""

from __future__ import annotations

from collections import Counter

from keyframer.scene import Scene
from keyframer.scene.loss_report import Loss, LossReport, Outcome

_LEFT_OUT = {"SEM_UNKNOWN_ENUM": "value", "SEM_EXTENSION_UNKNOWN": "name", "LINK_NOT_SHOWN": "what"}
"""codes of issues about content that an importer left out, and the argument that names it"""


def report_unimported(scene: Scene, report: LossReport) -> None:
    """Add an entry for each part of an imported file that is not in the scene: points, lines, instances, animated
    colours, a second set of texture coordinates …
    """
    reported: Counter[tuple[str, str]] = Counter()
    for issue in scene.issues:
        if issue.code in _LEFT_OUT and not issue.unsafe:
            reported[f"/{issue.args.get(_LEFT_OUT[issue.code])}", issue.message] += 1
    for (path, message), count in reported.items():
        times = f", {count} times" if count > 1 else ""
        report.add(Outcome.DROPPED, path, f"left out on reading: {message}{times}")


def report_salvaged(scene: Scene, report: LossReport) -> None:
    """Add an entry for each part that was left out when the scene was made, and for each code that was only counted."""
    left = scene.issues.unsafe_counts()
    for issue in scene.issues:
        if issue.unsafe:
            left[issue.code] -= 1
            message = f"left out by salvage: {issue.code}: {issue.message}"
            report.losses.append(Loss(Outcome.DROPPED, "/", message, None, None, issue.path, issue.offset))
    for code, count in left.items():
        if count > 0:
            report.add(Outcome.DROPPED, "/", f"left out by salvage: {code}, {count} more times")
