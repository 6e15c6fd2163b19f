"""Parts as damaged files contain them: unsorted keys, rates of 0, nodes that do not exist.

Constructors refuse these in programs, but not while a file is being read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from keyframer.limits import Budget, Limits


@contextmanager
def as_read_from_a_file() -> Iterator[None]:
    """Inside, constructors accept what files may contain."""
    with Budget(Limits(samples=10**15, keys=10**15, nodes=10**15, copies=10**15)).opened():
        yield
