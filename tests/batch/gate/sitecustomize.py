"""Makes workers wait at a gate: Python runs this module if this folder is on its path (see `tests.batch.holding`).

Jobs on ``KEYFRAMER_GATE_FROM`` and files after it in order of names wait until there is a file ``open`` in the folder
``KEYFRAMER_GATE``.
"""

from __future__ import annotations

import os
import time

GATE, FROM = os.environ.get("KEYFRAMER_GATE"), os.environ.get("KEYFRAMER_GATE_FROM", "")

if GATE:
    from keyframer.batch import job_execution

    perform = job_execution._perform

    def held(job, result):  # type: ignore[no-untyped-def]
        if os.path.basename(job.source) >= FROM:
            with open(os.path.join(GATE, f"held-{os.getpid()}"), "w"):
                pass
            while not os.path.exists(os.path.join(GATE, "open")):
                time.sleep(0.01)
        perform(job, result)

    job_execution._perform = held
