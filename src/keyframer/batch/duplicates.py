"""Files that a catalogue has twice: with the same bytes, or with the same meshes and motion.

Both searches take time in proportion to the number of files, and little memory. Fingerprints are sorted by the number
of triangles and by one number of their shape; each is compared with those just before it whose numbers are as good as
equal, one for each group.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from keyframer.batch.file_catalogue import Catalogue
from keyframer.inspecting.fingerprint import KEY_WIDTH, Fingerprint

IDENTICAL, NEAR = "identical", "near"
_MOST_COMPARED = 50
"""maximum number of groups with as good as equal numbers that a fingerprint is compared with"""


@dataclass
class Group:
    """Files that are there several times."""

    kind: str
    """``identical`` (the same bytes) or ``near`` (the same meshes and motion)"""
    paths: list[str]
    """the files; in a near group one for each content"""
    difference: str
    """what differs, in one line"""


def identical_files(catalogue: Catalogue) -> Iterator[Group]:
    """Yield groups of files with the same bytes, the largest files first."""
    groups = catalogue.query(
        "SELECT sha256 FROM files WHERE size > 0 AND sha256 IS NOT NULL GROUP BY sha256 HAVING count(*) > 1 "
        "ORDER BY max(size) DESC, sha256"
    )
    for (sha256,) in groups:
        rows = catalogue.query("SELECT path FROM files WHERE sha256 = ? ORDER BY path", (sha256,))
        yield Group(IDENTICAL, [str(path) for (path,) in rows], "only the names of the files")


@dataclass
class _Candidate:
    """The first file of a group, and the others."""

    shape: float
    motion: float
    fingerprint: Fingerprint
    files: list[int] = field(default_factory=list)


def near_files(catalogue: Catalogue) -> Iterator[Group]:
    """Yield groups of files with different bytes and the same meshes and motion, those with few triangles first.

    Files with the same bytes count once.
    """
    rows = catalogue.query(
        "SELECT file, fingerprints.triangles, shape, motion, data FROM fingerprints JOIN files ON id = file "
        "WHERE file = (SELECT min(id) FROM files AS same WHERE same.sha256 = files.sha256) "
        "ORDER BY fingerprints.triangles, shape"
    )
    window: deque[_Candidate] = deque()
    by_motion: dict[int, deque[_Candidate]] = {}
    current: Any = None
    for file, triangles, shape, motion, data in rows:
        try:
            found = _Candidate(float(shape), float(motion), Fingerprint.from_bytes(data), [int(file)])
            cell = int(found.motion // KEY_WIDTH)
        except (TypeError, ValueError, OverflowError):
            continue  # damaged: as if the file had no fingerprint
        while window and (triangles != current or window[0].shape < found.shape - KEY_WIDTH):
            left = window.popleft()
            _drop(by_motion, left)
            if len(left.files) > 1:
                yield _group(catalogue, left.files)
        current = triangles
        near = (other for at in (cell - 1, cell, cell + 1) for other in by_motion.get(at, ()))
        same = next((other for other in near if other.fingerprint.matches(found.fingerprint)), None)
        if same is not None:
            same.files.append(int(file))
            continue
        window.append(found)
        by_motion.setdefault(cell, deque(maxlen=_MOST_COMPARED)).append(found)
    for left in window:
        if len(left.files) > 1:
            yield _group(catalogue, left.files)


def _drop(by_motion: dict[int, deque[_Candidate]], candidate: _Candidate) -> None:
    cell = int(candidate.motion // KEY_WIDTH)
    others = by_motion.get(cell)
    if others and others[0] is candidate:  # the oldest; with too many in a cell it may be gone already
        others.popleft()
    if not others:
        by_motion.pop(cell, None)


def _group(catalogue: Catalogue, files: list[int]) -> Group:
    paths = [str(next(catalogue.query("SELECT path FROM files WHERE id = ?", (file,)))[0]) for file in files]
    return Group(NEAR, paths, _difference(catalogue, files))


_VALUES = ("format", "version", "writer", "verdict")
"""columns whose values are shown if they differ"""
_CONTENTS = {
    "names of nodes": "SELECT name FROM nodes WHERE file = ? ORDER BY name",
    "order of nodes": "SELECT name FROM nodes WHERE file = ? ORDER BY number",
    "tree": "SELECT a.name, b.name FROM nodes AS a LEFT JOIN nodes AS b ON b.file = a.file AND b.number = a.parent "
    "WHERE a.file = ? ORDER BY 1, 2",
    "keys": "SELECT kind, keys, interpolation, wrap, round(first, 3), round(last, 3) FROM tracks WHERE file = ? "
    "ORDER BY 1, 2, 3, 4, 5, 6",
    "vertices": "SELECT vertices FROM meshes WHERE file = ? ORDER BY 1",
    "texture coordinates": "SELECT triangles, uv FROM meshes WHERE file = ? ORDER BY 1, 2",
    "vertex colours": "SELECT triangles, colors FROM meshes WHERE file = ? ORDER BY 1, 2",
    "materials": "SELECT name, color, round(opacity, 3), two_sided, maps FROM materials WHERE file = ? "
    "ORDER BY 1, 2, 3, 4",
    "images": "SELECT name FROM images WHERE file = ? ORDER BY 1",
    "cameras": "SELECT name, round(fov_degrees, 2) FROM cameras WHERE file = ? ORDER BY 1, 2",
    "lights": "SELECT name, type, color, round(multiplier, 3) FROM lights WHERE file = ? ORDER BY 1, 2, 3, 4",
}
"""what may differ, with a query for its content"""
_IMPLIED = {"order of nodes": "names of nodes", "tree": "names of nodes"}
"""what always differs if something else does"""


def _difference(catalogue: Catalogue, files: list[int]) -> str:
    """Return what differs between files with the same meshes and motion, in one line."""
    differing = []
    for name, query in _CONTENTS.items():
        contents = (hash(tuple(catalogue.query(query, (file,)))) for file in files)
        if _IMPLIED.get(name) not in differing and len(set(contents)) > 1:
            differing.append(name)
    prints = (next(catalogue.query("SELECT data FROM fingerprints WHERE file = ?", (file,)))[0] for file in files)
    first, *others = (Fingerprint.from_bytes(data) for data in prints)
    if not all(first.has_same_views(other) for other in others):
        differing.append("motion of cameras or lights")
    found = [*_differing_values(catalogue, files, _VALUES), *differing]
    if not found:  # other differences change the size, too
        found = [*_differing_values(catalogue, files, ("size",)), "data that the catalogue does not list"]
    return ", ".join(found)


def _differing_values(catalogue: Catalogue, files: list[int], columns: Iterable[str]) -> Iterator[str]:
    for column in columns:
        rows = (next(catalogue.query(f"SELECT {column} FROM files WHERE id = ?", (file,)))[0] for file in files)
        values = list(dict.fromkeys("unknown" if value is None else str(value) for value in rows))
        if len(values) > 1:
            yield f"{column} ({', '.join(values[:4])}{' …' if len(values) > 4 else ''})"
