"""Whether the tests run under ``make slow``, which repeats tests with more values and larger files."""

from __future__ import annotations

import os

SLOW = bool(os.environ.get("KEYFRAMER_SLOW"))
