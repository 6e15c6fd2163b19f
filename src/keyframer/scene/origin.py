"""Where a scene comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(eq=False, repr=False, frozen=True)
class Origin:
    """The document that a scene was made from, and the options that decided what it means."""

    document: Any
    options: Mapping[str, object]
    folder: Path | None = None
    """where its file lies, if it came from one"""

    def __repr__(self) -> str:
        return f"<Origin: {self.document!r}>"
