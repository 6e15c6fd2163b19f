"""Code shared by scene readers: paths of records, issues, unique names, safe parents, companions, loading."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from keyframer.arrays import Array, Flags, Floats, Indices, Ints
from keyframer.catalogue import (
    DATA_KEYS_NOT_INCREASING,
    DATA_NON_FINITE,
    DATA_WEIGHT_SUM,
    LINK_INDEX_OUT_OF_RANGE,
    LINK_PARENT_AFTER_CHILD,
    LINK_PARENT_CYCLE,
    LINK_PARENT_MISSING,
)
from keyframer.curves.lazy_fields import LazyFields, add_extras
from keyframer.errors import FormatError
from keyframer.files import PathLike, members, read_bytes
from keyframer.formats.contract import companion_names
from keyframer.formats.document import Document
from keyframer.issues import IssueLog, IssueType, Severity
from keyframer.scene import Origin, Scene
from keyframer.text import safe_text
from keyframer.wire.record import Record


def path_finder(document: Document) -> Callable[[int], str | None]:
    """Return a function that maps the offset of a record to its path, or to None if no record begins there.

    If several records begin at this offset, the result is the path of the innermost one. The function walks the
    document on its first call.
    """
    paths: dict[int, str] = {}

    def find(offset: int) -> str | None:
        if not paths:
            paths.update((record.offset, str(place)) for place, record in document.walk() if record.offset is not None)
        return paths.get(offset)

    return find


class RecordPaths:
    """Finds the paths of records of a document by their offsets, without a walk through the whole document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._indices: dict[int, array[int]] = {}
        """of lists of siblings, by `id`: the index of each record among siblings of the same name"""
        self._without_offset: dict[int, str] | None = None
        """paths of all records by `id`, if offsets did not lead to one: it was not read from a file"""

    def path(self, record: Record) -> str:
        """Return the path of a record; raises LookupError if it is not part of the document."""
        path, siblings = "", self._document.records
        while siblings:
            at = bisect_right(siblings, _begin(record), key=_begin) - 1
            if at < 0:
                break
            candidate = siblings[at]
            index = self._indices_of(siblings)[at]
            path += f"/{candidate.segment}[{index}]" if index or candidate.numbered else f"/{candidate.segment}"
            if candidate is record:
                return path
            siblings = candidate.children
        if self._without_offset is None:
            self._without_offset = {id(other): str(place) for place, other in self._document.walk()}
        if id(record) not in self._without_offset:
            raise LookupError(f"{record!r} is not part of this document")
        return self._without_offset[id(record)]

    def _indices_of(self, siblings: Sequence[Record]) -> array[int]:
        if id(siblings) not in self._indices:
            counts: Counter[str] = Counter()
            indices = self._indices[id(siblings)] = array("i")
            for sibling in siblings:
                indices.append(counts[sibling.segment])
                counts[sibling.segment] += 1
        return self._indices[id(siblings)]


def _begin(record: Record) -> int:
    return -1 if record.offset is None else record.offset


COMPANION = "/companion"
"""prefix of the paths of issues in a companion; the offsets of these issues are those of the companion file"""


def companion_prefix(source: object) -> str:
    """Return the prefix of paths inside a companion: `COMPANION`, and the file name if the source is a file."""
    return f"{COMPANION}/{safe_text(Path(source).name)}" if isinstance(source, str | os.PathLike) else COMPANION


