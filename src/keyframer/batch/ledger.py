"""What was done: one row for each finished file, in a SQLite file. The truth is the output file; this is a cache of it.

Write-ahead logging: a row is in the file when `record` returns, so that ``kill -9`` loses nothing that was recorded; a
power cut may lose the last rows, never the ledger. Names that are not UTF-8 are kept as the bytes they are.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from keyframer.batch.holding import Held, copy_to_read, hold
from keyframer.batch.job import Result
from keyframer.batch.naming import Renamed, key_of

VERSION = 1

COLUMNS = (
    "operation", "source", "output", "status", "code", "message", "offset", "path", "sha256", "size", "stamp",
    "options", "version", "format", "worst", "issues", "outputs", "also", "details", "seconds", "finished",
)  # fmt: skip
_JSON = ("issues", "outputs", "also", "details")
_NAMES = ("source", "output", "output_key", "wanted", "given")

_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS files (
    operation TEXT NOT NULL, source TEXT NOT NULL, output TEXT NOT NULL, output_key TEXT NOT NULL,
    status TEXT NOT NULL, code TEXT, message TEXT, offset INTEGER, path TEXT,
    sha256 TEXT, size INTEGER, stamp TEXT NOT NULL, options TEXT NOT NULL, version TEXT NOT NULL,
    format TEXT, worst TEXT, issues TEXT NOT NULL, outputs TEXT NOT NULL, also TEXT NOT NULL, details TEXT NOT NULL,
    seconds REAL NOT NULL, finished REAL NOT NULL,
    PRIMARY KEY (operation, source)
);
CREATE INDEX IF NOT EXISTS by_output ON files (operation, output_key);
CREATE TABLE IF NOT EXISTS renamed (
    operation TEXT NOT NULL, source TEXT NOT NULL, wanted TEXT NOT NULL, given TEXT NOT NULL, reason TEXT NOT NULL,
    PRIMARY KEY (operation, source)
);
"""


class Row(NamedTuple):
    """What a row says about whether its source is still done."""

    source: str
    status: str
    code: str | None
    options: str
    version: str
    output: str
    outputs: list[dict[str, Any]]
    also: list[list[Any]]
    sha256: str | None
    stamp: str


class LedgerError(Exception):
    """The ledger cannot be used; the message says why."""


