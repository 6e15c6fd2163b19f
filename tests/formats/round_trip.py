"""Helpers for tests of losses: write a scene, read it again, and look up the report."""

from __future__ import annotations

from typing import NamedTuple

import keyframer
from keyframer.formats import format_by_name
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome


class RoundTrip(NamedTuple):
    """A written document, its loss report, and the scene read from its bytes with the reading options of the writer."""

    document: Document
    report: LossReport
    scene: Scene


def write(format: str, scene: Scene, **options: object) -> RoundTrip:
    """Write the scene in a format and read it again."""
    written = format_by_name(format).from_scene(scene, options)
    document = keyframer.decode(keyframer.encode(written.document), format=format)
    return RoundTrip(written.document, written.report, scene_of(document, written.reader_options))


def details(report: LossReport, outcome: Outcome) -> dict[str, str]:
    """The details of all losses with this outcome, by path."""
    return {loss.path: loss.detail for loss in report.of(outcome)}