class Reporter:
    """Reports issues about the records of a document, with path and offset."""

    def __init__(self, document: Document, issues: IssueLog, root: str = "") -> None:
        issues.list_at_most(document.limits.issues_per_code, document.limits.issues)
        self.issues = issues
        self.root = root
        """the start of all paths: the companion's name, or nothing"""
        self._paths = RecordPaths(document)

    def path(self, record: Record) -> str:
        return self.root + self._paths.path(record)

    def location_of(self, record: Record) -> dict[str, object]:
        """Return the location of a record for the extras of its scene part; loss reports show it.

        The offset is enough to find the path later (see `path_finder`), except in a companion.
        """
        if self.root:
            return {"path": self.path(record), "offset": record.offset}
        return {"offset": record.offset}

    def mark(self, part: LazyFields, format: str, record: Record, content: Mapping[str, object] | None = None) -> None:
        """Add the format's data about a part, and its location in the file, to the extras of the part."""
        location = self.location_of(record)
        add_extras(part, format, location if content is None else {**content, **location})

    def report(
        self, kind: IssueType, record: Record, field: str = "", /, severity: Severity | None = None, **args: object
    ) -> None:
        """Report an issue about a record; its path is computed only if the issue is listed."""

        def path() -> str:
            return f"{self.path(record)}/{field}" if field else self.path(record)

        self.issues.add(kind, path, record.offset or 0, severity=severity, **args)

    def report_each(
        self,
        kind: IssueType,
        record: Record,
        field: str,
        entries: npt.NDArray[np.intp],
        args_of: Callable[[int], dict[str, object]],
        severity: Severity | None = None,
    ) -> None:
        """Report an issue for each of these entries of a field; issues beyond the list limit are only counted."""
        listed = entries[: self.issues.most_listed]
        for entry in listed.tolist():
            self.report(kind, record, f"{field}[{entry}]", severity=severity, **args_of(entry))
        if len(entries) > len(listed):
            self.issues.count_more(kind, len(entries) - len(listed), severity)


def valid_faces(reporter: Reporter, record: Record, field: str, corners: Ints, count: int, kind: str) -> Flags:
    """Return which faces have only indices from 0 to ``count`` - 1, after reporting the others."""
    valid = np.asarray(((corners >= 0) & (corners < count)).all(axis=1))

    def args_of(face: int) -> dict[str, object]:
        indices = corners[face]
        invalid_index = int(indices[(indices < 0) | (indices >= count)][0])
        return {"what": "face", "item": face, "kind": kind, "index": invalid_index, "count": count}

    reporter.report_each(LINK_INDEX_OUT_OF_RANGE, record, field, np.flatnonzero(~valid), args_of)
    return valid


def unsorted_keys(times: Array, values: Array) -> Indices:
    """Return the keys that are not later than the key before.

    Two keys with the same time and different values are a jump, which is not reported; a third one is.
    """
    with np.errstate(invalid="ignore"):
        steps = np.diff(times)
    jumps = (steps == 0) & (values[1:] != values[:-1]).any(axis=1)
    jumps[1:] &= steps[:-1] != 0
    return np.flatnonzero(~(steps > 0) & ~np.isnan(steps) & ~jumps) + 1


def check_keys(reporter: Reporter, record: Record, field: str, times: Array, *columns: Array) -> None:
    """Report unsorted keys and non-finite numbers, which evaluation can handle."""
    moments = np.asarray(times, np.float64)
    if all(np.isfinite(table).all() for table in (moments, *columns)) and (moments[1:] > moments[:-1]).all():
        return  # the usual case
    unsorted = unsorted_keys(moments, np.column_stack([column.reshape(len(moments), -1) for column in columns]))
    if len(unsorted):
        index = int(unsorted[0])
        reporter.report(DATA_KEYS_NOT_INCREASING, record, f"{field}[{index}]", index=index, time=moments[index])
    report_non_finite(reporter, record, field, (moments, *columns))


def report_non_finite(reporter: Reporter, record: Record, field: str, columns: Iterable[Array]) -> None:
    """Report the number of non-finite numbers in columns of equal length, at the first row that has one."""
    rows = [~np.isfinite(np.asarray(column, np.float64)).reshape(len(column), -1) for column in columns]
    counts = np.count_nonzero(np.column_stack(rows), axis=1) if rows else np.zeros(0, np.int64)
    if counts.any():
        index = int(np.flatnonzero(counts)[0])
        reporter.report(DATA_NON_FINITE, record, f"{field}[{index}]", count=int(counts.sum()), index=index)


def finite_rows(reporter: Reporter, record: Record, field: str, values: npt.ArrayLike) -> Floats:
    """Return a float64 copy with 0 for non-finite numbers; they are counted and reported at the first row with one."""
    rows = np.array(values, np.float64)
    if not np.isfinite(rows).all():
        report_non_finite(reporter, record, field, [rows])
        rows[~np.isfinite(rows)] = 0.0
    return rows


WEIGHTS_TOLERANCE = 0.01
"""allowed difference of a vertex's weight sum from 1: exporters and MD5 tools round weights to two or three digits"""


