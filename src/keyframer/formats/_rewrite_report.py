"""Report nodes and materials that were added to an original or removed from it, and data that a new file lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from keyframer.formats._matching import Matching
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import STILL_USED, Written, plain_path
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted, plural
from keyframer.wire.record import Raw, Record

_MOST_LISTED = 100
"""maximum number of places with unknown bytes that are listed one by one"""


def report_parts(report: LossReport, kind: str, after: Scene, matching: Matching, stored: Collection[int]) -> None:
    """Report nodes or materials that were removed from an original, added to it, replaced in it, or dropped.

    ``stored`` are the numbers in ``after`` of the parts that have records.
    """
    pairs, replacements = (matching.nodes, matching.replacements) if kind == "nodes" else (matching.materials, {})
    before = getattr(matching.before, kind)
    reported = {loss.path for loss in report}
    kept = {loss.path for loss in report if loss.detail == STILL_USED}
    for number in sorted(set(range(len(before))) - {*pairs.values(), *replacements.values()}):
        path = plain_path(kind, before[number].name)
        if path not in kept:
            report.add(Outcome.EXACT, path, "removed from the original")
    for number, part in enumerate(getattr(after, kind)):
        path = plain_path(kind, part.name)
        if number not in pairs and number in stored:
            report.add(Outcome.EXACT, path, f"{'replaced in' if number in replacements else 'added to'} the original")
        elif number not in pairs and kind == "nodes" and path not in reported:
            report.add(Outcome.DROPPED, path, f"{plural(part.kind.noun)} cannot be stored in this format")


def report_rewrite(
    original: Document, written: Written, reason: str, equivalent_records: tuple[type[Record], ...] = ()
) -> None:
    """Report that a new document was written, and which data of the original is lost.

    ``equivalent_records`` are types of records that the writer replaces by equivalent ones.
    """
    report = written.report
    report.add(Outcome.BAKED, "/", f"the original could not be edited in place ({reason}): a new file was written")
    unknown = _unknown(original)
    for path, size in unknown[:_MOST_LISTED]:
        report.add(Outcome.DROPPED, path, f"{counted(size, 'unknown byte')} of the original")
    if len(unknown) > _MOST_LISTED:
        unlisted = unknown[_MOST_LISTED:]
        total = counted(sum(size for _, size in unlisted), "more unknown byte")
        message = f"{total} in {counted(len(unlisted), 'place')}"
        report.add(Outcome.DROPPED, "/", message)
    written_types = {type(record) for record in written.document.find(Record)}
    lost: Counter[str] = Counter()
    for record in original.find(Record):
        if type(record) not in written_types and not isinstance(record, (Raw, *equivalent_records)):
            lost[type(record).__name__] += 1
    if lost:
        message = ", ".join(f"{count} {name}" for name, count in sorted(lost.items()))
        report.add(Outcome.DROPPED, "/", f"records of the original that the new file does not have: {message}")


def _unknown(original: Document) -> list[tuple[str, int]]:
    """Return path and size of all raw records, tails of records and trailing bytes."""
    unknown = []
    for place, record in original.walk():
        if isinstance(record, Raw):
            unknown.append((str(place), len(record.data)))
        if record.tail:
            unknown.append((f"{place}/tail", len(record.tail)))
    if original.trailing:
        unknown.append(("/trailing", len(original.trailing)))
    return unknown
