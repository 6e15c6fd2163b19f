"""Limits on the cost of reading a file and of what is made from it.

A file is read within fixed limits. Everything made from it (a scene, another file, a picture, a table) is paid from one
`Budget`, which grows with the bytes read: a small file costs little, whatever it claims and whatever is requested.
Code calls `spend` before it does expensive work; the caller that starts the work opens the budget (`budgeted`).
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from keyframer.catalogue import LIMIT_BUDGETS
from keyframer.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for reading one file, and the budget for what is made from it. The defaults are far above any real file
    we know and far below what could do harm."""

    file_size: int = 512 * 1024 * 1024
    """bytes of input (LIMIT_FILE_SIZE)"""
    records: int = 4_000_000
    """chunks or records in one file (LIMIT_RECORDS)"""
    depth: int = 256
    """nesting of known chunks or blocks (LIMIT_DEPTH); nothing recurses; real skeletons are 20 nodes deep"""
    name: int = 1024 * 1024
    """bytes of one name (LIMIT_NAME)"""
    issues: int = 1_000
    """issues listed of one file; all are counted"""
    issues_per_code: int = 20
    """issues listed of one code; all are counted"""
    copies: int = 1_000_000
    """budget: numbers in a scene that come from data used by several parts of a file (LIMIT_COPIES)"""
    nodes: int = 3_000
    """budget: nodes written to a new file of another format than glTF (LIMIT_NODES)"""
    keys: int = 100_000
    """budget: keys created for motion that another format cannot store directly (LIMIT_KEYS)"""
    samples: int = 8_000_000
    """budget: numbers sampled from curves, 16 per matrix, and posed vertices (LIMIT_SAMPLES)"""
    faces: int = 200_000
    """budget: faces drawn, or written to a file of another format than glTF (LIMIT_FACES)"""
    pixels: int = 500_000_000
    """budget: pixels of pictures, and of the faces drawn in them (LIMIT_PIXELS)"""
    image_bytes: int = 64 * 1024 * 1024
    """budget: bytes of decoded images, four per pixel (LIMIT_IMAGE_BYTES)"""
    archive_bytes: int = 1024 * 1024
    """budget: bytes of all members of an archive, unpacked (LIMIT_ARCHIVE_BYTES)"""


DEFAULT_LIMITS = Limits()
BASE_INPUT_SIZE = 64 * 1024
"""bytes of input up to which a budget is as in `Limits`; for larger inputs it grows in proportion"""
_BASE_INPUT_SIZES = {"copies": 64 * BASE_INPUT_SIZE}
"""the base size for single kinds: `copies` grows more slowly, because copies take much memory (data in the file itself
is granted in addition)
"""
MOST_ENTRIES = 200_000
"""maximum number of files and folders examined below one folder in a search"""


class Budget:
    """The allowed cost of one piece of work: ``spent`` counts it, ``size`` is the number of bytes read for it."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, size: int = 0) -> None:
        self.limits = limits
        self.size = size
        self.spent: dict[str, int] = {}
        self.granted: dict[str, int] = {}

    @contextmanager
    def opened(self) -> Iterator[Budget]:
        """Make this the open budget inside the block."""
        token = _OPEN.set(self)
        try:
            yield self
        finally:
            _OPEN.reset(token)

    def add_input(self, size: int) -> None:
        """Enlarge the budget: ``size`` more bytes were read."""
        self.size += size

    def total(self, kind: str) -> int:
        """Return how much may be spent of a kind, including what was spent."""
        floor: int = getattr(self.limits, kind)
        base = _BASE_INPUT_SIZES.get(kind, BASE_INPUT_SIZE)
        return floor * max(self.size, base) // base + self.granted.get(kind, 0)

    def grant(self, kind: str, count: int) -> None:
        """Allow more of a kind: data that a file contains is not a copy."""
        self.granted[kind] = self.granted.get(kind, 0) + count

    def left(self, kind: str) -> int:
        """Return how much may still be spent of a kind."""
        return max(self.total(kind) - self.spent.get(kind, 0), 0)

    def charge(self, kind: str, count: int) -> bool:
        """Count work and return whether all of it is within the budget. Refused work stays counted, so that later,
        smaller work is refused, too."""
        self.spent[kind] = self.spent.get(kind, 0) + count
        return self.spent[kind] <= self.total(kind)

    def spend(self, kind: str, count: int, path: str = "/", what: str = "repeated use of data") -> None:
        """Count work before it is done; raises `FormatError` with the code of its kind, counting nothing, if it exceeds
        the budget."""
        if count > self.left(kind):
            total = self.spent.get(kind, 0) + count
            raise LIMIT_BUDGETS[kind].failure(0, path, what=what, count=total, limit=self.total(kind))
        self.spent[kind] = self.spent.get(kind, 0) + count

    def state(self, kind: str) -> dict[str, Any]:
        """Return the amount spent and the limit: the values for a message."""
        return {"count": self.spent[kind], "limit": self.total(kind)}


_OPEN: ContextVar[Budget | None] = ContextVar("_OPEN", default=None)


@contextmanager
def budgeted(limits: Limits | None = None, size: int = 0) -> Iterator[Budget]:
    """Yield the open budget, or open a new one for an input of ``size`` bytes."""
    open_ = _OPEN.get()
    if open_ is not None:
        yield open_
        return
    budget = Budget(limits or DEFAULT_LIMITS, size)
    with budget.opened():
        yield budget


def open_or_new_budget(limits: Limits, size: int) -> Budget:
    """Return the open budget. Without one, return a new budget for an input of ``size`` bytes, and do not open it."""
    return _OPEN.get() or Budget(limits, size)


def is_budget_open() -> bool:
    """Return whether work on a file is going on, which is always within a budget."""
    return _OPEN.get() is not None


def spend(kind: str, count: int, path: str = "/") -> None:
    """Call `Budget.spend` on the open budget; without one there is no limit."""
    open_ = _OPEN.get()
    if open_ is not None:
        open_.spend(kind, count, path)


def charge(kind: str, count: int) -> bool:
    """Call `Budget.charge` on the open budget; returns True without one."""
    open_ = _OPEN.get()
    return open_ is None or open_.charge(kind, count)


def ensure_budget(kind: str, count: int) -> None:
    """Raise `FormatError` if ``count`` exceeds `budget_left`; nothing is counted."""
    budget = _OPEN.get() or Budget()
    if count > budget.left(kind):
        budget.spend(kind, count)


def budget_left(kind: str) -> int:
    """Return `Budget.left` of the open budget, or of a new one."""
    return (_OPEN.get() or Budget()).left(kind)


def budget_total(kind: str) -> int:
    """Return `Budget.total` of the open budget, or of a new one."""
    return (_OPEN.get() or Budget()).total(kind)


def add_input(size: int) -> None:
    """Call `Budget.add_input` on the open budget, if there is one."""
    open_ = _OPEN.get()
    if open_ is not None:
        open_.add_input(size)


def limits_of(given: dict[str, object]) -> Limits:
    """Return limits with the given values; raises ValueError for an unknown name or a value outside 1 to 1e15."""
    known = [field.name for field in fields(Limits)]
    chosen: dict[str, int] = {}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"unknown limit {name!r} (known: {', '.join(known)}){did_you_mean(name, known)}")
        try:
            number = float(str(value))
            if not 1 <= number <= 1e15:
                raise ValueError
        except ValueError:
            raise ValueError(f"the limit {name} must be a number from 1 to 1e15, not {value!r}") from None
        chosen[name] = int(number)
    return Limits(**chosen)
