"""SourceLocations of tracks and of their keys: one run of bytes, pieces at equal distances, or several of those."""

from __future__ import annotations

from dataclasses import dataclass

from keyframer.viewer.record_bytes import Span


@dataclass(frozen=True, slots=True)
class Strided:
    """Pieces of one size at equal distances: what one track has in rows that hold all tracks."""

    start: int
    size: int
    step: int
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, key: int) -> Span:
        return self.start + key * self.step, self.start + key * self.step + self.size

    def columns(self, first: int, size: int) -> Strided:
        """Some bytes of each row."""
        return Strided(self.start + first, size, self.step, self.count)

    def each(self) -> dict[str, int]:
        """All pieces, in four numbers."""
        return {"start": self.start, "size": self.size, "step": self.step, "count": self.count}


Rows = Strided | list[Span | None]
"""a place for each key; None for a key that is not there"""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the places of what lies in several, with what it is."""

    what: str
    place: Span | Rows
    """of a track; of its keys, a place for each"""
    file: str | None = None
    """the file that it lies in, where that is not the file itself"""


@dataclass(frozen=True, slots=True)
class Several:
    parts: tuple[Part, ...]


Place = Span | Strided | Several
"""of a track"""
KeyRows = Rows | Several
"""of its keys"""


def place_json(place: Place | None) -> object:
    """The place of a whole track: one run where there are no gaps."""
    if isinstance(place, Several):
        return {"parts": [_part(part, "place", _whole(part.place)) for part in place.parts]}
    return None if place is None else _whole(place)


def rows_json(rows: KeyRows | None) -> object:
    """The places of keys."""
    if isinstance(rows, Several):
        return {"parts": [_part(part, "places", _each(part.place)) for part in rows.parts]}
    return None if rows is None else _each(rows)


def around(rows: list[Span | None]) -> Span | None:
    """From the first byte of all to the last."""
    known = [span for span in rows if span is not None]
    return (min(span[0] for span in known), max(span[1] for span in known)) if known else None


def _part(part: Part, name: str, place: object) -> dict[str, object]:
    return {"what": part.what, name: place, **({} if part.file is None else {"file": part.file})}


def _whole(place: Span | Rows) -> object:
    if isinstance(place, list):
        return around(place)
    if isinstance(place, Strided):
        close = place.step == place.size or place.count == 1
        return [place.start, place.start + place.count * place.size] if close else place.each()
    return place


def _each(place: Span | Rows) -> object:
    return place.each() if isinstance(place, Strided) else place
