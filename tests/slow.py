"""Whether this is a run of ``make slow``, which takes the time for everything."""

from __future__ import annotations

import os

SLOW = bool(os.environ.get("KEYFRAMER_SLOW"))
