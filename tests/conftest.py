"""What holds for all tests: nothing is judged by the clock, machines are shared."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("keyframer", deadline=None)
settings.load_profile("keyframer")
