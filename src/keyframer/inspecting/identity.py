"""Recognises a file by its first bytes and its size; the whole file is read only if these are not conclusive.

Imports neither numpy nor dataclasses nor typing: ``keyframer identify`` must start fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyframer.exchange import IMPORTERS
from keyframer.formats import detect, text_mode_damage
from keyframer.plugins import call_plugin
from keyframer.text import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = "keyframer.identify"
SCHEMA_VERSION = 1

COLUMNS = ("file", "size", "format", "title", "version", "dialect", "pronom", "certainty", "score", "reason", "damage")


class Identity:
    """The identification of a file. ``format`` is None if the format is unknown, or known but not read; then
    ``title`` has its name."""

    __slots__ = COLUMNS

    def __init__(self, file: str, size: int) -> None:
        self.file = file
        self.size = size
        self.format: str | None = None
        self.title: str | None = None
        self.version: str | None = None
        self.dialect: str | None = None
        self.pronom: str | None = None
        self.certainty = "none"
        self.score = 0.0
        self.reason = ""
        self.damage: str | None = None

    def record(self) -> dict[str, object]:
        """Return the columns as JSON values; text is safe to show."""
        values = {name: getattr(self, name) for name in COLUMNS}
        return {name: safe_text(value) if isinstance(value, str) else value for name, value in values.items()}

    def __str__(self) -> str:
        """Return the identification as one line."""
        if self.format is None:
            line = self.reason if self.title else f"not recognised: {self.reason}"
            return f"{line}; {self.damage}" if self.damage else line
        parts = [f"{self.title} ({', '.join(part for part in (self.format, self.pronom) if part)})"]
        parts += [f"version {self.version}"] if self.version else []
        parts += [f"layout {self.dialect}"] if self.dialect else []
        line = f"{', '.join(parts)}; {self.certainty}: {self.reason}"
        return f"{line}; {self.damage}" if self.damage else line


def identify(head: bytes, size: int, name: str, read_all: Callable[[], bytes]) -> Identity:
    """Identify a file; ``read_all()`` returns all its bytes and is called only if the head is not conclusive."""
    detection = detect(head, size=size, name=name)
    identity = Identity(name, size)
    identity.reason = detection.reason
    identity.damage = text_mode_damage(detection, head, read_all)
    if detection.format is None:
        identity.title = detection.stranger
        _identify_exchange_format(identity, head, name)
        return identity
    identity.format = detection.format.name
    identity.title = detection.format.title
    identity.pronom = detection.format.pronom_of(head)
    identity.version = detection.version
    identity.dialect = detection.dialect
    identity.score = detection.score
    identity.certainty = certainty(detection.score)
    return identity


def _identify_exchange_format(identity: Identity, head: bytes, name: str) -> None:
    """Recognise files of exchange formats, which can be loaded as scenes but have no documents."""
    for known in IMPORTERS:
        reason = call_plugin(known, known.sniff, head, name)
        if reason is not None:
            identity.format, identity.title, identity.damage = known.name, known.title, None
            identity.score = 1.0 if head[:4] == b"glTF" else 0.8
            identity.certainty = certainty(identity.score)
            identity.reason = f"{reason}; it can be loaded and converted, but is not kept byte for byte"
            return


def certainty(score: float) -> str:
    """Return the score in words."""
    if score >= 1:
        return "certain"
    return "very likely" if score >= 0.8 else "likely" if score >= 0.6 else "possible"
