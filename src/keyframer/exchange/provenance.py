"""Where a scene comes from, as a written file remembers it for whoever finds it later."""

from __future__ import annotations

from keyframer.exchange.opening import OpenedFile
from keyframer.text import safe_text


def source_note(name: str, sha256: str, opened: OpenedFile) -> dict[str, object]:
    """The option ``source`` of an exporter; version and dialect where they are known."""
    note: dict[str, object] = {"name": safe_text(name), "sha256": sha256, "format": opened.reader.name}
    if opened.detection.version is not None:
        note["version"] = opened.detection.version
    if opened.importer is None and opened.document.dialect is not None:
        note["dialect"] = str(opened.document.dialect)
    return note
