"""A catalogue: the content of many files in one SQLite database that people search with any program.

Everything is in one file at any time: there is no write-ahead log, and each transaction stores the rows of some hundred
files. Killing a run loses only the files since the last transaction. A catalogue from somebody else is not trusted: it
is refused unless it has exactly our tables and views; further tables and views are ignored, triggers are refused.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import quote

from keyframer import __version__
from keyframer.batch.catalogue_schema import APPLICATION_ID, COLUMNS, LISTS, SCHEMA, VERSION
from keyframer.batch.job import DONE, FAILED
from keyframer.batch.ledger import (
    DATABASE_ERRORS,
    LedgerError,
    RunInProgress,
    identity_of,
    lock_ledger,
    remove_lock,
    removed_meanwhile,
)
from keyframer.batch.ledger_rows import COLUMNS as LEDGER_CHECKS
from keyframer.files import write_bytes
from keyframer.text import shortened

_OBJECTS = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")
_MAGIC = b"SQLite format 3\0"
_STEPS = 100_000
"""steps of a query after which Python looks for Ctrl-C"""
_CONTENT = ("files", *LISTS, "fingerprints", "resume")
"""tables with content, besides the full-text search"""
_INSERTIONS = {table: f"INSERT INTO {table} VALUES ({', '.join('?' * len(COLUMNS[table]))})" for table in _CONTENT}


Rows = dict[str, Any]
"""the rows of a file as JSON values: ``file`` has columns of the table files, each of `LISTS` a list of rows without
the columns ``file`` and ``number``, ``search`` the names and words, ``fingerprint`` its columns or None"""


class CatalogueError(LedgerError):
    """The catalogue cannot be used; the message says why."""


class ConditionError(CatalogueError):
    """The SQL condition of a search is wrong; the message says why."""


class KnownFile(NamedTuple):
    """What a catalogue knows about a file, to decide whether it changed."""

    id: int
    sha256: str | None
    stamp: str
    options: str
    version: str
    """of this program"""
    code: str | None
    also: list[list[Any]]
    run: int

    @property
    def status(self) -> str:
        return DONE if self.code is None else FAILED


class FileRow(NamedTuple):
    """A file with its rows, to be stored."""

    path: str
    size: int | None
    sha256: str | None
    stamp: str
    options: str
    code: str | None
    also: list[Any]
    rows: Rows


def path_text(path: str) -> str:
    """Return a path as text that every program can read: bytes that are not UTF-8 become ``\\xNN``."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def path_of_text(text: str) -> str:
    """Return the path of which `path_text` has made this text."""
    return os.fsdecode(_ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), text.encode("utf-8", "replace")))