class Ledger:
    """The ledger of one output folder (a path or a URL). Use it as a context."""

    def __init__(self, path: str, out: str | None = None, *, read_only: bool = False) -> None:
        self.path = path
        self._prefix = "" if out is None else out.rstrip("/" + os.sep) + "/"
        self._lock: int | None = None
        self._known: list[str] | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        if not read_only:
            try:
                self._lock = hold(path)
            except Held as error:
                raise LedgerError(str(error)) from None
            except OSError as error:
                raise LedgerError(f"the ledger {path} cannot be written: {error.strerror or error}") from None
        try:
            self._open(out, read_only)
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise LedgerError(f"{path} is not a ledger that can be used: {error}") from None
        except LedgerError:
            self.close()
            raise

    def _open(self, out: str | None, read_only: bool) -> None:
        if read_only and not os.path.isfile(self.path):
            raise LedgerError(f"there is no ledger {self.path}")
        self._copy = copy_to_read(self.path) if read_only else None
        path = self.path if self._copy is None else os.path.join(self._copy.name, "ledger")
        self._base = sqlite3.connect(path, isolation_level=None, timeout=10)
        self._base.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        self._base.row_factory = sqlite3.Row
        if not read_only:
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = NORMAL")
            self._base.executescript(_TABLES)
            self._about("version", str(VERSION))
        if self.about("version") != str(VERSION):
            raise LedgerError(f"{self.path} was made by another version of keyframer")
        if out is not None and not self._is_inside(out):
            self._about("out", out)
            if self.about("out") != out:
                raise LedgerError(f"{self.path} is the ledger of another folder: {self.about('out')}")

    def _is_inside(self, out: str) -> bool:
        return os.path.dirname(os.path.abspath(self.path)) == os.path.abspath(out)

    def _about(self, name: str, value: str) -> None:
        self._base.execute("INSERT OR IGNORE INTO about VALUES (?, CAST(? AS TEXT))", (name, _raw(value)))

    def about(self, name: str) -> str | None:
        row = self._base.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row["value"])

    def record(self, result: Result) -> None:
        """Keep a result; it replaces what was known of the same source."""
        error = result["error"] or {}
        output = str(result["output"]).removeprefix(self._prefix)
        values = {
            **{name: result[name] for name in COLUMNS if name in result},
            **{name: json.dumps(result[name]) for name in _JSON},
            **{name: error.get(name) for name in ("code", "message", "offset", "path")},
            "output": output,
            "output_key": key_of(output),
            "finished": time.time(),
        }
        names = list(values)
        marks = ", ".join("CAST(? AS TEXT)" if name in _NAMES else "?" for name in names)
        with self._writing():
            self._base.execute(
                f"INSERT OR REPLACE INTO files ({', '.join(names)}) VALUES ({marks})",
                [_raw(value) if name in _NAMES else value for name, value in values.items()],
            )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:  # the disk is full, as a rule
            raise LedgerError(f"the ledger {self.path} cannot be written: {error}") from None

    def find(self, operation: str, sources: Sequence[str]) -> dict[str, Row]:
        """The rows of some sources, a few hundred at most."""
        marks = ", ".join(["CAST(? AS TEXT)"] * len(sources))
        cursor = self._base.cursor()
        cursor.row_factory = None
        found: dict[str, Row] = {}
        for values in cursor.execute(
            f"SELECT {', '.join(Row._fields)} FROM files WHERE operation = ? AND source IN ({marks})",
            (operation, *map(_raw, sources)),
        ):
            source, status, code, options, version, output, outputs, also, sha256, stamp = values
            others = json.loads(also) if also != "[]" else []
            found[source] = Row(
                source, status, code, options, version, output, json.loads(outputs), others, sha256, stamp
            )
        return found

    def outputs_of(self, operation: str) -> dict[str, str]:
        """Source -> output, of all rows of an operation."""
        cursor = self._base.cursor()
        cursor.row_factory = None
        return dict(cursor.execute("SELECT source, output FROM files WHERE operation = ?", (operation,)))

    def owner_of(self, operation: str, key: str) -> str | None:
        """The source whose output has this key."""
        row = self._base.execute(
            "SELECT source FROM files WHERE operation = ? AND output_key = CAST(? AS TEXT)", (operation, _raw(key))
        ).fetchone()
        return None if row is None else row["source"]

    def is_output(self, path: str) -> bool:
        """Whether some run wrote this file."""
        if not path.startswith(self._prefix):
            return False
        key = key_of(path.removeprefix(self._prefix))
        return any(self.owner_of(operation, key) is not None for operation in self._operations())

    def _operations(self) -> list[str]:
        if self._known is None:
            self._known = [row["operation"] for row in self._base.execute("SELECT DISTINCT operation FROM files")]
        return self._known

    def touch(self, operation: str, source: str, stamp: str) -> None:
        """The source has another time but the same content."""
        with self._writing():
            self._base.execute(
                "UPDATE files SET stamp = ? WHERE operation = ? AND source = CAST(? AS TEXT)",
                (stamp, operation, _raw(source)),
            )

    def dead_ends(self, operation: str) -> list[str]:
        """Sources that nothing could be read from: folders may be among them."""
        text = "SELECT source FROM files WHERE operation = ? AND code = 'IO_READ_FAILED' AND sha256 IS NULL"
        return [row["source"] for row in self._base.execute(text, (operation,))]

    def forget(self, operation: str, source: str) -> None:
        with self._writing():
            self._base.execute(
                "DELETE FROM files WHERE operation = ? AND source = CAST(? AS TEXT)", (operation, _raw(source))
            )

    def note_renamed(self, operation: str, renamed: list[Renamed]) -> None:
        values = [(operation, _raw(each.source), _raw(each.wanted), _raw(each.given), each.reason) for each in renamed]
        with self._writing():
            self._base.execute("BEGIN")
            self._base.executemany(
                "INSERT OR REPLACE INTO renamed VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?)",
                values,
            )
            self._base.execute("COMMIT")

    def rows(self, operation: str | None = None, status: str | None = None) -> Iterator[dict[str, Any]]:
        """All rows in the order of their sources, one at a time."""
        wanted = [("operation", operation), ("status", status)]
        chosen = [(name, value) for name, value in wanted if value is not None]
        where = " AND ".join(f"{name} = ?" for name, _ in chosen)
        text = f"SELECT * FROM files {'WHERE ' + where if where else ''} ORDER BY operation, source"
        for row in self._base.execute(text, [value for _, value in chosen]):
            yield _plain(row)

    def renamed(self, operation: str | None = None) -> list[Renamed]:
        rows = self._base.execute("SELECT * FROM renamed ORDER BY operation, source")
        return [
            Renamed(row["source"], row["wanted"], row["given"], row["reason"])
            for row in rows
            if operation in (None, row["operation"])
        ]

    def counts(self, operation: str | None = None) -> list[tuple[str, str, str | None, int]]:
        """Operation, status, code of a failure, and how many files: failures last, the most frequent first."""
        text = (
            "SELECT operation, status, code, COUNT(*) AS n FROM files GROUP BY 1, 2, 3 "
            "ORDER BY 1, status = 'failed', 2, 4 DESC, 3"
        )
        rows = [(row["operation"], row["status"], row["code"], row["n"]) for row in self._base.execute(text)]
        return [row for row in rows if operation in (None, row[0])]

    def close(self) -> None:
        base = getattr(self, "_base", None)
        if base is not None:
            base.close()
        if self._copy is not None:
            self._copy.cleanup()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _plain(row: sqlite3.Row) -> dict[str, Any]:
    return {name: json.loads(row[name]) if name in _JSON else row[name] for name in row.keys()}  # noqa: SIM118
