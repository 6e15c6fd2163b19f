"""The fuzzing harness: `mutating` makes inputs, `operations` does everything to them, `running` runs for hours.

``make fuzz SECONDS=600`` or ``python -m tests.fuzz --seconds 600``; docs/reliability.md says what it found.
"""
