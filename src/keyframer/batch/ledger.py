"""The ledger: one row per finished file in a SQLite file. Outputs are authoritative; the ledger is a cache.

The database uses write-ahead logging: a row is in the file when `record` returns, so that ``kill -9`` loses nothing
that was recorded. A power cut may lose the last rows, but not the ledger. Names that are not UTF-8 are stored as bytes.

A ledger is not trusted. If it has foreign tables, views or triggers, it is refused as a whole. A row that this program
cannot have written is ignored, and `Ledger.refused` has the reason.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

from keyframer.batch.job import Result
from keyframer.batch.ledger_rows import COLUMNS, JSON, TABLES, BadRow, Row, checked
from keyframer.batch.output_names import Renamed, key_of

LOCK = ".lock"
"""extension of the lock file, which is next to the ledger"""


DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""exceptions of SQLite; its message about a damaged file may quote text that is not UTF-8"""


class RunInProgress(Exception):
    """Another run is writing to this folder."""


def lock_ledger(path: str, *, wait: bool = False) -> int | None:
    """Lock the ledger at ``path`` for one run; returns the descriptor of the lock file, None on systems without file
    locks. On a disk without locks nothing is locked.

    Raises `RunInProgress` if another run has the lock, unless to ``wait`` for it. The system unlocks it when the
    process ends for any reason.
    """
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    for name in (path, path + LOCK):
        if os.path.lexists(name) and not stat.S_ISREG(os.lstat(name).st_mode):  # a link may lead anywhere
            raise OSError(errno.EINVAL, f"{name} is not a regular file")
    try:
        import fcntl
    except ImportError:  # Windows: the locks of SQLite protect the ledger
        return None
    while True:
        descriptor = os.open(path + LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise RunInProgress(f"another run is working in this folder ({path} is in use)") from None
        except OSError:  # a disk without locks
            return descriptor
        if identity_of(descriptor) == identity_of(path + LOCK):
            return descriptor
        os.close(descriptor)  # the run that had the lock removed the file: the next one would lock another


@contextmanager
def folder_lock(path: str) -> Iterator[None]:
    """Lock the folder of a ledger that is elsewhere, by the lock of the ledger that would be in it."""
    try:
        descriptor = lock_ledger(path)
    except RunInProgress as error:
        raise LedgerError(str(error)) from None
    except OSError as error:
        raise LedgerError(f"{path}{LOCK} cannot be written: {error.strerror or error}") from None
    try:
        yield
    finally:
        remove_lock(path, descriptor)


def remove_lock(path: str, descriptor: int | None) -> None:
    """Remove the lock file that `lock_ledger` made, and unlock it."""
    with suppress(OSError):
        os.unlink(path + LOCK)
    if descriptor is not None:
        with suppress(OSError):
            os.close(descriptor)


def identity_of(file: str | int) -> tuple[int, int] | None:
    """Return device and inode of a file; None if it does not exist."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def copy_to_read(path: str) -> tempfile.TemporaryDirectory[str] | None:
    """Copy a ledger whose folder is read-only; returns the temporary folder with the copy, named ``ledger``. Returns
    None if the folder of the ledger can be written.

    SQLite writes next to the file that it reads. The log of a killed run is copied, too: it has the last rows.
    """
    if os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
        return None
    folder = tempfile.TemporaryDirectory(prefix="keyframer-")
    try:
        for ending in ("", "-wal"):
            if os.path.exists(path + ending):
                shutil.copyfile(path + ending, os.path.join(folder.name, "ledger" + ending))
    except OSError:
        folder.cleanup()
        raise
    return folder


VERSION = 1

_SCHEMA = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"
_NAMES = ("source", "output", "output_key")
_RECORD = "INSERT OR REPLACE INTO files ({}) VALUES ({})".format(
    ", ".join((*COLUMNS, "output_key")),
    ", ".join(f"CAST(:{name} AS TEXT)" if name in _NAMES else f":{name}" for name in (*COLUMNS, "output_key")),
)


class LedgerError(Exception):
    """The ledger cannot be used; the message says why."""


def removed_meanwhile(what: str) -> str:
    return f"{what} was removed or replaced during the run; the same command does again what is missing"


class Ledger:
    """The ledger of one output folder (a path or a URL). Use it as a context manager."""

    def __init__(self, path: str, out: str | None = None, *, read_only: bool = False) -> None:
        self.path = path
        self.refused: list[str] = []
        """one message for each refused row, with the reason"""
        self._refused_rowids: list[int] = []
        self._prefix = "" if out is None else out.rstrip("/" + os.sep) + "/"
        self._lock: int | None = None
        self._known_operations: list[str] | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        lock_is_new = not read_only and not os.path.lexists(path + LOCK)
        if not read_only:
            try:
                self._lock = lock_ledger(path)
            except RunInProgress as error:
                raise LedgerError(str(error)) from None
            except OSError as error:
                raise LedgerError(f"the ledger {path} cannot be written: {error.strerror or error}") from None
        try:
            self._open(out, read_only)
        except (*DATABASE_ERRORS, OSError, LedgerError) as error:
            if lock_is_new:  # leave no lock file next to a file that is not a ledger
                with suppress(OSError):
                    os.unlink(path + LOCK)
            self.close()
            if isinstance(error, LedgerError):
                raise
            raise LedgerError(f"{path} is not a usable ledger: {error}") from None
        self._identity = identity_of(path)

    def check_in_place(self) -> None:
        """Raise `LedgerError` if the file of the ledger was removed or replaced: rows would be lost."""
        if identity_of(self.path) != self._identity:
            raise LedgerError(removed_meanwhile(f"the ledger {self.path}"))

    def _open(self, out: str | None, read_only: bool) -> None:
        if read_only and not os.path.isfile(self.path):
            raise LedgerError(f"there is no ledger {self.path}")
        self._copy = copy_to_read(self.path) if read_only else None
        path = self.path if self._copy is None else os.path.join(self._copy.name, "ledger")
        self._database = sqlite3.connect(path, isolation_level=None, timeout=10)
        self._database.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        self._database.execute("PRAGMA trusted_schema = OFF")
        self._check_tables(read_only)
        if not read_only:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.executescript(TABLES)
            self._set_about("version", str(VERSION))
        if out is not None and not self._is_inside(out):
            self._set_about("out", out)
            if self.about("out") != out:
                raise LedgerError(f"{self.path} is the ledger of another folder: {self.about('out')}")

    def _check_tables(self, complete: bool) -> None:
        """Raise unless the ledger has this version and only our tables: a foreign trigger or view would run with our
        queries.

        Unless ``complete``, some tables may be missing: a run may have been killed before it created all of them.
        """
        with closing(sqlite3.connect(":memory:")) as reference:
            reference.executescript(TABLES)
            expected = set(reference.execute(_SCHEMA))
        schema = set(self._database.execute(_SCHEMA))
        has_version = any(name == "about" for _, name, _ in schema & expected)
        if has_version and self.about("version") not in (None, str(VERSION)):
            raise LedgerError(f"{self.path} was made by another version of keyframer")
        if not schema <= expected or (complete and schema != expected):
            raise LedgerError(f"{self.path} is not a usable ledger: its tables are not those of keyframer")

    def _is_inside(self, out: str) -> bool:
        return os.path.dirname(os.path.abspath(self.path)) == os.path.abspath(out)

    def _set_about(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR IGNORE INTO about VALUES (?, CAST(? AS TEXT))", (name, _raw(value)))

    def about(self, name: str) -> str | None:
        row = next(self._query("SELECT value FROM about WHERE name = ?", (name,)), None)
        return None if row is None else str(row[0])

    def _query(self, text: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._database.execute(text, values)
        except DATABASE_ERRORS as error:  # usually a damaged file
            raise LedgerError(f"the ledger {self.path} cannot be read: {error}") from None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except DATABASE_ERRORS as error:  # usually the disk is full
            raise LedgerError(f"the ledger {self.path} cannot be written: {error}") from None

    def _valid_rows(self, names: tuple[str, ...], where: str, values: Sequence[Any] = ()) -> Iterator[list[Any]]:
        """Yield the values of these columns for each row; rows with an invalid value in one of them are refused."""
        text = f"SELECT rowid, source, {', '.join(names)} FROM files {where}"
        for rowid, source, *row in self._query(text, values):
            try:
                yield list(checked(names, tuple(row)))
            except BadRow as flaw:
                self._refuse(rowid, source, str(flaw))

    def _refuse(self, rowid: int, source: Any, flaw: str) -> None:
        self._refused_rowids.append(rowid)
        self.refused.append(f"the row of {source} in the ledger is refused: {flaw}")

    def refuse(self, operation: str, source: str, flaw: str) -> None:
        """Refuse the row of this source; `forget_refused` removes it."""
        where = "WHERE operation = ? AND source = CAST(? AS TEXT)"
        for (rowid,) in self._query(f"SELECT rowid FROM files {where}", (operation, _raw(source))):
            self._refuse(rowid, source, flaw)

    def forget_refused(self) -> None:
        """Remove the refused rows, so that their files are processed again."""
        with self._writing():
            rows = [(rowid,) for rowid in self._refused_rowids]
            self._database.executemany("DELETE FROM files WHERE rowid = ?", rows)
        self._refused_rowids.clear()

    def record(self, result: Result) -> None:
        """Store a result; it replaces the row of the same operation and source."""
        output = str(result["output"]).removeprefix(self._prefix)
        values = {
            **result,
            **dict.fromkeys(("code", "message", "offset", "path")),
            **(result["error"] or {}),
            **{name: json.dumps(result[name]) for name in JSON},
            "output": _raw(output),
            "output_key": _raw(key_of(output)),
            "source": _raw(result["source"]),
            "finished": time.time(),
        }
        with self._writing():
            self._database.execute(_RECORD, values)

    def find(self, operation: str, sources: Sequence[str]) -> dict[str, Row]:
        """Return the valid rows of these sources, by source. SQLite limits their number: pass a few hundred."""
        placeholders = ", ".join(["CAST(? AS TEXT)"] * len(sources))
        where = f"WHERE operation = ? AND source IN ({placeholders})"
        rows = (Row(*values) for values in self._valid_rows(Row._fields, where, (operation, *map(_raw, sources))))
        return {row.source: row for row in rows}

    def outputs_of(self, operation: str) -> dict[str, str]:
        """Return source -> output of the valid rows of an operation; of rows with equal outputs only one is valid."""
        outputs: dict[str, str] = {}
        taken: set[str] = set()
        for rowid, source, output in self._valid_rows(
            ("rowid", "source", "output"), "WHERE operation = ?", (operation,)
        ):
            key = key_of(output)
            if key in taken:
                self._refuse(rowid, source, f"its output {output} is that of another row")
            else:
                taken.add(key)
                outputs[source] = output
        return outputs

    def is_output(self, path: str) -> bool:
        """Return whether a row of any operation has this path as its output."""
        if not path.startswith(self._prefix):
            return False
        key = key_of(path.removeprefix(self._prefix))
        text = "SELECT 1 FROM files WHERE operation = ? AND output_key = CAST(? AS TEXT)"
        return any(True for operation in self._operations() for _ in self._query(text, (operation, _raw(key))))

    def _operations(self) -> list[str]:
        if self._known_operations is None:
            self._known_operations = [operation for (operation,) in self._query("SELECT DISTINCT operation FROM files")]
        return self._known_operations

    def touch(self, operation: str, source: str, stamp: str) -> None:
        """Store the new stamp of a source with unchanged content."""
        with self._writing():
            self._database.execute(
                "UPDATE files SET stamp = ? WHERE operation = ? AND source = CAST(? AS TEXT)",
                (stamp, operation, _raw(source)),
            )

    def unreadable_sources(self, operation: str) -> list[str]:
        """Return sources that could not be read: some may be folders."""
        text = "SELECT source FROM files WHERE operation = ? AND code = 'IO_READ_FAILED' AND sha256 IS NULL"
        return [source for (source,) in self._query(text, (operation,)) if isinstance(source, str)]

    def forget(self, operation: str, source: str) -> None:
        with self._writing():
            self._database.execute(
                "DELETE FROM files WHERE operation = ? AND source = CAST(? AS TEXT)", (operation, _raw(source))
            )

    def record_renamed(self, operation: str, renamed: list[Renamed]) -> None:
        values = [
            (operation, _raw(renaming.source), _raw(renaming.wanted), _raw(renaming.given), renaming.reason)
            for renaming in renamed
        ]
        with self._writing():
            self._database.execute("BEGIN")
            self._database.executemany(
                "INSERT OR REPLACE INTO renamed VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?)",
                values,
            )
            self._database.execute("COMMIT")

    def rows(self, operation: str | None = None, status: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of an operation and status (None: any), sorted by operation and source."""
        wanted = [("operation", operation), ("status", status)]
        chosen = [(name, value) for name, value in wanted if value is not None]
        where = " AND ".join(f"{name} = ?" for name, _ in chosen)
        text = f"{'WHERE ' + where if where else ''} ORDER BY operation, source"
        for values in self._valid_rows(tuple(COLUMNS), text, [value for _, value in chosen]):
            yield dict(zip(COLUMNS, values, strict=True))

    def renamed(self, operation: str | None = None) -> list[Renamed]:
        text = "SELECT operation, source, wanted, given, reason FROM renamed ORDER BY operation, source"
        return [
            Renamed(*map(str, row)) for row_operation, *row in self._query(text) if operation in (None, row_operation)
        ]

    def counts(self, operation: str | None = None) -> list[tuple[str, str, str | None, int]]:
        """Return operation, status, failure code and number of files: for each operation, failures come last."""
        text = (
            "SELECT operation, status, code, COUNT(*) FROM files GROUP BY 1, 2, 3 "
            "ORDER BY 1, status = 'failed', 2, 4 DESC, 3"
        )
        names = ("operation", "status", "code")
        return [
            (*key, count)
            for *key, count in self._query(text)
            if all(COLUMNS[name](value) for name, value in zip(names, key, strict=True)) and operation in (None, key[0])
        ]

    def close(self) -> None:
        database = getattr(self, "_database", None)
        if database is not None:
            database.close()
        if self._copy is not None:
            self._copy.cleanup()
        if self._lock is not None:
            with suppress(OSError):  # nothing was written to the lock file, and it is unlocked either way
                os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
