"""Pauses garbage collection while many objects are created that will all be kept."""

from __future__ import annotations

import gc


class GcPaused:
    """Pauses Python's search for reference cycles; objects without references are still freed at once.

    The search visits a growing document again and again, so that doubling a file could take 2.9 times as long;
    the figures are in docs/decisions/0010-lazy-fields-and-garbage-collection.md. The pause ends with the block.
    """

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
