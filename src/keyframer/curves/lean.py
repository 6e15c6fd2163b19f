"""Parts of which a file may hold a hundred thousand: what was left out is made when somebody asks for it.

An empty dictionary, three zeros or a note of the place in the file take several times the bytes that such a part has
in its file. A field whose default is `LATER` stays unset until it is read, and is then an object of the part's own,
which may be changed like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final


class _Later:
    def __repr__(self) -> str:
        return "LATER"


Makers = Mapping[str, Callable[[], object]]
"""fields that may be `LATER`, and what makes their defaults"""
LATER: Final[Any] = _Later()
"""the default of a field that is made when it is asked for"""


_SHARED: dict[tuple[str, ...], tuple[str, ...]] = {}
"""names of extras, which the code that makes scenes decides, not a file"""


class Lean:
    """Base of dataclasses with slots whose fields may be `LATER`."""

    __slots__ = ("_noted",)
    _makers: ClassVar[Makers] = {"extras": dict}
    if TYPE_CHECKING:
        extras: dict[str, Any]
        _noted: tuple[Any, ...] | None
        """extras of one format in short: its id and their names as one tuple, which parts share, and the values"""

    def __post_init__(self) -> None:
        self._noted = None
        for name in self._makers:
            if getattr(self, name) is LATER:
                delattr(self, name)

    def note(self, format: str, said: Mapping[str, object]) -> None:
        """Add to the extras of a format: in short, as long as nobody has asked for them."""
        noted = self._noted
        if self.known("extras") is not None or (noted is not None and noted[0][0] != format):
            self.extras.setdefault(format, {}).update(said)
            return
        if noted is not None:
            said = {**dict(zip(noted[0][1:], noted[1:], strict=True)), **said}
        keys = (format, *said)
        self._noted = (_SHARED.setdefault(keys, keys), *said.values())

    def known(self, name: str) -> Any:
        """A field as far as it was set, without making its default: None if it was left out."""
        try:
            return object.__getattribute__(self, name)
        except AttributeError:
            return None

    if not TYPE_CHECKING:  # only what is declared may be asked for

        def __getattr__(self, name: str) -> Any:
            make = self._makers.get(name)
            if make is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            made = make()
            if name == "extras" and self._noted is not None:
                (format, *keys), *values = self._noted
                made[format] = dict(zip(keys, values, strict=True))
                self._noted = None
            setattr(self, name, made)
            return made
