"""The index of a gallery: one page that shows, filters and sorts all files.

Its data is made from the ledgers of all shards. It is a script that the page loads, because a page from a disk may not
read other files.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from itertools import chain
from typing import Any
from urllib.parse import quote

from keyframer.batch import storage
from keyframer.batch.base_run import InputFile
from keyframer.batch.job import FAILED, PAYLOAD
from keyframer.batch.ledger import LOCK, Ledger, LedgerError, lock_ledger
from keyframer.batch.shards import other_shards
from keyframer.files import write_bytes
from keyframer.text import safe_text

PAGE = "index.html"
"""name of the index, and of the page in the folder of each file"""
FOLDER = "files"
"""the folder of the folders of all files, next to the index"""
ASSETS = "gallery"
"""the folder of scripts, styles and data, next to the index"""
_DATA = f"{ASSETS}/data.js"
DAMAGED = ("damaged", "not readable")
"""verdicts on files that are not shown as a whole"""

_DETAILS: dict[str, Any] = {
    **dict.fromkeys(("verdict", "title", "words", "date", "writer", "stranger"), str),
    **dict.fromkeys(("seconds", "triangles", "frames", "still"), (int, float)),
    "features": list,
}
"""details of a row that are in its entry, with their types: a ledger is not trusted"""


def inputs_of(inputs: Iterable[InputFile], out: str) -> Iterator[InputFile]:
    """Yield the inputs with paths below the folder of all files; files that a gallery at ``out`` has written are left
    out."""
    own = tuple(os.path.join(out, part, "") for part in (FOLDER, os.path.join(PAYLOAD, FOLDER)))
    for file in inputs:
        if not file.source.startswith(own):
            yield file._replace(relative=f"{FOLDER}/{file.relative}")


def check(out: str, ledger: Ledger, *, force: bool) -> None:
    """Raise `LedgerError` if the output folder has an index that no gallery wrote, unless ``force``."""
    index = os.path.join(out, PAGE)
    if force or storage.is_url(out) or not os.path.lexists(index) or ledger.outputs_of("gallery"):
        return
    if not any(True for _ in _rows_elsewhere(ledger)):
        raise LedgerError(f"{index} exists and was not written by an earlier run (--force replaces it)")


def write(out: str, ledger: Ledger, sources: Iterable[str]) -> tuple[str, int]:
    """Write the index of these sources and those of the other shards, with scripts and styles; returns its path, and
    how many of the files are damaged or not readable.

    Shards that end at the same time write one after the other, so that the last of them has read the rows of all.
    """
    with _taking_turns(ledger):
        return _write_all(out, ledger, set(sources))


@contextmanager
def _taking_turns(ledger: Ledger) -> Iterator[None]:
    common, _ = other_shards(ledger.path)
    try:
        lock = None if common == ledger.path else lock_ledger(common, wait=True)
    except OSError as error:
        raise LedgerError(f"{common}{LOCK} cannot be written: {error.strerror or error}") from None
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _rows_elsewhere(ledger: Ledger) -> Iterator[dict[str, Any]]:
    """Yield the rows of the other shards whose sources are not gone."""
    for path in other_shards(ledger.path)[1]:
        # a shard that begins has no tables yet; it writes the index when it ends
        with suppress(LedgerError), Ledger(path, read_only=True) as other:
            yield from (row for row in other.rows("gallery") if not storage.is_gone(row["source"]))


def _write_all(out: str, ledger: Ledger, wanted: set[str]) -> tuple[str, int]:
    from keyframer.viewer.standalone_page import shared_files  # loads numpy

    own = (row for row in ledger.rows("gallery") if row["source"] in wanted)
    rows = {row["source"]: row for row in chain(own, _rows_elsewhere(ledger))}
    of_content = Counter(row["sha256"] for row in rows.values())
    listed = [_entry(row, of_content[row["sha256"]] - 1) for _, row in sorted(rows.items())]
    data = f"keyframerGallery({json.dumps(listed, separators=(',', ':'))});\n"
    site = {path.name: path.read_bytes() for path in files(__package__).joinpath("gallery_site").iterdir()}
    contents = {f"{ASSETS}/{name}": content for name, content in {**shared_files(), **site}.items() if name != PAGE}
    for name, content in {**contents, _DATA: data.encode("ascii"), PAGE: site[PAGE]}.items():
        _write(out, name, content)
    return f"{out}/{PAGE}", sum(entry.get("verdict") in DAMAGED for entry in listed)


def _write(out: str, name: str, data: bytes) -> None:
    path = f"{out}/{name}"
    try:
        if storage.is_url(path):
            storage.write(path, data)
            return
        if any(os.path.islink(f"{out}/{part}") for part in (name, os.path.dirname(name)) if part):
            raise OSError("it is, or leads through, a link")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_bytes(path, data, overwrite=True)
    except OSError as error:
        raise LedgerError(f"{path} cannot be written: {error.strerror or error}") from None


def files_of(out: str) -> list[str]:
    """Return the files of an index, below its folder."""
    if storage.is_url(out):
        names = [f"{ASSETS}/{name}" for name in storage.list_sizes(f"{out}/{ASSETS}")]
    else:
        folder = os.path.join(out, ASSETS)
        names = [f"{ASSETS}/{name}" for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))]
    return [PAGE, *sorted(names)]


def path_below(folder: str) -> str:
    """Return the path of a file below its input, from that of its folder; in a bag, another folder is before it."""
    return folder.partition(f"{FOLDER}/")[2]


def _entry(row: dict[str, Any], copies: int = 0) -> dict[str, Any]:
    """Return a row of the ledger as an entry of the data. ``url`` is the folder of a file, or empty without a page;
    ``copies`` the number of other files with the same content."""
    folder = str(row["output"]).rpartition("/")[0]
    path = safe_text(path_below(folder))
    entry: dict[str, Any] = {"path": path, "format": row["format"] or "unknown", "size": row["size"] or 0}
    if row["status"] == FAILED:
        return {**entry, "url": "", "verdict": "not readable", "message": f"{row['code']}: {row['message']}"}
    if copies and row["sha256"]:
        entry["copies"] = copies
    details = {name: value for name, value in row["details"].items() if isinstance(value, _DETAILS.get(name, ()))}
    return {**entry, "url": quote(os.fsencode(folder)), **details}
