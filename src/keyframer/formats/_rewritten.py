"""What is gone from an original that could not be patched: all that is unknown in it, and records without a match."""

from __future__ import annotations

from collections import Counter

from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import Written
from keyframer.scene.loss_report import Outcome
from keyframer.wire.record import Raw, Record

_MOST = 100
"""unknown parts that are named one by one"""


def tell_rewritten(original: Document, written: Written, why: str, otherwise: tuple[type[Record], ...] = ()) -> None:
    """Report that all was written anew, and what of the original is not in it; ``otherwise`` are kinds of records of
    which others say the same."""
    report = written.report
    report.add(Outcome.BAKED, "/", f"the original could not be patched ({why}): all was written anew")
    unknown = _unknown(original)
    for path, size in unknown[:_MOST]:
        report.add(Outcome.DROPPED, path, f"{size} bytes of the original that nobody knows were dropped")
    if len(unknown) > _MOST:
        rest = unknown[_MOST:]
        words = f"{sum(size for _, size in rest)} more bytes that nobody knows were dropped, in {len(rest)} places"
        report.add(Outcome.DROPPED, "/", words)
    kept = {type(record) for record in written.document.find(Record)}
    gone: Counter[str] = Counter()
    for each in original.find(Record):
        if type(each) not in kept and not isinstance(each, Raw) and not isinstance(each, otherwise):
            gone[type(each).__name__] += 1
    if gone:
        words = ", ".join(f"{count} {name}" for name, count in sorted(gone.items()))
        report.add(Outcome.DROPPED, "/", f"records of the original that a new file has none of: {words}")


def _unknown(original: Document) -> list[tuple[str, int]]:
    """Raw records, tails of records and bytes behind the last one: path and size."""
    found = []
    for place, record in original.walk():
        if isinstance(record, Raw):
            found.append((str(place), len(record.data)))
        if record.tail:
            found.append((f"{place}/tail", len(record.tail)))
    if original.trailing:
        found.append(("/trailing", len(original.trailing)))
    return found