def check_weights(
    reporter: Reporter,
    record: Record,
    field: str,
    owners: Array,
    weights: Array,
    vertices: int,
    tolerance: float = WEIGHTS_TOLERANCE,
) -> None:
    """Report vertices of a skin if their weights do not sum to 1; evaluation normalises the weights."""
    total = np.bincount(owners, weights, vertices)
    bound = np.bincount(owners, minlength=vertices) > 0
    wrong = np.flatnonzero(bound & ~(np.abs(total - 1.0) <= tolerance))
    if len(wrong):
        index = int(wrong[0])
        reporter.report(DATA_WEIGHT_SUM, record, field, count=len(wrong), index=index, total=float(total[index]))


def companion_paths(path: Path, suffix: str, stems: Iterable[tuple[str, str]] = ()) -> list[Path]:
    """Return files with the stem of ``path`` and this suffix, in the usual spellings, without listing the folder;
    ``stems`` as in `companion_names`."""
    return files_among(path.parent / name for name in companion_names(path.name, (suffix,), stems))


def files_among(paths: Iterable[Path]) -> list[Path]:
    """Return the paths of files that exist, on a disk or in a container; names may be longer than a system allows."""
    return [path for path in paths if os.path.isfile(path) or members.is_file(str(path))]


def read_companion(source: PathLike, role: str) -> bytes:
    """Return the bytes of a companion that the user named; raises the result of `companion_error` if that fails."""
    try:
        return read_bytes(source)
    except FormatError as error:
        raise companion_error(error, role) from None


def companion_error(error: FormatError, role: str) -> FormatError:
    """Return an error of a companion with the ``role`` of the file in its message and `COMPANION` before its path."""
    path = f"{COMPANION}{error.path}"
    return FormatError(error.code, error.offset, path, f"{role}: {error.message}", error.details)


class UniqueNames:
    """Makes names unique: the second ``Box`` becomes ``Box.2``. Takes linear time for any number of equal names."""

    numbered: ClassVar[str] = "{}.{}"
    """how a number is appended to a name"""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def claim(self, name: str) -> str:
        """Return the name, numbered if it was returned before; ``unnamed`` if it is empty."""
        name = name or "unnamed"
        unique = name
        while unique in self._taken:
            number = self._next.get(name, 2)
            self._next[name] = number + 1
            unique = self.numbered.format(name, number)
        self._taken.add(unique)
        return unique


def safe_parents(reporter: Reporter, records: Sequence[Record], parents: Sequence[int]) -> list[int | None]:
    """Return the parent index of each record; None for a root (-1).

    Missing parents are reported and become None. Each cycle is reported and cut: one of its records gets None. Parents
    after their children are reported, but kept.
    """
    count = len(parents)
    safe: list[int | None] = []
    for index, parent in enumerate(parents):
        if not -1 <= parent < count:
            args = {"parent": parent, "name": f"joint {index}"}
            reporter.report(LINK_PARENT_MISSING, records[index], "parent", severity=Severity.ERROR, **args)
            safe.append(None)
            continue
        if parent > index:
            reporter.report(LINK_PARENT_AFTER_CHILD, records[index], "parent", parent=parent, name=f"joint {index}")
        safe.append(None if parent == -1 else parent)
    state = bytearray(count)  # 0 not visited, 1 on the current path, 2 done
    for start in range(count):
        path: list[int] = []
        node: int | None = start
        while node is not None and state[node] == 0:
            state[node] = 1
            path.append(node)
            node = safe[node]
        if node is not None and state[node] == 1:
            reporter.report(LINK_PARENT_CYCLE, records[path[-1]], "parent", name=f"joint {path[-1]}")
            safe[path[-1]] = None
        for node in path:
            state[node] = 2
    return safe


def scene_of(
    document: Document,
    options: Mapping[str, object] | None = None,
    *,
    salvage: bool = False,
    folder: Path | None = None,
) -> Scene:
    """Return the scene of a document, as `load` does; raises `FormatError` for an unsafe part unless ``salvage``."""
    unsafe = document.issues.first_unsafe()
    if unsafe is not None and not salvage:
        raise unsafe.as_error()
    scene = document.format.to_scene(document, options or {})
    scene.origin = Origin(document, dict(options or {}), folder)
    unsafe = scene.issues.first_unsafe()
    if unsafe is not None and not salvage:
        raise unsafe.as_error()
    scene_issues, scene.issues = scene.issues, document.issues.copy()
    scene.issues.extend(scene_issues)
    return scene
