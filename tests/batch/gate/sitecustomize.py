"""Makes workers wait at a gate: Python runs this module if this folder is on its path (see `tests.batch.holding`).

Jobs on ``KEYFRAMER_GATE_FROM`` and files after it in order of names wait until there is a file ``open`` in the folder
``KEYFRAMER_GATE``: before they begin or, with ``KEYFRAMER_GATE_WRITING``, when their output is written and not renamed.
"""

from __future__ import annotations

import os
import time

GATE, FROM = os.environ.get("KEYFRAMER_GATE"), os.environ.get("KEYFRAMER_GATE_FROM", "")

if GATE:
    from keyframer.batch import job_execution
    from keyframer.files import writing

    perform, check = job_execution._perform, writing._Draft.check
    begun = [""]

    def wait():  # type: ignore[no-untyped-def]
        if begun[0] >= FROM:
            with open(os.path.join(GATE, f"held-{os.getpid()}"), "w"):
                pass
            while not os.path.exists(os.path.join(GATE, "open")):
                time.sleep(0.01)

    def held(job, result):  # type: ignore[no-untyped-def]
        begun[0] = os.path.basename(job.source)
        if not os.environ.get("KEYFRAMER_GATE_WRITING"):
            wait()
        perform(job, result)

    def held_check(draft):  # type: ignore[no-untyped-def]
        if os.environ.get("KEYFRAMER_GATE_WRITING"):
            wait()
        check(draft)

    job_execution._perform, writing._Draft.check = held, held_check
