"""Read one section in each layout that it may have, by its count or by the next tag.

A section has at most three layouts, and the number of expensive checks is limited, so time is linear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.catalogue import LIMIT_RECORDS
from keyframer.errors import FormatError
from keyframer.formats.uto3d.controllers import find_sampled, may_be_controller
from keyframer.formats.uto3d.records import NOTHING, AnyLight, Controller, Mesh, NoController, SampledController
from keyframer.formats.uto3d.sections import SECTIONS, TAG_SIZE, ControllerSection, Main, Section
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.record import Record, take_record

_UNIT_ERROR = 0.01


def is_plausible(record: Record) -> bool:
    """Return whether the values of a record are plausible.

    The name must be text, switches 0 or 1, the rotation valid, the type of a light known, the faces of a mesh valid.
    """
    fields: Any = record
    if any(byte < 0x20 for byte in fields.name):
        return False
    if hasattr(record, "rotation") and not (fields.hidden <= 1 and _is_rotation(fields.rotation)):
        return False
    if isinstance(record, AnyLight):
        return fields.type in record.types and bool(fields.use_attenuation <= 1)
    return _is_plausible_mesh(record) if isinstance(record, Mesh) else True


def _is_rotation(quaternion: Any) -> bool:
    """Return whether a quaternion has unit length, or is all zero (no rotation in the MAXScript exporter)."""
    length = math.hypot(*map(float, quaternion))
    return length == 0.0 or abs(length - 1.0) <= _UNIT_ERROR


def _is_plausible_mesh(mesh: Mesh) -> bool:
    if len(mesh.faces) == 0:
        return True
    inside = np.min(mesh.faces) >= 0 and np.max(mesh.faces) < len(mesh.vertices)
    uv_faces_fit = len(mesh.uvs) > 0 or bool((np.asarray(mesh.uv_faces) == -1).all())
    return bool(inside and np.max(mesh.edges) <= 7 and uv_faces_fit)


def plausible_prefix(records: list[Record]) -> int:
    """Return the number of plausible records before the first implausible one."""
    return next((index for index, record in enumerate(records) if not is_plausible(record)), len(records))


_TAGS = {section.TAG: index for index, section in enumerate(SECTIONS)}
_TAG_TRIES = 1000
"""maximum number of names in a section that are checked because they look like a tag: each check is expensive"""
_COUNT_TRIES = 8
"""maximum number of times in a file that a whole section is read only to check whether it begins at a tag"""
_CUT_SHORT = ("STRUCT_TRUNCATED", "STRUCT_STRING_UNTERMINATED")


@dataclass(slots=True)
class Attempt:
    """Result of reading a section in one layout."""

    records: list[Record]
    end: int
    """offset after the last record"""
    failure: FormatError | None = None


class SectionReader:
    """Reads sections of a file after its MAIN. ``records_read`` counts the sections and records so far."""

    def __init__(self, cursor: Cursor, main: Main, place: Place) -> None:
        self.data = cursor.data
        self.cursor = cursor
        self.limits = cursor.limits
        self.main = main
        self.place = place
        self.records_read = 0
        self._count_tries = _COUNT_TRIES

    def count(self, section: type[Section]) -> int:
        """Return the number of records that MAIN declares."""
        count: int = getattr(self.main, section.count_field)
        return count

    def section_at(self, pos: int, expected: int) -> int | None:
        """Return the index of the section whose tag is at ``pos``; None unless it is ``expected`` or a later one."""
        index = _TAGS.get(self.data[pos : pos + TAG_SIZE])
        return index if index is not None and index >= expected else None

    def may_end_at(self, pos: int, expected: int) -> bool:
        """Return whether a section may end at ``pos``: at the end of the file, or before the tag of a later section."""
        return pos == len(self.data) or self.section_at(pos, expected) is not None

    def best_attempt(self, kind: type[Section], start: int, count: int, expected: int, fewer: bool) -> Attempt:
        """Read a section in the first layout that is followed by a tag, or that is plausible and ends with the file.

        If there is no such layout, the one with the most plausible records before an implausible one is used. The end
        of the file is weaker evidence than a tag: in a truncated file any layout may reach it. ``fewer``: there may be
        fewer than ``count`` records.
        """
        best = Attempt([], start)
        best_score = (-1, False)
        for layout in kind.layouts:
            attempt = self._attempt(kind, layout, start, count, expected, fewer)
            fits = attempt.failure is None and self.may_end_at(attempt.end, expected)
            score = (plausible_prefix(attempt.records), fits)
            if fits and (attempt.end < len(self.data) or score[0] == len(attempt.records)):
                return attempt
            if score > best_score:
                best, best_score = attempt, score
        return best

    def _attempt(
        self, kind: type[Section], layout: type[Record], start: int, count: int, expected: int, fewer: bool
    ) -> Attempt:
        """Read a section in one layout, by the count in MAIN.

        If there may be fewer records (``fewer``) or more, and the count does not fit, the next tag decides.
        """
        attempt = Attempt([], start)
        self._read_records(attempt, layout, kind, count, -1)
        if self.may_end_at(attempt.end, expected) and attempt.failure is None:
            if fewer and self._skips(expected, attempt.end):  # the skipped section may be among the records
                self._cut_at_tag(attempt, expected)
            return attempt
        if fewer:
            self._cut_at_tag(attempt, expected)
        if kind.may_have_more and attempt.failure is None and not self.may_end_at(attempt.end, expected):
            declared = len(attempt.records)
            self._read_records(attempt, layout, kind, len(self.data), expected)
            if len(attempt.records) == declared:  # no further record: something else follows
                attempt.failure = None
        return attempt

    def _read_records(
        self, attempt: Attempt, layout: type[Record], kind: type[Section], count: int, stop_at: int
    ) -> None:
        """Add records to an attempt until it has ``count``, or one cannot be read.

        If ``stop_at`` is not -1, reading also ends with the file and at the tag of section ``stop_at`` or a later one.
        """
        cursor = self.cursor
        cursor.pos = attempt.end
        place = self.place.child(kind.TAG.decode("ascii").lower())
        try:
            while len(attempt.records) < count:
                if stop_at >= 0 and (cursor.left == 0 or self._section_begins_at(cursor.pos, stop_at)):
                    return
                attempt.records.append(self._read_record(layout, place, len(attempt.records)))
                attempt.end = cursor.pos
        except FormatError as error:
            attempt.failure = error

    def _read_record(self, layout: type[Record], place: Place, index: int) -> Record:
        cursor = self.cursor
        if self.records_read + index >= self.limits.records:
            raise LIMIT_RECORDS.failure(cursor.pos, str(place), limit=self.limits.records)
        cursor.place = place.child(segment_of(layout), index)
        return take_record(layout, cursor)

    def _cut_at_tag(self, attempt: Attempt, expected: int) -> None:
        """Truncate an attempt at the first record that is really the tag of a later section (the count is wrong).

        A failure is removed if the records end with the file or before such a tag.
        """
        tries = 0
        for index, record in enumerate(attempt.records):
            at = record.offset or 0
            if self.section_at(at, expected) is None or tries == _TAG_TRIES:
                continue
            tries += 1
            if self._section_begins_at(at, expected):
                del attempt.records[index:]
                attempt.end, attempt.failure = at, None
                return
        if attempt.failure is not None and (
            attempt.end == len(self.data) or self._section_begins_at(attempt.end, expected)
        ):
            attempt.failure = None

    def _skips(self, expected: int, pos: int) -> bool:
        """Return whether the tag or the end of the file at ``pos`` skips a section that must have records."""
        index = self.section_at(pos, expected)
        return any(self.count(section) > 0 and not section.may_have_fewer for section in SECTIONS[expected:index])

    def _section_begins_at(self, pos: int, expected: int) -> bool:
        """Return whether a section begins at ``pos``. A name may look like a tag, so the following bytes must match."""
        index = self.section_at(pos, expected)
        if index is None or self._skips(expected, pos):
            return False
        pos += TAG_SIZE
        if self.may_end_at(pos, index + 1):
            return True
        section = SECTIONS[index]
        if issubclass(section, ControllerSection):
            return may_be_controller(self.data, pos)
        return self.record_begins_at(section, pos) or self._matches_count(section, pos, index + 1)

    def _matches_count(self, section: type[Section], pos: int, expected: int) -> bool:
        """Return whether the section may end after the declared number of records; False after `_COUNT_TRIES` tries."""
        if self._count_tries == 0 or self.count(section) <= 0:
            return False
        self._count_tries -= 1
        before = self.cursor.pos
        try:
            for layout in section.layouts:
                attempt = Attempt([], pos)
                self._read_records(attempt, layout, section, self.count(section), -1)
                if attempt.failure is None and self.may_end_at(attempt.end, expected):
                    return True
            return False
        finally:
            self.cursor.pos = before

    def record_begins_at(self, section: type[Section], pos: int, *, cut_short: bool = True) -> bool:
        """Return whether a plausible record of the section begins at ``pos``.

        With ``cut_short``, also return True for a record that is truncated by the end of the file.
        """
        before = self.cursor.pos
        try:
            for layout in section.layouts:
                self.cursor.pos = pos
                try:
                    if is_plausible(self._read_record(layout, self.place, 0)):
                        return True
                except FormatError as error:
                    if cut_short and error.code in _CUT_SHORT:
                        return True
            return False
        finally:
            self.cursor.pos = before

    def read_controllers(self, start: int, count: int, owners: set[int]) -> Attempt:
        """Read the controllers. ``owners`` are the ids of all records before them.

        If the usual layout does not end with the file, search for sampled controllers.
        """
        attempt = self._attempt_controllers(start, count, frozenset())
        if attempt.failure is None and attempt.end == len(self.data):
            return attempt
        sampled = find_sampled(self.data, start, count, owners)
        return self._attempt_controllers(start, count, sampled) if sampled else attempt

    def _attempt_controllers(self, start: int, count: int, sampled: frozenset[int]) -> Attempt:
        cursor = self.cursor
        attempt = Attempt([], start)
        cursor.pos = start
        place = self.place.child("ctrl")
        try:
            for index in range(count):
                kind: type[Record] = Controller
                if cursor.pos in sampled:
                    kind = SampledController
                elif cursor.left and self.data[cursor.pos] == NOTHING:
                    kind = NoController
                attempt.records.append(self._read_record(kind, place, index))
                attempt.end = cursor.pos
        except FormatError as error:
            attempt.failure = error
        return attempt


def smallest_record_size(section: type[Section]) -> int:
    """Return the smallest size of a record of this section, in any dialect."""
    return min(layout.plan.minimum for layout in section.layouts)


_SEGMENTS: dict[type[Record], str] = {}


def segment_of(layout: type[Record]) -> str:
    """Return the name of a layout's records in paths."""
    if layout not in _SEGMENTS:
        _SEGMENTS[layout] = layout().segment
    return _SEGMENTS[layout]
