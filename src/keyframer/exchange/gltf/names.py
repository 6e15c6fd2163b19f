"""Names of glTF nodes: never empty, all different, safe to show."""

from __future__ import annotations

from keyframer.text import safe_text


class Names:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def claim(self, wanted: str, fallback: str = "node") -> str:
        """The wanted name, with a number behind it where it is taken."""
        base = safe_text(wanted).strip() or fallback
        name = base
        while name in self._taken:
            number = self._next.get(base, 2)
            self._next[base] = number + 1
            name = f"{base}.{number:03d}"
        self._taken.add(name)
        return name
