"""Runs the code of a format or importer: garbage collection is paused while many objects are created that will all be
kept, numpy does not warn, and an error of a plugin fails only the current file.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from keyframer.plugins import PluginErrorBoundary


class GcPaused:
    """Pauses Python's search for reference cycles; objects without references are still freed at once.

    The search visits a growing document again and again, so that a file of twice the size could take more than 2.5
    times as long to read; the figures are in docs/decisions/0010-lazy-fields-and-garbage-collection.md. The pause ends
    with the block.
    """

    __slots__ = ("_was_on",)

    def __enter__(self) -> None:
        self._was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_on:
            gc.enable()


@contextmanager
def guarded(plugin: object, *allowed: type[Exception]) -> Iterator[None]:
    """Run code of a format or importer; ``allowed`` exceptions pass unchanged.

    Unusual numbers in files are kept and reported, so numpy must not warn about them.
    """
    with GcPaused(), np.errstate(all="ignore"), PluginErrorBoundary(plugin, *allowed):
        yield
