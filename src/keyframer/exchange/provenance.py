"""Where a scene comes from, as a written file remembers it for whoever finds it later."""

from __future__ import annotations

from keyframer.text import safe_text


def source_note(
    name: str, sha256: str, format: str | None, version: str | None, dialect: object | None
) -> dict[str, object]:
    """The option ``source`` of an exporter; version and dialect where they are known."""
    found: dict[str, object] = {"name": safe_text(name), "sha256": sha256, "format": format}
    if version is not None:
        found["version"] = version
    if dialect is not None:
        found["dialect"] = str(dialect)
    return found
