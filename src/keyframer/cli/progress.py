"""The progress line of a long run on a terminal: files, percentage, rate, time left, failures."""

from __future__ import annotations

import argparse
import sys
import time

_EVERY = 0.2
"""seconds between two updates"""


class Progress:
    """One line on stderr that is overwritten; nothing if stderr is not a terminal, or with ``-q``."""

    def __init__(self, options: argparse.Namespace, total: int) -> None:
        self._on = not options.quiet and sys.stderr.isatty()
        self._total = total
        self._start = time.monotonic()
        self._next = self._start + _EVERY

    def show(self, finished: int, worked: int, failed: int) -> None:
        """Update the line. ``worked`` is the number of finished files that were not skipped, for the rate."""
        now = time.monotonic()
        if not self._on or now < self._next:
            return
        self._next = now + _EVERY
        print(
            f"\r\x1b[K{progress_line(self._total, finished, worked, failed, now - self._start)}",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def clear(self) -> None:
        if self._on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start


def progress_line(total: int, finished: int, worked: int, failed: int, seconds: float) -> str:
    share = 100 * finished / total if total else 100
    line = f"{finished:,} of {total:,} ({share:.0f} %)"
    if worked and seconds > 0:
        rate = worked / seconds
        line += f", {rate:.{0 if rate >= 10 else 1}f} per second, {clock((total - finished) / rate)} left"
    return line + (f", {failed:,} failed" if failed else "")


def clock(seconds: float) -> str:
    """Return seconds as ``1:02:03`` or ``2:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
