"""Defaults that the help text shows, importable without loading the rest of this package."""

SECONDS = 60.0
"""time limit for each file"""
MEMORY = 2 << 30
"""bytes of address space for each worker process"""
FILES_PER_TASK = 200
LEDGER = "keyframer-batch.sqlite"

DONE, FINDINGS, FAILED = "done", "findings", "failed"
STATUSES = (DONE, FINDINGS, FAILED)
"""``findings``: done, and a check found something at or above its ``fail_on``"""
