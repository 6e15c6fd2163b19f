"""What a format offers. Functions are loaded when first used, so that naming a format costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from keyframer.formats._document import Document
    from keyframer.limits import Limits


@dataclass(frozen=True, slots=True)
class Match:
    """How surely the bytes are of a format (0 to 1), why, and what the head says about version and layout."""

    score: float
    reason: str
    version: str | None = None
    dialect: str | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. ``sniff(head, size)`` sees the first `HEAD_SIZE` bytes and the size of the file."""

    name: str
    title: str
    extensions: tuple[str, ...]
    sniff: Callable[[bytes, int], Match | None]
    package: str
    pronom: str | None = None
    """identifier in The National Archives' PRONOM registry"""

    def _load(self, module: str, function: str) -> Any:
        return getattr(import_module(f"{self.package}.{module}"), function)

    def decode(self, data: bytes, limits: Limits) -> Document:
        return cast("Document", self._load("document", "decode")(data, limits))

    def encode(self, document: Document) -> bytes:
        return cast(bytes, self._load("document", "encode")(document))

    def record_types(self) -> dict[str, type[Any]]:
        """Every record the format declares, by name."""
        return cast("dict[str, type[Any]]", self._load("document", "record_types")())

    def has(self, part: str) -> bool:
        """Whether the format has such a module: ``bridge``, ``rules`` …"""
        return find_spec(f"{self.package}.{part}") is not None

    def __repr__(self) -> str:
        return f"<Format {self.name}: {self.title}>"


HEAD_SIZE = 4096
"""how much of a file detection looks at"""
