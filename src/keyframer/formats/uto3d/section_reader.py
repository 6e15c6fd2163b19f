"""Read a U3D (UTO!) scene: sections by their tags, records by the count in MAIN, layouts by the content.

Records have no lengths: from the first record that fails, the rest of the file is kept as bytes.
"""

from __future__ import annotations

from keyframer.catalogue import (
    CATALOGUE,
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
from keyframer.formats.uto3d.dialect import dialect_of
from keyframer.formats.uto3d.records import (
    BEZIER,
    Camera,
    CameraTarget,
    Controller,
    FlexporterLight,
    Light,
    NoController,
)
from keyframer.formats.uto3d.section_layouts import Attempt, SectionReader, smallest_record_size
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
)
from keyframer.issues import Issue, Severity
from keyframer.limits import Limits
from keyframer.text import bytes_to_ascii
from keyframer.wire.cursor import Cursor, Place
from keyframer.wire.record import Record, blank, read_fields


class Reader:
    """Reads one file that begins with the signature."""

    def __init__(self, data: bytes, limits: Limits, document: Document) -> None:
        self.data = data
        self.limits = limits
        self.document = document
        self.issues = document.issues
        self.header = blank(FileHeader, 0)
        self.main = Main()
        self.place = Place("uto3d", Place())
        self.cursor = Cursor(data, len(SIGNATURE), place=self.place, limits=limits)
        self.sections = SectionReader(self.cursor, self.main, self.place)
        self.mismatches: list[tuple[type[Section], int, int]] = []
        """sections whose number of records differs from MAIN, with their actual number and the offset of the first"""

    def read(self) -> None:
        """Read the whole file into the document."""
        read_fields(self.header, self.cursor)
        self.header.children = []
        self.document.records.append(self.header)
        version = (self.header.version_major, self.header.version_minor)
        if version != (0, 9):
            shown = "{}.{}".format(*version)
            self.issues.add(SEM_UNKNOWN_VERSION, str(self.place), len(SIGNATURE), version=shown, known="0.9")
        if self._read_main():
            self._check_counts()
            self._read_sections()
            self._report_mismatches()
            self.document.dialect = dialect_of(child for part in self.header.children for child in part.children)

    # MAIN

    def _read_main(self) -> bool:
        cursor, at = self.cursor, self.cursor.pos
        if self.data[at : at + TAG_SIZE] != Main.TAG:
            self._report_tag(at, [Main.TAG], self.place)
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
        self.main = self.sections.main = main
        self.header.children.append(main)
        return True

    def _check_counts(self) -> None:
        """Report counts that are negative or larger than the whole file could contain, and a file without records."""
        for section in SECTIONS:
            count = self.sections.count(section)
            place, offset = self._count_place(section), self.main.count_offset(section.count_field)
            if section.may_have_more:  # has the same count as the previous section
                continue
            if count < 0:
                self.issues.add(STRUCT_COUNT_NEGATIVE, str(place), offset, count=count)
            elif count * smallest_record_size(section) > len(self.data):
                self._report_excess(section, self.cursor.left)
        if not any(self.sections.count(section) for section in SECTIONS):
            self.issues.add(SEM_EMPTY_DOCUMENT, str(self.place), self.main.offset or 0)

    def _count_place(self, section: type[Section]) -> Place:
        return self.place.child(self.main.segment).child(section.count_field)

    def _report_excess(self, section: type[Section], left: int) -> None:
        count, size = self.sections.count(section), smallest_record_size(section)
        self.issues.add(
            STRUCT_COUNT_EXCEEDS_DATA,
            str(self._count_place(section)),
            self.main.count_offset(section.count_field),
            count=count,
            size=size,
            left=left,
            available=left // size,
        )

    # Sections

    def _read_sections(self) -> None:
        """Read sections in file order; any of them may be missing."""
        cursor = self.cursor
        expected = 0
        while cursor.left:
            index = self.sections.section_at(cursor.pos, expected)
            if index is None:
                self._handle_missing_tag(cursor.pos, expected)
                return
            self._report_missing(expected, index)
            expected = index + 1
            if not self._read_section(SECTIONS[index], expected):
                return
        self._report_missing(expected, len(SECTIONS))

    def _report_missing(self, start: int, stop: int) -> None:
        """Report missing sections for which MAIN declares records."""
        for section in SECTIONS[start:stop]:
            count = self.sections.count(section)
            if count > 0 and (section.may_have_fewer or section.may_have_more):
                self._report_mismatch(section, 0, self.cursor.pos)
            elif count > 0:
                self._report_tag(self.cursor.pos, [section.TAG], self.place)

    def _report_mismatch(self, section: type[Section], count: int, offset: int) -> None:
        records = f"records of {section.TAG.decode('ascii')}"
        path = str(self.place.child(section.TAG.decode("ascii").lower()))
        self.issues.add(
            LINK_COUNT_MISMATCH, path, offset, claimed=self.sections.count(section), what=records, found=count
        )

    def _report_tag(self, offset: int, tags: list[bytes], place: Place) -> None:
        actual = self.data[offset : offset + TAG_SIZE]
        self.issues.add(
            STRUCT_TAG_MISMATCH,
            str(place),
            offset,
            expected=" or ".join(tag.decode("ascii") for tag in tags),
            found=f"'{bytes_to_ascii(actual)}'" if actual else "the end of the file",
        )

    def _handle_missing_tag(self, pos: int, expected: int) -> None:
        """Handle bytes that are not the tag of a later section.

        They are an error if a section is missing, a tag follows, or the last section continues; else trailing bytes.
        """
        later = SECTIONS[expected:]
        missing = any(self.sections.count(section) > 0 and not section.may_have_fewer for section in later)
        if missing or any(self.data.find(section.TAG, pos) >= 0 for section in later) or self._continues(pos, expected):
            self._report_tag(pos, [section.TAG for section in later], self.place)
            self._keep_rest(self.header, pos, STRUCT_TAG_MISMATCH.code)
            return
        self.document.trailing = self.data[pos:]
        self.issues.add(STRUCT_TRAILING_DATA, "/", pos, size=len(self.data) - pos)

    def _continues(self, pos: int, expected: int) -> bool:
        """Return whether another record of the previous section begins at ``pos``: its count is too small."""
        if not 0 < expected < len(SECTIONS):
            return False
        return self.sections.record_begins_at(SECTIONS[expected - 1], pos, cut_short=False)

    def _read_section(self, kind: type[Section], expected: int) -> bool:
        """Read one section with its records. Return False if it failed and the rest of the file was kept as bytes."""
        section = blank(kind, self.cursor.pos)
        section.children = []
        self.header.children.append(section)
        self.sections.records_read += 1
        start = self.cursor.pos + TAG_SIZE
        self.cursor.pos = start
        self.cursor.place = self.place.child(section.segment)
        count, left = self.sections.count(kind), self.cursor.left
        if count < 0:
            section.claimed = (count, 0)
            self._keep_rest(section, start, STRUCT_COUNT_NEGATIVE.code)
            return False
        smallest_size = count * smallest_record_size(kind)
        too_many = smallest_size > left
        if too_many and not kind.may_have_fewer and smallest_size <= len(self.data):  # larger counts: `_check_counts`
            self._report_excess(kind, left)
        if issubclass(kind, ControllerSection):
            owners = {getattr(child, "id", 0) for part in self.header.children for child in part.children}
            attempt = self.sections.read_controllers(start, count, owners)
        else:
            attempt = self.sections.best_attempt(kind, start, count, expected, kind.may_have_fewer or too_many)
        if attempt.failure is not None and attempt.failure.code.startswith("LIMIT_"):
            raise attempt.failure
        self._accept_attempt(section, attempt, count)
        if attempt.failure is not None:
            self._fail(section, attempt.end, attempt.failure)
            return False
        if (kind.may_have_fewer or kind.may_have_more) and count != len(section.children):
            self.mismatches.append((kind, len(section.children), start))
        return True

    def _report_mismatches(self) -> None:
        """Report sections whose number of records differs from MAIN, unless the cause is known.

        Known causes: MAIN has no number of targets, targets of lights are stored with those of cameras, and free
        cameras have no target.
        """
        for kind, count, start in self.mismatches:
            if not (issubclass(kind, CameraTargetSection) and self._targets_match()):
                self._report_mismatch(kind, count, start)

    def _targets_match(self) -> bool:
        """Return whether every target belongs to a camera or light, and every target id of a camera exists."""
        records = [child for part in self.header.children for child in part.children]
        targets = [record for record in records if isinstance(record, CameraTarget)]
        camera_target_ids = {record.target_id for record in records if isinstance(record, Camera)} - {0, -1}
        light_target_ids = {record.target_id for record in records if isinstance(record, Light)}
        target_names = {record.name + b".Target" for record in records if isinstance(record, FlexporterLight)}
        target_ids = camera_target_ids | light_target_ids
        all_belong = all(target.id in target_ids or target.name in target_names for target in targets)
        return all_belong and camera_target_ids <= {target.id for target in targets}

    def _accept_attempt(self, section: Section, attempt: Attempt, count: int) -> None:
        """Accept an attempt as the content of a section, and report its issues."""
        self.cursor.pos = attempt.end
        self.sections.records_read += len(attempt.records)
        section.children = attempt.records
        if count != len(attempt.records):
            section.claimed = (count, len(attempt.records))
        for index, record in enumerate(attempt.records):
            invalid = _invalid_value(record)
            if invalid is not None:
                kind, name, args = invalid
                path = f"{self.place.child(section.segment).child(record.segment, index)}/{name}"
                self.issues.add(CATALOGUE[kind], path, record.offset or 0, severity=Severity.WARNING, **args)

    # Unreadable content

    def _fail(self, parent: Record, at: int, error: FormatError) -> None:
        """Report an error and keep the rest of the file as bytes from the record that failed."""
        issue = Issue(CATALOGUE[error.code], error.path, error.offset, error.details, Severity.ERROR)
        self.issues.add_issue(issue)
        self._keep_rest(parent, at, error.code)

    def _keep_rest(self, parent: Record, at: int, reason: str) -> None:
        if at < len(self.data):
            raw = blank(RawRest, at)
            raw.data, raw.reason = self.data[at:], reason
            parent.children.append(raw)


def _invalid_value(record: Record) -> tuple[str, str, dict[str, object]] | None:
    """Return issue code, field and message arguments of an invalid value that does not prevent reading, or None."""
    if isinstance(record, Light | FlexporterLight):
        if record.type not in record.types:
            known = ", ".join(f"{value} {meaning}" for value, meaning in record.types.items())
            return SEM_UNKNOWN_ENUM.code, "type", {"value": record.type, "known": known}
    elif isinstance(record, NoController) and record.filler != 255:
        return SEM_UNKNOWN_ENUM.code, "filler", {"value": record.filler, "known": "255"}
    elif isinstance(record, Controller) and record.scheme == BEZIER and record.key_count < 0:
        return STRUCT_COUNT_NEGATIVE.code, "key_count", {"count": record.key_count}
    return None
