"""Read a U3D (UTO!) scene: sections by their tags, records by the count in MAIN, layouts by the content.

Nothing says which layout a section has, and some counts are wrong. So a trial is a reading: a section is read in each
layout that it may have, and the one that leads to the next tag, or to the most plausible records, is kept. A section
has at most three layouts, and the number of expensive checks is limited, so time is linear. Records have no lengths:
from the first record that fails, the rest of the file is kept as bytes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyframer.catalogue import (
    CATALOGUE,
    LIMIT_RECORDS,
    LINK_COUNT_MISMATCH,
    SEM_EMPTY_DOCUMENT,
    SEM_UNKNOWN_ENUM,
    SEM_UNKNOWN_VERSION,
    STRUCT_COUNT_EXCEEDS_DATA,
    STRUCT_COUNT_NEGATIVE,
    STRUCT_TAG_MISMATCH,
    STRUCT_TRAILING_DATA,
)
from keyframer.errors import FormatError
from keyframer.formats.document import Document
from keyframer.formats.uto3d.records import (
    BEZIER,
    CONTROLLED,
    NOTHING,
    AnyLight,
    BezierController,
    Camera,
    CameraTarget,
    Controller,
    FlexporterLight,
    Light,
    Mesh,
    NoController,
    SampledController,
)
from keyframer.formats.uto3d.sections import (
    SECTIONS,
    SIGNATURE,
    TAG_SIZE,
    CameraTargetSection,
    ControllerSection,
    FileHeader,
    Main,
    RawRest,
    Section,
    dialect_of,
)
from keyframer.issues import Issue, IssueType, Severity
from keyframer.limits import Limits
from keyframer.text import bytes_to_ascii
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.record import Record, blank, read_fields, take_record

_TAGS = {section.TAG: index for index, section in enumerate(SECTIONS)}
_ANY_TAG = re.compile(b"|".join(_TAGS))
_TAG_TRIES = 1000
"""maximum number of names in a file that are checked because they look like a tag: each check may be expensive"""
_COUNT_TRIES = 8
"""maximum number of sections in a file that are read only to check whether a tag is one"""
_CUT_SHORT = ("STRUCT_TRUNCATED", "STRUCT_STRING_UNTERMINATED")
_UNIT_ERROR = 0.01
_SAMPLED_SIZE, _SMALLEST_CONTROLLER, _STATE_COST = 9, 5, 16
"""bytes of a sampled controller and of the smallest one; cost of trying one controller in addition to its bytes"""
_SCHEME_AT = 13
"""offset of the scheme in a controller"""
_FREE_STEPS = 1 << 16
"""cost that every search for sampled controllers may have, in addition to three times the section"""


@dataclass(slots=True)
class _Attempt:
    """Result of reading a section in one layout."""

    records: list[Record]
    end: int
    """offset after the last record"""
    failure: FormatError | None = None


class Reader:
    """Reads one file that begins with the signature into a document."""

    def __init__(self, data: bytes, limits: Limits, document: Document, *, resumes: bool = False) -> None:
        """``resumes``: reading goes on at the next section after a record that cannot be read."""
        self.data = data
        self.resumes = resumes
        self.limits = limits
        self.document = document
        self.issues = document.issues
        self.header = blank(FileHeader, 0)
        self.main = Main()
        self.place = Place("uto3d", Place())
        self.cursor = Cursor(data, len(SIGNATURE), place=self.place, limits=limits)
        self.records_read = 0
        """sections and records so far"""
        self.tag_tries, self.count_tries = _TAG_TRIES, _COUNT_TRIES
        self.bezier_has_keys = False
        """whether Bezier controllers are read with keys in the layout of linear ones"""
        self.mismatches: list[tuple[type[Section], int, int]] = []
        """sections whose number of records differs from MAIN, with their actual number and the offset of the first"""

    def read(self) -> None:
        read_fields(self.header, self.cursor)
        self.header.children = []
        self.document.records.append(self.header)
        version = f"{self.header.version_major}.{self.header.version_minor}"
        if version != "0.9":
            self.issues.add(SEM_UNKNOWN_VERSION, str(self.place), len(SIGNATURE), version=version, known="0.9")
        if not self._read_main():
            return
        self._check_counts()
        self._read_sections()
        for kind, count, start in self.mismatches:
            if not (issubclass(kind, CameraTargetSection) and self._targets_match()):
                self._report_mismatch(kind, count, start)
        self.document.dialect = dialect_of(child for part in self.header.children for child in part.children)

    def _read_main(self) -> bool:
        cursor, at = self.cursor, self.cursor.pos
        if self.data[at : at + TAG_SIZE] != Main.TAG:
            self._report_tag(at, [Main.TAG])
            self._keep_rest(self.header, at, STRUCT_TAG_MISMATCH.code)
            return False
        main = blank(Main, at)
        cursor.pos = at + TAG_SIZE
        cursor.place = self.place.child(main.segment)
        try:
            read_fields(main, cursor)
        except FormatError as error:
            self._fail(self.header, at, error)
            return False
        self.main = main
        self.header.children.append(main)
        return True

    def _count(self, section: type[Section]) -> int:
        """Return the number of records that MAIN declares."""
        count: int = getattr(self.main, section.count_field)
        return count

    def _check_counts(self) -> None:
        """Report counts that are negative or larger than the whole file could contain, and a file without records."""
        for section in SECTIONS:
            if section.may_have_more:  # has the same count as the previous section
                continue
            if self._count(section) < 0:
                self._report_count(STRUCT_COUNT_NEGATIVE, section)
            elif self._count(section) * _smallest_size(section) > len(self.data):
                self._report_excess(section, self.cursor.left)
        if not any(self._count(section) for section in SECTIONS):
            self.issues.add(SEM_EMPTY_DOCUMENT, str(self.place), self.main.offset or 0)

    def _report_excess(self, section: type[Section], left: int) -> None:
        size = _smallest_size(section)
        self._report_count(STRUCT_COUNT_EXCEEDS_DATA, section, size=size, left=left, available=left // size)

    def _report_count(self, issue: IssueType, section: type[Section], **args: Any) -> None:
        path = str(self.place.child(self.main.segment).child(section.count_field))
        self.issues.add(issue, path, self.main.count_offset(section.count_field), count=self._count(section), **args)

    # Sections

    def _read_sections(self) -> None:
        """Read sections in file order; any of them may be missing."""
        cursor = self.cursor
        expected = 0
        while cursor.left:
            index = self._section_at(cursor.pos, expected)
            if index is None:
                if self._resume(expected):
                    continue
                self._handle_missing_tag(cursor.pos, expected)
                return
            self._report_missing(expected, index)
            expected = index + 1
            if not self._read_section(SECTIONS[index], expected) and not self._resume(expected):
                return
        self._report_missing(expected, len(SECTIONS))

    def _resume(self, expected: int) -> bool:
        """Move to the next tag of a section that a plausible record or another tag follows, if reading resumes."""
        if not self.resumes:
            return False
        start = self.cursor.pos
        for match in _ANY_TAG.finditer(self.data, start):
            pos = match.start()
            index = self._section_at(pos, expected)
            if index is not None and (
                self._may_end_at(pos + TAG_SIZE, index + 1)
                or self._record_begins_at(SECTIONS[index], pos + TAG_SIZE, False)
            ):
                self.cursor.pos = pos
                return True
        return False

    def _section_at(self, pos: int, expected: int) -> int | None:
        """Return the index of the section whose tag is at ``pos``; None unless it is ``expected`` or a later one."""
        index = _TAGS.get(self.data[pos : pos + TAG_SIZE])
        return index if index is not None and index >= expected else None

    def _report_missing(self, start: int, stop: int) -> None:
        """Report missing sections for which MAIN declares records."""
        for section in SECTIONS[start:stop]:
            if self._count(section) > 0:
                if section.may_have_fewer or section.may_have_more:
                    self._report_mismatch(section, 0, self.cursor.pos)
                else:
                    self._report_tag(self.cursor.pos, [section.TAG])

    def _report_mismatch(self, section: type[Section], count: int, offset: int) -> None:
        tag = section.TAG.decode("ascii")
        args: Any = {"claimed": self._count(section), "what": f"records of {tag}", "found": count}
        self.issues.add(LINK_COUNT_MISMATCH, str(self.place.child(tag.lower())), offset, **args)

    def _report_tag(self, offset: int, tags: list[bytes]) -> None:
        actual = self.data[offset : offset + TAG_SIZE]
        expected = " or ".join(tag.decode("ascii") for tag in tags)
        found = f"'{bytes_to_ascii(actual)}'" if actual else "the end of the file"
        self.issues.add(STRUCT_TAG_MISMATCH, str(self.place), offset, expected=expected, found=found)

    def _handle_missing_tag(self, pos: int, expected: int) -> None:
        """Handle bytes that are not the tag of a later section.

        They are an error if a section is missing, a tag follows, or the last section continues (its count is too
        small); else trailing bytes.
        """
        later = SECTIONS[expected:]
        missing = any(self._count(section) > 0 and not section.may_have_fewer for section in later)
        continues = 0 < expected < len(SECTIONS) and self._record_begins_at(SECTIONS[expected - 1], pos, False)
        if missing or continues or any(self.data.find(section.TAG, pos) >= 0 for section in later):
            self._report_tag(pos, [section.TAG for section in later])
            self._keep_rest(self.header, pos, STRUCT_TAG_MISMATCH.code)
            return
        self.document.trailing = self.data[pos:]
        self.issues.add(STRUCT_TRAILING_DATA, "/", pos, size=len(self.data) - pos)

    def _read_section(self, kind: type[Section], expected: int) -> bool:
        """Read one section with its records. Return False if it failed and the rest of the file was kept as bytes."""
        section = blank(kind, self.cursor.pos)
        section.children = []
        self.header.children.append(section)
        self.records_read += 1
        start = self.cursor.pos + TAG_SIZE
        self.cursor.pos = start
        self.cursor.place = self.place.child(section.segment)
        count, left = self._count(kind), self.cursor.left
        if count < 0:
            section.claimed = (count, 0)
            self._keep_rest(section, start, STRUCT_COUNT_NEGATIVE.code)
            return False
        smallest_size = count * _smallest_size(kind)
        too_many = smallest_size > left
        if too_many and not kind.may_have_fewer and smallest_size <= len(self.data):  # larger counts: `_check_counts`
            self._report_excess(kind, left)
        if issubclass(kind, ControllerSection):
            attempt = self._read_controllers(start, count)
        else:
            attempt = self._best_attempt(kind, start, count, expected, kind.may_have_fewer or too_many)
        if attempt.failure is not None and attempt.failure.code.startswith("LIMIT_"):
            raise attempt.failure
        if attempt.failure is not None and self.resumes:
            self._cut_at_implausible(attempt)
        self.cursor.pos = attempt.end
        self.records_read += len(attempt.records)
        section.children = attempt.records
        if count != len(attempt.records):
            section.claimed = (count, len(attempt.records))
        self._report_invalid_values(section)
        if attempt.failure is not None:
            self._fail(section, attempt.end, attempt.failure)
            return False
        if (kind.may_have_fewer or kind.may_have_more) and count != len(section.children):
            self.mismatches.append((kind, len(section.children), start))
        return True

    @staticmethod
    def _cut_at_implausible(attempt: _Attempt) -> None:
        """Truncate a failed attempt before the first record that is not plausible: the damage begins there."""
        for index, record in enumerate(attempt.records):
            if not _is_plausible(record):
                del attempt.records[index:]
                attempt.end = record.offset or 0
                return

    def _targets_match(self) -> bool:
        """Return whether every target belongs to a camera or light, and every target id of a camera exists.

        Then the number of targets is no mistake, although it differs from that of the cameras: MAIN has no number of
        targets, targets of lights are stored with those of cameras, and free cameras have no target.
        """
        records = [child for part in self.header.children for child in part.children]
        targets = [record for record in records if isinstance(record, CameraTarget)]
        camera_target_ids = {record.target_id for record in records if isinstance(record, Camera)} - {0, -1}
        target_ids = camera_target_ids | {record.target_id for record in records if isinstance(record, Light)}
        target_names = {record.name + b".Target" for record in records if isinstance(record, FlexporterLight)}
        all_belong = all(target.id in target_ids or target.name in target_names for target in targets)
        return all_belong and camera_target_ids <= {target.id for target in targets}

    def _report_invalid_values(self, section: Section) -> None:
        """Report invalid values that do not prevent reading."""
        for index, record in enumerate(section.children):
            issue, name, args = SEM_UNKNOWN_ENUM, "type", {}
            if isinstance(record, Light | FlexporterLight) and record.type not in record.types:
                known = ", ".join(f"{value} {meaning}" for value, meaning in record.types.items())
                args = {"value": record.type, "known": known}
            elif isinstance(record, NoController) and record.filler != 255:
                name, args = "filler", {"value": record.filler, "known": "255"}
            elif isinstance(record, Controller) and not record.has_keys and record.key_count < 0:
                issue, name, args = STRUCT_COUNT_NEGATIVE, "key_count", {"count": record.key_count}
            if args:
                path = f"{self.place.child(section.segment).child(record.segment, index)}/{name}"
                self.issues.add(issue, path, record.offset or 0, severity=Severity.WARNING, **args)

    # Trials

    def _best_attempt(self, kind: type[Section], start: int, count: int, expected: int, fewer: bool) -> _Attempt:
        """Read a section in the first layout that is followed by a tag, or that is plausible and ends with the file.

        If there is no such layout, the one with the most plausible records before an implausible one is used. The end
        of the file is weaker evidence than a tag: in a truncated file any layout may reach it. ``fewer``: there may be
        fewer than ``count`` records.
        """
        best = _Attempt([], start)
        best_score = (-1, False)
        for layout in kind.layouts:
            attempt = self._attempt(kind, layout, start, count, expected, fewer)
            fits = attempt.failure is None and self._may_end_at(attempt.end, expected)
            records = attempt.records
            plausible = next((i for i, record in enumerate(records) if not _is_plausible(record)), len(records))
            if fits and (attempt.end < len(self.data) or plausible == len(records)):
                return attempt
            score = (plausible, fits and not self.resumes)  # a damaged file may end anywhere
            if score > best_score:
                best, best_score = attempt, score
        return best

    def _may_end_at(self, pos: int, expected: int) -> bool:
        """Return whether a section may end at ``pos``: at the end of the file, or before the tag of a later section."""
        return pos == len(self.data) or self._section_at(pos, expected) is not None

    def _attempt(
        self, kind: type[Section], layout: type[Record], start: int, count: int, expected: int, fewer: bool
    ) -> _Attempt:
        """Read a section in one layout, by the count in MAIN.

        If there may be fewer records (``fewer``) or more, and the count does not fit, the next tag decides.
        """
        attempt = _Attempt([], start)
        self._read_records(attempt, layout, kind, count)
        if self._may_end_at(attempt.end, expected) and attempt.failure is None:
            if fewer and self._skips(expected, attempt.end):  # the skipped section may be among the records
                self._cut_at_tag(attempt, expected)
            return attempt
        if fewer:
            self._cut_at_tag(attempt, expected)
        if kind.may_have_more and attempt.failure is None and not self._may_end_at(attempt.end, expected):
            declared = len(attempt.records)
            self._read_records(attempt, layout, kind, len(self.data), expected)
            if len(attempt.records) == declared:  # no further record: something else follows
                attempt.failure = None
        return attempt

    def _read_records(
        self, attempt: _Attempt, layout: type[Record], kind: type[Section], count: int, stop_at: int | None = None
    ) -> None:
        """Add records to an attempt until it has ``count``, or one cannot be read.

        With ``stop_at``, reading also ends with the file and at the tag of section ``stop_at`` or a later one.
        """
        cursor = self.cursor
        cursor.pos = attempt.end
        place = self.place.child(kind.TAG.decode("ascii").lower())
        try:
            while len(attempt.records) < count:
                if stop_at is not None and (cursor.left == 0 or self._section_begins_at(cursor.pos, stop_at)):
                    return
                index = len(attempt.records)
                if self.records_read + index >= self.limits.records:
                    raise LIMIT_RECORDS.failure(cursor.pos, str(place), limit=self.limits.records)
                record_layout = layout if layout is not Controller else self._controller_layout(cursor.pos)
                cursor.place = place.child(str(record_layout.segment), index)
                attempt.records.append(take_record(record_layout, cursor))
                attempt.end = cursor.pos
        except FormatError as error:
            attempt.failure = error

    def _cut_at_tag(self, attempt: _Attempt, expected: int) -> None:
        """Truncate an attempt at the first record that is really the tag of a later section (the count is wrong).

        A failure is removed if the records end with the file or before such a tag.
        """
        for index, record in enumerate(attempt.records):
            if self._section_begins_at(record.offset or 0, expected):
                del attempt.records[index:]
                attempt.end, attempt.failure = record.offset or 0, None
                return
        if attempt.end == len(self.data) or self._section_begins_at(attempt.end, expected):
            attempt.failure = None

    def _skips(self, expected: int, pos: int) -> bool:
        """Return whether the tag or the end of the file at ``pos`` skips a section that must have records."""
        index = self._section_at(pos, expected)
        return any(self._count(section) > 0 and not section.may_have_fewer for section in SECTIONS[expected:index])

    def _section_begins_at(self, pos: int, expected: int) -> bool:
        """Return whether a section begins at ``pos``.

        A name may look like a tag, so a tag must follow, a plausible record, or as many records as MAIN declares.
        """
        index = self._section_at(pos, expected)
        if index is None or self._skips(expected, pos):
            return False
        pos += TAG_SIZE
        if self._may_end_at(pos, index + 1):
            return True
        self.tag_tries -= 1
        if self.tag_tries < 0:
            return False
        return self._record_begins_at(SECTIONS[index], pos) or self._matches_count(SECTIONS[index], pos, index + 1)

    def _matches_count(self, section: type[Section], pos: int, expected: int) -> bool:
        """Return whether a section may end after as many records as MAIN declares; False after `_COUNT_TRIES` tries."""
        if self.count_tries == 0 or self._count(section) <= 0 or issubclass(section, ControllerSection):
            return False
        self.count_tries -= 1
        before = self.cursor.pos
        attempts = [_Attempt([], pos) for _ in section.layouts]
        for attempt, layout in zip(attempts, section.layouts, strict=True):
            self._read_records(attempt, layout, section, self._count(section))
        self.cursor.pos = before
        return any(attempt.failure is None and self._may_end_at(attempt.end, expected) for attempt in attempts)

    def _record_begins_at(self, section: type[Section], pos: int, cut_short: bool = True) -> bool:
        """Return whether a plausible record of the section begins at ``pos``.

        With ``cut_short``, also return True for a record that is truncated by the end of the file.
        """
        before = self.cursor.pos
        layouts = (self._controller_layout(pos),) if issubclass(section, ControllerSection) else section.layouts
        try:
            for layout in layouts:
                self.cursor.pos = pos
                try:
                    if _is_plausible(take_record(layout, self.cursor)):
                        return True
                except FormatError as error:
                    if cut_short and error.code in _CUT_SHORT:
                        return True
            return False
        finally:
            self.cursor.pos = before

    # Controllers

    def _controller_layout(self, pos: int) -> type[Record]:
        if self.data[pos : pos + 1] == bytes([NOTHING]):
            return NoController
        is_bezier = self.data[pos + _SCHEME_AT : pos + _SCHEME_AT + 1] == bytes([BEZIER])
        return BezierController if is_bezier and self.bezier_has_keys else Controller

    def _read_controllers(self, start: int, count: int) -> _Attempt:
        """Read the controllers in the usual layout, or with keys in Bezier controllers or sampled controllers if only
        these end with the file.

        Nothing in a sampled controller (not in keyframe mode) identifies it: it ends after the owner id. One is assumed
        where the usual layout leads to an invalid record or to another end. The search goes back to the last place
        where one is possible, visits each state once, and its cost is limited.
        """
        usual = _Attempt([], start)
        self._read_records(usual, Controller, ControllerSection, count)
        if usual.failure is None and usual.end == len(self.data):
            return usual
        if any(isinstance(record, Controller) and record.scheme == BEZIER for record in usual.records):
            self.bezier_has_keys = True
            with_keys = _Attempt([], start)
            self._read_records(with_keys, Controller, ControllerSection, count)
            if with_keys.failure is None and with_keys.end == len(self.data):
                return with_keys
            self.bezier_has_keys = False
        owners = {getattr(child, "id", 0) for part in self.header.children for child in part.children}
        cursor, size = self.cursor, len(self.data)
        cost_left = 3 * (size - start) + _FREE_STEPS
        records: list[Record] = []
        choices: list[tuple[int, int]] = []  # number of records before a controller that may be sampled, its offset
        seen: set[tuple[int, int]] = set()
        pos = start
        while cost_left > 0:
            while len(records) < count and (pos, len(records)) not in seen and cost_left > 0:
                seen.add((pos, len(records)))
                if (count - len(records)) * _SMALLEST_CONTROLLER > size - pos:
                    break
                cursor.pos = pos
                record = self._try_controller()
                cost_left -= _STATE_COST + cursor.pos - pos
                if self._may_be_sampled(pos, None if record is None else owners):
                    choices.append((len(records), pos))
                if record is None:
                    break
                records.append(record)
                pos = cursor.pos
            if len(records) == count and pos == size:
                return _Attempt(records, pos)
            if not choices:
                break
            place, pos = choices.pop()
            cursor.pos = pos
            records[place:] = [take_record(SampledController, cursor)]
            pos = cursor.pos
        return usual

    def _try_controller(self) -> Record | None:
        """Read a controller of the usual layout; None if it is invalid."""
        try:
            record = take_record(self._controller_layout(self.cursor.pos), self.cursor)
        except FormatError:
            return None
        return record if _is_plausible(record) else None

    def _may_be_sampled(self, pos: int, owners: set[int] | None) -> bool:
        """Return whether a sampled controller may begin at ``pos``: a controller or the end of the file must follow.

        ``owners`` are the possible owners; None for any, if the usual layout is impossible.
        """
        end = pos + _SAMPLED_SIZE
        if end > len(self.data) or self.data[pos] not in CONTROLLED:
            return False
        if end < len(self.data) and self.data[end] > NOTHING:
            return False
        return owners is None or int.from_bytes(self.data[pos + 5 : end], "little", signed=True) in owners

    # Unreadable content

    def _fail(self, parent: Record, at: int, error: FormatError) -> None:
        """Report an error and keep the rest of the file as bytes from the record that failed."""
        self.issues.add_issue(Issue(CATALOGUE[error.code], error.path, error.offset, error.details, Severity.ERROR))
        self._keep_rest(parent, at, error.code)

    def _keep_rest(self, parent: Record, at: int, reason: str) -> None:
        if at < len(self.data):
            raw = blank(RawRest, at)
            raw.data, raw.reason = self.data[at:], reason
            parent.children.append(raw)


def _is_plausible(record: Record) -> bool:
    """Return whether the values of a record are plausible.

    The name must be text, switches 0 or 1, the rotation a unit quaternion or all zero (no rotation in the MAXScript
    exporter), the type of a light known, the faces of a mesh valid.
    """
    fields: Any = record
    if isinstance(record, Controller):
        return True
    if isinstance(record, NoController):
        return record.filler == 255
    if any(byte < 0x20 for byte in fields.name):
        return False
    if hasattr(record, "rotation"):
        length = math.hypot(*map(float, fields.rotation))
        if fields.hidden > 1 or not (length == 0.0 or abs(length - 1.0) <= _UNIT_ERROR):
            return False
    if isinstance(record, AnyLight):
        return fields.type in record.types and bool(fields.use_attenuation <= 1)
    if not isinstance(record, Mesh) or len(record.faces) == 0:
        return True
    inside = np.min(record.faces) >= 0 and np.max(record.faces) < len(record.vertices)
    uv_faces_fit = len(record.uvs) > 0 or bool((np.asarray(record.uv_faces) == -1).all())
    return bool(inside and np.max(record.edges) <= 7 and uv_faces_fit)


def _smallest_size(section: type[Section]) -> int:
    """Return the smallest size of a record of this section, in any dialect."""
    return min(layout.plan.minimum for layout in section.layouts)
