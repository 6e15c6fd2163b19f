"""What tests of losses share: a scene written, read again, and what the report says of it."""

from __future__ import annotations

from typing import NamedTuple

import keyframer
from keyframer.formats import format_by_name
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome


class Told(NamedTuple):
    """A document, its report, and what a reader who is told what the writer says makes of the bytes."""

    document: Document
    report: LossReport
    found: Scene


def write(format: str, scene: Scene, **options: object) -> Told:
    """The scene in a format, by way of bytes."""
    written = format_by_name(format).from_scene(scene, options)
    document = keyframer.decode(keyframer.encode(written.document), format=format)
    return Told(written.document, written.report, scene_of(document, written.reading))


def said(report: LossReport, outcome: Outcome) -> dict[str, str]:
    """The details of an outcome by their paths."""
    return {loss.path: loss.detail for loss in report.of(outcome)}
