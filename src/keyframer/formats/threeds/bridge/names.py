"""Shown names: unique in the scene, as close to the file's as can be."""

from __future__ import annotations


class UniqueNames:
    """Hands out names; the second ``Box`` becomes ``Box.2``. Linear, however many are alike."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def claim(self, wanted: str) -> str:
        wanted = wanted or "unnamed"
        name = wanted
        while name in self._taken:
            number = self._next.get(wanted, 2)
            self._next[wanted] = number + 1
            name = f"{wanted}.{number}"
        self._taken.add(name)
        return name
