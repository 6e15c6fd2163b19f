"""The collector of cycles waits while many objects are made that will all be kept."""

from __future__ import annotations

import gc


class Uncollected:
    """Looking through a growing document again and again took a third of reading a file of many
    small records, and made single doublings of its size cost 2.9 times the time. Nothing is collected later than after
    the block, and what is no longer referred to is freed at once all the same."""

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()
