"""What reading and making something may cost at most: every limit is an option, and breaking one has its own code.

A file is read within fixed limits. Whatever is made of it (a scene, another file, a picture, a table) is paid from one
`Budget`, which grows with the bytes that were read: a small file costs little, whatever it says and whatever is asked.
The code that does the work calls `spend` before it does it; who starts a piece of work opens the budget (`budgeted`).
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
    """Limits of one reading, and the budget of what is made of it. The defaults are far above any real file we know
    and far below harm."""

    file_size: int = 512 * 1024 * 1024
    """bytes of input (LIMIT_FILE_SIZE)"""
    records: int = 4_000_000
    """chunks or records in one file (LIMIT_RECORDS)"""
    depth: int = 16
    """nesting of known chunks (LIMIT_DEPTH); the deepest real 3DS files reach 6"""
    name: int = 1024 * 1024
    """bytes of one name (LIMIT_NAME)"""
    issues: int = 1_000
    """issues kept of one file; all are counted"""
    issues_per_code: int = 20
    """issues kept of one code; all are counted"""
    copies: int = 1_000_000
    """budget: numbers of a scene where many parts of a file use the same data (LIMIT_COPIES)"""
    keys: int = 100_000
    """budget: keys made of motion that another format cannot hold as it is (LIMIT_KEYS)"""
    samples: int = 8_000_000
    """budget: numbers sampled of curves, 16 for a matrix, and posed vertices (LIMIT_SAMPLES)"""
    faces: int = 200_000
    """budget: faces that are drawn or written, counted for each node that shows them (LIMIT_FACES)"""
    pixels: int = 500_000_000
    """budget: pixels of faces that are looked at for pictures (LIMIT_PIXELS)"""
    image_bytes: int = 64 * 1024 * 1024
    """budget: bytes of decoded images, four a pixel (LIMIT_IMAGE_BYTES)"""
    archive_bytes: int = 1024 * 1024
    """budget: bytes of all members of an archive, unpacked (LIMIT_ARCHIVE_BYTES)"""


DEFAULT_LIMITS = Limits()
FULL_SIZE = 64 * 1024
"""bytes of input up to which a budget is what `Limits` say; of more input it is more in proportion"""
_FULL_SIZES = {"copies": 64 * FULL_SIZE}
"""the same for what takes much memory: large files hold what they need themselves"""
MOST_ENTRIES = 200_000
"""files and folders looked at below one folder, where images are looked for"""


class Budget:
    """What one piece of work may cost: ``spent`` counts it, ``size`` is how many bytes were read for it."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS, size: int = 0) -> None:
        self.limits = limits
        self.size = size
        self.spent: dict[str, int] = {}
        self.granted: dict[str, int] = {}

    @contextmanager
    def opened(self) -> Iterator[Budget]:
        """Pay what is done inside from this budget, whatever other is open."""
        token = _OPEN.set(self)
        try:
            yield self
        finally:
            _OPEN.reset(token)

    def feed(self, size: int) -> None:
        """More was read, so more may be made of it."""
        self.size += size

    def room(self, kind: str) -> int:
        """How much of a kind may be spent in all."""
        floor: int = getattr(self.limits, kind)
        full = _FULL_SIZES.get(kind, FULL_SIZE)
        return floor * max(self.size, full) // full + self.granted.get(kind, 0)

    def grant(self, kind: str, count: int) -> None:
        """Allow more: what a file holds itself is no copy."""
        self.granted[kind] = self.granted.get(kind, 0) + count

    def left(self, kind: str) -> int:
        return max(self.room(kind) - self.spent.get(kind, 0), 0)

    def allows(self, kind: str, count: int) -> bool:
        """Whether so much more is within the budget. It is counted, so that after a no there is no yes for less."""
        self.spent[kind] = self.spent.get(kind, 0) + count
        return self.spent[kind] <= self.room(kind)

    def spend(self, kind: str, count: int, path: str = "/", what: str = "parts") -> None:
        """Count work that is about to be done; `FormatError` with the code of its kind where it is too much, and then
        nothing is counted."""
        if count > self.left(kind):
            told = {"count": self.spent.get(kind, 0) + count, "limit": self.room(kind)}
            raise LIMIT_BUDGETS[kind].failure(0, path, what=what, **told)
        self.spent[kind] = self.spent.get(kind, 0) + count

    def state(self, kind: str) -> dict[str, Any]:
        """What was asked for, and what is allowed: the numbers of a message."""
        return {"count": self.spent[kind], "limit": self.room(kind)}


_OPEN: ContextVar[Budget | None] = ContextVar("_OPEN", default=None)


@contextmanager
def budgeted(limits: Limits | None = None, size: int = 0) -> Iterator[Budget]:
    """The budget of a piece of work: the one that is open, else a new one for an input of ``size`` bytes."""
    open_ = _OPEN.get()
    if open_ is not None:
        yield open_
        return
    budget = Budget(limits or DEFAULT_LIMITS, size)
    with budget.opened():
        yield budget


def open_budget(limits: Limits, size: int) -> Budget:
    """The budget that is open, else one of the caller's own for an input of ``size`` bytes."""
    return _OPEN.get() or Budget(limits, size)


def spend(kind: str, count: int, path: str = "/") -> None:
    """`Budget.spend` on the open budget; whoever opened none may do as much as they like."""
    open_ = _OPEN.get()
    if open_ is not None:
        open_.spend(kind, count, path)


def allows(kind: str, count: int) -> bool:
    """`Budget.allows` of the open budget; yes where none is open."""
    open_ = _OPEN.get()
    return open_ is None or open_.allows(kind, count)


def expect(kind: str, count: int) -> None:
    """Refuse what is known to be too much before any of it is done; nothing is counted."""
    budget = _OPEN.get() or Budget()
    if count > budget.left(kind):
        budget.spend(kind, count)


def left(kind: str) -> int:
    """`Budget.left` of the open budget; as much as a new one has where none is open."""
    return (_OPEN.get() or Budget()).left(kind)


def room(kind: str) -> int:
    """`Budget.room` of the open budget; that of a new one where none is open."""
    return (_OPEN.get() or Budget()).room(kind)


def feed(size: int) -> None:
    """`Budget.feed` for the open budget, if there is one."""
    open_ = _OPEN.get()
    if open_ is not None:
        open_.feed(size)


def limits_of(given: dict[str, object]) -> Limits:
    """Limits with some of another value; ValueError where there is no such limit, or it is not a positive number."""
    known = [each.name for each in fields(Limits)]
    chosen: dict[str, int] = {}
    for name, value in given.items():
        if name not in known:
            listed = f"there are: {', '.join(known)}"
            raise ValueError(f"there is no limit {name!r} ({listed}){did_you_mean(name, known)}")
        try:
            number = float(str(value))
            if not 1 <= number <= 1e15:
                raise ValueError
        except ValueError:
            raise ValueError(f"the limit {name} is a number from 1 to 1e15, not {value!r}") from None
        chosen[name] = int(number)
    return Limits(**chosen)
