"""What a file is, from its head and its size; the whole of it is looked at only where the head is suspicious.

Starts without numpy, dataclasses and typing: ``keyframer identify`` must come up fast.
"""

from __future__ import annotations

from keyframer.exchange import IMPORTERS
from keyframer.formats import detect
from keyframer.plugins import ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = "keyframer.identify"
SCHEMA_VERSION = 1

COLUMNS = ("file", "size", "format", "title", "version", "dialect", "pronom", "certainty", "score", "reason", "damage")


class Identity:
    """What is known about one file. ``format`` is None where it is of no format that can be read."""

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

    def as_dict(self) -> dict[str, str | int | float | None]:
        return {name: getattr(self, name) for name in COLUMNS}

    def __str__(self) -> str:
        """One line for people."""
        if self.format is None:
            return f"not recognised: {self.reason}" + (f"; {self.damage}" if self.damage else "")
        parts = [f"{self.title} ({', '.join(part for part in (self.format, self.pronom) if part)})"]
        parts += [f"version {self.version}"] if self.version else []
        parts += [f"layout {self.dialect}"] if self.dialect else []
        line = f"{', '.join(parts)}; {self.certainty}: {self.reason}"
        return f"{line}; {self.damage}" if self.damage else line


def identify(head: bytes, size: int, name: str, whole: Callable[[], bytes]) -> Identity:
    """The identity of a file; ``whole()`` gives all its bytes and is called only where the head raises a suspicion."""
    found = detect(head, size=size, name=name)
    identity = Identity(name, size)
    identity.reason = found.reason
    if found.score < 1 and b"\r\n" in head and _all_lines_have_cr(head):
        identity.damage = _cr_added(whole())
    if found.format is None:
        _imported(identity, head, name)
        return identity
    identity.format = found.format.name
    identity.title = found.format.title
    identity.pronom = found.format.pronom
    identity.version = found.version
    identity.dialect = found.dialect
    identity.score = found.score
    identity.certainty = certainty(found.score)
    if found.score < 1 and identity.damage is None and found.format.diagnoses_damage:
        identity.damage = found.format.diagnose(whole())
    return identity


def _imported(identity: Identity, head: bytes, name: str) -> None:
    """Files of today's formats: they become scenes, and no document keeps their bytes."""
    for known in IMPORTERS:
        why = ask(known, known.sniff, head, name)
        if why is not None:
            identity.format, identity.title, identity.damage = known.name, known.title, None
            identity.score = 1.0 if head[:4] == b"glTF" else 0.8
            identity.certainty = certainty(identity.score)
            identity.reason = f"{why}; it can be loaded and converted, but is not kept byte for byte"
            return


def _all_lines_have_cr(data: bytes) -> bool:
    return data.count(b"\n") == data.count(b"\r\n")


def _cr_added(data: bytes) -> str | None:
    """Did a transfer in text mode put a CR before every LF? It did if taking them away gives a file without fault."""
    if not _all_lines_have_cr(data):
        return None
    repaired = data.replace(b"\r\n", b"\n")
    found = detect(repaired)
    if found.format is None or found.score < 1:
        return None
    extra = len(data) - len(repaired)
    return (
        f"damaged by a transfer in text mode: without a CR before each of {extra} LF it is a {found.format.title} file"
    )


def certainty(score: float) -> str:
    """The score in a word."""
    if score >= 1:
        return "certain"
    return "very likely" if score >= 0.8 else "likely" if score >= 0.6 else "possible"
