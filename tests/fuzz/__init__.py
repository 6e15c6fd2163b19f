"""The fuzzer: `mutating` makes inputs, `operations` runs everything on them, `running` runs for hours.

``make fuzz SECONDS=600`` or ``python -m tests.fuzz --seconds 600``; docs/reliability.md lists what it found.
"""
