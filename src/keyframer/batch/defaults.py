"""Numbers and names that the command line shows before anything else is loaded."""

SECONDS = 60.0
"""for each file"""
MEMORY = 2 << 30
"""bytes of address space for each worker process"""
FILES_PER_TASK = 200
LEDGER = "keyframer-batch.sqlite"

DONE, FINDINGS, FAILED = "done", "findings", "failed"
STATUSES = (DONE, FINDINGS, FAILED)
"""``findings``: done, and a check found something at or above its ``fail_on``"""