def is_catalogue(path: str) -> bool:
    """Return whether a file is a SQLite database: an input of this kind is a catalogue to merge."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False


class Catalogue:
    """A catalogue on disk. Use it as a context manager."""

    def __init__(self, path: str, *, read_only: bool = True) -> None:
        """Open a catalogue; unless it is ``read_only``, it is made if it does not exist, and locked. Raises
        `CatalogueError`."""
        self.path = path
        self._lock: int | None = None
        self._is_writer = False
        try:
            if not read_only:
                self._lock = lock_ledger(path)
                self._is_writer = True
                if not os.path.lexists(path):
                    write_bytes(path, _empty_catalogue())
            self._open(read_only)
            self._identity = identity_of(path)
        except (*DATABASE_ERRORS, OSError, RunInProgress, CatalogueError) as error:
            self.close()
            if isinstance(error, (CatalogueError, RunInProgress)):
                raise CatalogueError(str(error)) from None
            reason = error.strerror or error if isinstance(error, OSError) else error
            if read_only and os.path.exists(f"{path}-journal"):  # SQLite would have to write to undo it
                reason = "a run was killed while it wrote; batch catalogue with the same inputs mends it"
            raise CatalogueError(f"the catalogue {path} cannot be used: {reason}") from None

    def _open(self, read_only: bool) -> None:
        if os.path.isdir(self.path):
            raise CatalogueError(f"{self.path} is a folder, not a catalogue (keyframer batch catalogue makes one)")
        if not os.path.isfile(self.path):
            raise CatalogueError(f"there is no catalogue {self.path}")
        if not is_catalogue(self.path):
            raise CatalogueError(f"{self.path} is not a catalogue")
        uri = f"file:{quote(os.fsencode(os.path.abspath(self.path)))}?mode={'ro' if read_only else 'rw'}"
        self._database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)
        self._database.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
        self._database.set_progress_handler(lambda: 0, _STEPS)  # so that Ctrl-C ends a long query
        self._database.execute("PRAGMA trusted_schema = OFF")
        self._check_schema()
        if not read_only:
            self._database.execute("PRAGMA foreign_keys = ON")
            self._database.execute("PRAGMA journal_mode = DELETE")
        self.run = 1 + self._number("SELECT coalesce(max(run), 0) FROM resume")

    def _check_schema(self) -> None:
        if self._number("PRAGMA application_id") != APPLICATION_ID:
            raise CatalogueError(f"{self.path} is not a catalogue")
        if self._number("PRAGMA user_version") != VERSION:
            raise CatalogueError(f"the catalogue {self.path} was made by another version of keyframer: make a new one")
        with closing(sqlite3.connect(":memory:")) as reference:
            reference.executescript(SCHEMA)
            expected = set(reference.execute(_OBJECTS))
        found = set(self._database.execute(_OBJECTS))
        if not expected <= found or any(kind == "trigger" for kind, _, _ in found):
            raise CatalogueError(f"the tables of the catalogue {self.path} are not those of keyframer")

    def _number(self, text: str) -> int:
        value = self._database.execute(text).fetchone()[0]
        if not isinstance(value, int):
            raise CatalogueError(f"the catalogue {self.path} is damaged")
        return value

    def query(self, text: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query; raises `CatalogueError` if it fails."""
        try:
            yield from self._database.execute(text, values)
        except (*DATABASE_ERRORS, sqlite3.Warning) as error:  # Warning: several statements, before Python 3.12
            raise CatalogueError(f"the catalogue {self.path} cannot be read: {error}") from None

    def search(
        self, words: Sequence[str], where: str | None = None, more: Iterable[tuple[str, str]] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the table files, and the names in each, that have all words at the beginning of words of
        their names or path, and for which the SQL condition ``where`` holds, sorted by path; ``more`` are conditions
        with one value each.

        Raises `ConditionError` for a wrong condition.
        """
        conditions, values = ["TRUE"], []
        if words:
            conditions.append("files.id IN (SELECT rowid FROM search WHERE search MATCH ?)")
            values.append(" ".join('"{}" *'.format(word.replace('"', '""')) for word in words))
        for condition, value in more:
            conditions.append(condition)
            values.append(value)
        if where is not None:
            conditions.append(f"(\n{where}\n)")
        columns = ", ".join(f"files.{name}" for name in COLUMNS["files"])
        names = "(SELECT names FROM search WHERE search.rowid = files.id)"
        text = f"SELECT {columns}, {names} FROM files WHERE {' AND '.join(conditions)} ORDER BY files.path"
        try:
            yield from self._database.execute(text, values)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            if where is not None and getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) == sqlite3.SQLITE_ERROR:
                raise ConditionError(f"the condition {shortened(where, 200)!r} cannot be used: {error}") from None
            raise CatalogueError(f"the catalogue {self.path} cannot be read: {error}") from None

    def count_damaged(self) -> int:
        """Return the number of files that are damaged or not readable."""
        return int(next(self.query("SELECT count(*) FROM files WHERE verdict IN ('damaged', 'not readable')"))[0])

    def find(self, paths: Sequence[str]) -> dict[str, KnownFile]:
        """Return what is known about these files, by path. SQLite limits their number: pass a few hundred."""
        text = (
            "SELECT path, id, sha256, stamp, options, program, code, also, run FROM files "
            f"JOIN resume ON resume.file = files.id WHERE path IN ({', '.join('?' * len(paths))})"
        )
        known = {}
        for path, *values in self.query(text, [path_text(path) for path in paths]):
            with suppress(ValueError, RecursionError, TypeError):  # a damaged row: the file is processed again
                values[6] = json.loads(values[6])
                if LEDGER_CHECKS["also"](values[6]):
                    known[path] = KnownFile(*values)
        return known

    def check_in_place(self) -> None:
        """Raise `CatalogueError` if the file was removed or replaced: rows would be lost."""
        if identity_of(self.path) != self._identity:
            raise CatalogueError(removed_meanwhile(f"the catalogue {self.path}"))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all or nothing; raises `CatalogueError`."""
        self.check_in_place()
        try:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")
        except DATABASE_ERRORS as error:  # usually the disk is full
            raise CatalogueError(f"the catalogue {self.path} cannot be written: {error}") from None

    def store(self, file: FileRow) -> None:
        """Store a file, replacing its rows; inside a transaction."""
        path = path_text(file.path)
        known = self._forget(path)
        values = {**file.rows["file"], "path": path, "size": file.size, "sha256": file.sha256, "id": known}
        number = self._insert("files", [values[name] for name in COLUMNS["files"]])
        for table in filter(file.rows.get, LISTS):
            rows = ((number, at, *row) for at, row in enumerate(file.rows[table]))
            self._database.executemany(_INSERTIONS[table], rows)
        found = file.rows["fingerprint"]
        if found is not None:
            self._insert("fingerprints", [number, *found[:-1], base64.b64decode(found[-1])])
        also = json.dumps(file.also)
        self._insert("resume", [number, file.stamp, file.options, __version__, file.code, also, self.run, None])
        self._index(number, path, *file.rows["search"])

    def _insert(self, table: str, values: Sequence[Any]) -> int:
        return self._database.execute(_INSERTIONS[table], values).lastrowid or 0

    def _index(self, number: int, path: str, names: str, words: str) -> None:
        text = "INSERT INTO search (rowid, path, names, words) VALUES (?, ?, ?, ?)"
        self._database.execute(text, (number, path, names, words))

    def _remove(self, numbers: Iterable[int]) -> None:
        keys = [(number,) for number in numbers]
        self._database.executemany("DELETE FROM search WHERE rowid = ?", keys)
        self._database.executemany("DELETE FROM files WHERE id = ?", keys)

    def note_unchanged(self, files: Iterable[tuple[int, str]]) -> None:
        """Record that this run found files unchanged, with their stamps (an empty one changes nothing)."""
        text = "UPDATE resume SET run = ?, stamp = CASE ? WHEN '' THEN stamp ELSE ? END WHERE file = ?"
        self._database.executemany(text, ((self.run, stamp, stamp, number) for number, stamp in files))

    def remove_gone(self, is_gone: Callable[[str, str | None], bool]) -> int:
        """Remove the files that this run did not find and for which ``is_gone(path, merged_from)`` holds; returns their
        number."""
        text = "SELECT file, path, merged_from FROM resume JOIN files ON id = file WHERE run < ? AND file > ?"
        removed, last = 0, -1
        while rows := list(self.query(f"{text} ORDER BY file LIMIT 500", (self.run, last))):
            last = rows[-1][0]
            gone = [number for number, path, merged_from in rows if is_gone(path, merged_from)]
            with self.transaction():
                self._remove(gone)
            removed += len(gone)
        return removed

    def merge(self, path: str) -> tuple[int, int]:
        """Copy the files of another catalogue that are new or changed there; returns the number of its files, and of
        those that were copied. Files that this run has found itself, or in a catalogue before, stay.

        Raises `CatalogueError`.
        """
        copied = total = 0
        with Catalogue(path) as other:
            for rows in other._blocks():
                known = self.find([row[1] for row in rows])
                with self.transaction():
                    for number, file_path, *state in rows:
                        total += 1
                        mine = known.get(file_path)
                        if mine is not None and mine.run == self.run:
                            continue
                        if mine is not None and list(mine[1:6]) == state:
                            self.note_unchanged([(mine.id, "")])
                            continue
                        self._copy(other, number, file_path)
                        copied += 1
        return total, copied

    def _blocks(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield id, path and state of all files, some hundred at a time."""
        text = (
            "SELECT id, path, sha256, stamp, options, program, code FROM files JOIN resume ON file = id WHERE id > ? "
            "ORDER BY id LIMIT 500"
        )
        last = -1
        while rows := list(self.query(text, (last,))):
            last = rows[-1][0]
            yield rows

    def _forget(self, path: str) -> int | None:
        """Remove the rows of a file; returns its number, None if it is not known."""
        known = self._database.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        if known is None:
            return None
        self._remove([known[0]])
        return int(known[0])

    def _copy(self, other: Catalogue, number: int, path: str) -> None:
        """Copy the rows of a file."""
        target = self._forget(path)
        for table in _CONTENT:
            own = COLUMNS[table][0]
            for row in list(other.query(f"SELECT * FROM {table} WHERE {own} = ?", (number,))):
                values = [target, *row[1:]]
                if table == "resume":
                    values[-2:] = [self.run, path_text(os.path.abspath(other.path))]
                key = self._insert(table, values)
                target = key if table == "files" else target
        for names in list(other.query("SELECT path, names, words FROM search WHERE rowid = ?", (number,))):
            self._index(target or 0, *names)

    def close(self) -> None:
        database = getattr(self, "_database", None)
        if database is not None:
            if self._is_writer:
                with suppress(*DATABASE_ERRORS):  # statistics for faster queries
                    database.execute("PRAGMA optimize")
            database.close()
        if self._is_writer:
            self._is_writer = False
            remove_lock(self.path, self._lock)

    def __enter__(self) -> Catalogue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _empty_catalogue() -> bytes:
    """Return a catalogue without files. It is written at once, so that no killed run leaves half of its tables."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; {SCHEMA}")
        return database.serialize()
