"""Removing the temporary files of writers that were killed."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress

_TEMPORARY = re.compile(r"\.kf-[0-9a-f]{12}")  # as keyframer.files names them


def sweep(folders: Iterable[str], *, older_than: float = 0.0) -> int:
    """Remove them from these folders (not those inside); how many there were.

    ``older_than`` seconds: leave younger ones alone where somebody may still be writing.
    """
    removed = 0
    latest = time.time() - older_than
    for folder in folders:
        try:
            entries = os.scandir(folder)
        except OSError:
            continue
        with entries:
            for entry in entries:
                if not _TEMPORARY.fullmatch(entry.name):
                    continue
                with suppress(OSError):
                    if entry.is_file(follow_symlinks=False) and entry.stat().st_mtime <= latest:
                        os.unlink(entry.path)
                        removed += 1
    return removed
