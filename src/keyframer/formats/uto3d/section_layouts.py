"""The ways of reading one section: in each layout it may have, by its count or by the tags around it.

Every way is one pass over the section, and there are at most three, so time stays linear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.catalogue import LIMIT_RECORDS
from keyframer.errors import FormatError
from keyframer.formats.uto3d.controllers import find_sampled, may_begin
from keyframer.formats.uto3d.records import NOTHING, AnyLight, Controller, Mesh, NoController, SampledController
from keyframer.formats.uto3d.sections import SECTIONS, TAG_SIZE, ControllerSection, Main, Section
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.record import Record, take_record

_UNIT_ERROR = 0.01


def is_plausible(record: Record) -> bool:
    """Whether its name is text, its switches are 0 or 1, its rotation is one, and its faces name vertices."""
    fields: Any = record
    if any(byte < 0x20 for byte in fields.name):
        return False
    if hasattr(record, "rotation") and not (fields.hidden <= 1 and _is_rotation(fields.rotation)):
        return False
    if isinstance(record, AnyLight):
        return fields.type in record.types and bool(fields.use_attenuation <= 1)
    return _is_plausible_mesh(record) if isinstance(record, Mesh) else True


def _is_rotation(quaternion: Any) -> bool:
    """Unit length, or all zero, which the MAXScript exporter writes for none."""
    length = math.hypot(*map(float, quaternion))
    return length == 0.0 or abs(length - 1.0) <= _UNIT_ERROR


def _is_plausible_mesh(mesh: Mesh) -> bool:
    if len(mesh.faces) == 0:
        return True
    inside = np.min(mesh.faces) >= 0 and np.max(mesh.faces) < len(mesh.vertices)
    empty_uv_faces = len(mesh.uvs) > 0 or bool((np.asarray(mesh.uv_faces) == -1).all())
    return bool(inside and np.max(mesh.edges) <= 7 and empty_uv_faces)


def plausible_prefix(records: list[Record]) -> int:
    """How many records from the first look right."""
    return next((index for index, record in enumerate(records) if not is_plausible(record)), len(records))


_TAGS = {section.TAG: index for index, section in enumerate(SECTIONS)}
_TAG_TRIES = 1000
"""names of a section that may look like a tag of another before looking closer gets too expensive"""
_CUT_SHORT = ("STRUCT_TRUNCATED", "STRUCT_STRING_UNTERMINATED")


@dataclass(slots=True)
class Attempt:
    """One way of reading a section."""

    records: list[Record]
    end: int
    """behind the last record that could be read"""
    failure: FormatError | None = None


class SectionReader:
    """Reads sections of a file whose MAIN is known. ``before`` is the number of records read so far."""

    def __init__(self, cursor: Cursor, main: Main, place: Place) -> None:
        self.data = cursor.data
        self.cursor = cursor
        self.limits = cursor.limits
        self.main = main
        self.place = place
        self.before = 0

    def count(self, section: type[Section]) -> int:
        """How many records MAIN announces."""
        count: int = getattr(self.main, section.count)
        return count

    def section_at(self, pos: int, expected: int) -> int | None:
        """Which section begins here, if it is one that may still come."""
        index = _TAGS.get(self.data[pos : pos + TAG_SIZE])
        return index if index is not None and index >= expected else None

    def fits(self, pos: int, expected: int) -> bool:
        """Whether a section may end here."""
        return pos == len(self.data) or self.section_at(pos, expected) is not None

    def best_attempt(self, kind: type[Section], start: int, count: int, expected: int, fewer: bool) -> Attempt:
        """The first layout that is followed by a tag; else the one whose records look right longest.

        The end of the file is weaker evidence than a tag: in a file that was cut it may be met by chance.
        """
        best = Attempt([], start)
        best_score = (-1, False)
        for layout in kind.layouts:
            attempt = self._attempt(kind, layout, start, count, expected, fewer)
            fits = attempt.failure is None and self.fits(attempt.end, expected)
            score = (plausible_prefix(attempt.records), fits)
            if fits and (attempt.end < len(self.data) or score[0] == len(attempt.records)):
                return attempt
            if score > best_score:
                best, best_score = attempt, score
        return best

    def _attempt(
        self, kind: type[Section], layout: type[Record], start: int, count: int, expected: int, fewer: bool
    ) -> Attempt:
        """One reading by the count in MAIN; by the tags where that is known, or sure, to be wrong and does not fit."""
        attempt = Attempt([], start)
        self._read_records(attempt, layout, kind, count, -1)
        if self.fits(attempt.end, expected) and attempt.failure is None:
            return attempt
        if fewer:
            self._cut_at_tag(attempt, expected)
        if kind.more and attempt.failure is None and not self.fits(attempt.end, expected):
            announced = len(attempt.records)
            self._read_records(attempt, layout, kind, len(self.data), expected)
            if len(attempt.records) == announced:  # not one more: something else stands here
                attempt.failure = None
        return attempt

    def _read_records(
        self, attempt: Attempt, layout: type[Record], kind: type[Section], count: int, stop_at: int
    ) -> None:
        """``count`` records onto an attempt; with ``stop_at`` only up to the tag of that section or a later one."""
        cursor = self.cursor
        cursor.pos = attempt.end
        place = self.place.inner(kind.TAG.decode("ascii").lower())
        try:
            while len(attempt.records) < count:
                if stop_at >= 0 and (cursor.left == 0 or self._opens(cursor.pos, stop_at)):
                    return
                attempt.records.append(self._read_one(layout, place, len(attempt.records)))
                attempt.end = cursor.pos
        except FormatError as error:
            attempt.failure = error

    def _read_one(self, layout: type[Record], place: Place, index: int) -> Record:
        cursor = self.cursor
        if self.before + index >= self.limits.records:
            raise LIMIT_RECORDS.failure(cursor.pos, str(place), limit=self.limits.records)
        cursor.place = place.inner(segment_of(layout), index)
        return take_record(layout, cursor)

    def _cut_at_tag(self, attempt: Attempt, expected: int) -> None:
        """Fewer records than announced: the first that is really the tag of a later section ends them."""
        tries = 0
        for index, record in enumerate(attempt.records):
            at = record.offset or 0
            if self.section_at(at, expected) is None or tries == _TAG_TRIES:
                continue
            tries += 1
            if self._opens(at, expected):
                del attempt.records[index:]
                attempt.end, attempt.failure = at, None
                return
        if attempt.failure is not None and (attempt.end == len(self.data) or self._opens(attempt.end, expected)):
            attempt.failure = None

    def _opens(self, pos: int, expected: int) -> bool:
        """Whether a section really begins here: names may begin like tags, so what follows must look like it."""
        index = self.section_at(pos, expected)
        if index is None or any(self.count(section) > 0 and not section.fewer for section in SECTIONS[expected:index]):
            return False
        pos += TAG_SIZE
        if self.fits(pos, index + 1):
            return True
        section = SECTIONS[index]
        return may_begin(self.data, pos) if issubclass(section, ControllerSection) else self.begins(section, pos)

    def begins(self, section: type[Section], pos: int, *, cut_short: bool = True) -> bool:
        """Whether a record of the section stands here, or (``cut_short``) one that the end of the file cuts off."""
        before = self.cursor.pos
        try:
            for layout in section.layouts:
                self.cursor.pos = pos
                try:
                    if is_plausible(self._read_one(layout, self.place, 0)):
                        return True
                except FormatError as error:
                    if cut_short and error.code in _CUT_SHORT:
                        return True
            return False
        finally:
            self.cursor.pos = before

    def read_controllers(self, start: int, count: int, owners: set[int]) -> Attempt:
        """Controllers, with those that are not in keyframe mode where the usual reading does not end with the file."""
        attempt = self._attempt_controllers(start, count, frozenset())
        if attempt.failure is None and attempt.end == len(self.data):
            return attempt
        sampled = find_sampled(self.data, start, count, owners)
        return self._attempt_controllers(start, count, sampled) if sampled else attempt

    def _attempt_controllers(self, start: int, count: int, sampled: frozenset[int]) -> Attempt:
        cursor = self.cursor
        attempt = Attempt([], start)
        cursor.pos = start
        place = self.place.inner("ctrl")
        try:
            for index in range(count):
                kind: type[Record] = Controller
                if cursor.pos in sampled:
                    kind = SampledController
                elif cursor.left and self.data[cursor.pos] == NOTHING:
                    kind = NoController
                attempt.records.append(self._read_one(kind, place, index))
                attempt.end = cursor.pos
        except FormatError as error:
            attempt.failure = error
        return attempt


def smallest(section: type[Section]) -> int:
    """The least that a record of this section takes, in any dialect."""
    return min(layout.plan.minimum for layout in section.layouts)


_SEGMENTS: dict[type[Record], str] = {}


def segment_of(layout: type[Record]) -> str:
    """What records of a layout are called in paths."""
    if layout not in _SEGMENTS:
        _SEGMENTS[layout] = layout().segment
    return _SEGMENTS[layout]
