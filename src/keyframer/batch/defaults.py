"""Defaults for the help text, and statuses. Importing this module does not load the rest of the package."""

SECONDS = 60.0
"""time limit for each file"""
MEMORY = 2 << 30
"""bytes of address space for each worker process"""
FILES_PER_TASK = 200
LEDGER = "keyframer-batch.sqlite"

DONE, FINDINGS, FAILED = "done", "findings", "failed"
STATUSES = (DONE, FINDINGS, FAILED)
"""``findings``: done, but a check found issues at or above ``fail_on``, or ``salvage`` left out parts"""
