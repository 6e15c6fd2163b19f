"""What is written of a damaged file says what is missing."""

from __future__ import annotations

from keyframer.scene import Scene
from keyframer.scene.report import Loss, LossReport, Outcome


def tell_salvaged(scene: Scene, report: LossReport) -> None:
    """An entry for each piece that was left out while the scene was made, and for each kind that was only counted."""
    left = scene.issues.unsafe_counts()
    for issue in scene.issues:
        if issue.unsafe:
            left[issue.code] -= 1
            words = f"left out by salvage: {issue.code}: {issue.message}"
            report.losses.append(Loss(Outcome.DROPPED, "/", words, None, None, issue.path, issue.offset))
    for code, count in left.items():
        if count > 0:
            report.add(Outcome.DROPPED, "/", f"left out by salvage: {code}, {count} more times")
