"""Debian's Chromium, driven by Playwright. A process can have one driver only, so all tests of a process share it.

The headless shell is the same engine without windows. It opens a page with 40 % of the processor time that Chromium
needs, because Chromium also loads the pages of its own windows.
"""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Playwright


def chromium_path() -> str | None:
    """The browser to start: the headless shell if it is installed, otherwise Chromium."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")


def why_no_chromium() -> str | None:
    """Why pages cannot be shown here; None if they can."""
    if chromium_path() is None:
        return "no Chromium here (Debian's package chromium-headless-shell)"
    if find_spec("playwright") is None:
        return "playwright is not installed"
    return None


@cache
def _driver() -> Playwright:
    from playwright.sync_api import sync_playwright

    driver = sync_playwright().start()
    atexit.register(driver.stop)
    return driver


@contextmanager
def open_chromium(arguments: Sequence[str]) -> Iterator[Any]:
    """Yield a new browser and close it at the end."""
    chromium = _driver().chromium.launch(executable_path=chromium_path(), args=list(arguments))
    try:
        yield chromium
    finally:
        chromium.close()
