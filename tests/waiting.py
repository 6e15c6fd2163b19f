"""Waiting for a condition however busy the machine is: the time limit only ends tests that would hang."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 600.0
"""seconds after which something hangs; no test is judged by how long it takes"""


def wait_for(condition: Callable[[], object]) -> None:
    """Poll until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "what is waited for does not happen"
        time.sleep(0.02)
