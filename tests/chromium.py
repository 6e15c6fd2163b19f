"""Debian's Chromium, driven by Playwright. A process can have one driver only, so all tests of a process share it."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Playwright


@cache
def _driver() -> Playwright:
    from playwright.sync_api import sync_playwright

    driver = sync_playwright().start()
    atexit.register(driver.stop)
    return driver


@contextmanager
def open_chromium(arguments: Sequence[str]) -> Iterator[Any]:
    """A browser of its own; it is closed at the end."""
    chromium = _driver().chromium.launch(executable_path=shutil.which("chromium"), args=list(arguments))
    try:
        yield chromium
    finally:
        chromium.close()
