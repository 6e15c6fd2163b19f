"""Garbage collection pauses while many objects are made that will all be kept."""

from __future__ import annotations

import gc


class GcPaused:
    """Pauses Python's search for cycles of objects; what is no longer referred to is freed at once all the same.

    It went through a growing document again and again, which made single doublings of a file cost 2.9 times the time;
    the figures are in docs/decisions/0010-lazy-fields-and-garbage-collection.md. The pause ends with the block.
    """

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
