"""Proof that files are what they were: manifests with SHA-256 of inputs and outputs, BagIt bags (RFC 8493), and
verification of sources and outputs against ledgers.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

from keyframer import __version__
from keyframer.batch import storage
from keyframer.batch.job import PAYLOAD
from keyframer.batch.ledger import Ledger
from keyframer.batch.operation_table import ALL
from keyframer.batch.output_names import is_below
from keyframer.batch.shards import Ledgers, missing_shards
from keyframer.errors import FormatError, reason_of
from keyframer.files import write_bytes
from keyframer.text import counted, safe_text

MANIFEST = "manifest-sha256.txt"
BAG_DECLARATION = "bagit.txt"
_BAG_INFO, _TAG_MANIFEST = "bag-info.txt", "tagmanifest-sha256.txt"
SOURCES = f"{PAYLOAD}/sources"
"""folder of a bag with copies of the inputs"""
_AGENT = "Bag-Software-Agent: keyframer "
_LINE = re.compile(rb"(\\?)([0-9A-Fa-f]{64})[ \t]+\*?(.+)", re.DOTALL)
_LONGEST_LINE = 1 << 16
"""bytes: longer lines are not those of a manifest"""


class ProofError(Exception):
    """A manifest cannot be read or written; the message says why."""


def read_manifest(path: str) -> Iterator[tuple[str, str]]:
    """Yield source and SHA-256 of each line of a manifest, as ``sha256sum`` or BagIt write it. Names are relative to
    the folder of the manifest, which is a path or a URL.

    Raises `ProofError` if it cannot be read or a line is not of this form.
    """
    is_url = storage.is_url(path)
    folder = path.rpartition("/")[0] if is_url else os.path.dirname(os.path.abspath(path))
    is_bag = _is_bag(folder)
    for number, line in enumerate(_lines(path, is_url), 1):
        text = line.rstrip(b"\r\n")
        if not text:
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            raise ProofError(f"{path}: line {number} is not a SHA-256 and a name, as sha256sum writes them")
        raw = match[3]
        if match[1]:
            raw = re.sub(rb"\\([\\nr])", lambda escape: {b"n": b"\n", b"r": b"\r"}.get(escape[1], escape[1]), raw)
        elif is_bag:
            raw = re.sub(rb"%0([AaDd])", lambda escape: b"\n" if escape[1] in b"Aa" else b"\r", raw)
        name = os.fsdecode(raw)
        source = f"{folder}/{name.removeprefix('./')}" if is_url else os.path.normpath(os.path.join(folder, name))
        yield source, match[2].decode().lower()


def _lines(path: str, is_url: bool) -> Iterator[bytes]:
    try:
        if is_url:
            yield from storage.read(path).splitlines(keepends=True)
            return
        with open(path, "rb") as stream:
            while line := stream.readline(_LONGEST_LINE):
                yield line
    except (OSError, FormatError) as error:
        reason = reason_of(error, path) if isinstance(error, OSError) else error.message
        raise ProofError(f"{path}: {reason}") from None


@dataclass
class _Written:
    """What a manifest lists."""

    files: int = 0
    size: int = 0
    digest: Any = field(default_factory=hashlib.sha256)
    operations: set[str] = field(default_factory=set)

    def add(self, line: bytes, size: int) -> bytes:
        """Count a file and return its line."""
        self.files += 1
        self.size += size
        self.digest.update(line)
        return line


def write_manifest(rows: Iterable[dict[str, Any]], out: str, *, name: str = MANIFEST, overwrite: bool = True) -> int:
    """Write the manifest of all existing outputs of rows to the output folder, for ``sha256sum -c`` in this folder;
    returns the number of its lines. Under another ``name`` it is that of a shard, without the index of a gallery: the
    next shard changes it.
    """
    written = _Written()

    def lines() -> Iterator[bytes]:
        yield from _manifest(rows, out, written, _escaped)
        for index_file, sha256 in _index_hashes(out, written) if name == MANIFEST else ():
            written.files += 1
            yield _escaped(sha256.encode(), index_file.encode())

    _write(out, name, lines(), overwrite)
    return written.files


@dataclass(frozen=True)
class BagInfo:
    """What a bag has besides the outputs: copies of ``sources``, and who made it."""

    sources: Collection[str] = ()
    """inputs; those in a container are there as the whole container, those at URLs are not"""
    organization: str = ""
    contact: str = ""
    """a name, or an address for mail"""

    def lines(self) -> Iterator[str]:
        kind = "Contact-Email" if "@" in self.contact and " " not in self.contact else "Contact-Name"
        for name, value in (("Source-Organization", self.organization), (kind, self.contact)):
            if value:
                yield f"{name}: {safe_text(value)}\n"


def write_bag(rows: Iterable[dict[str, Any]], out: str, *, overwrite: bool = True, info: BagInfo | None = None) -> int:
    """Write the files that make a bag of the output folder: copies of sources, the manifest of the outputs, which are
    below `PAYLOAD`, and the files about the bag; returns the number of files in the manifest. The index of a gallery
    counts as a file about the bag.

    Raises `ProofError` if `PAYLOAD` has other files.
    """
    written, names, info = _Written(), set[str](), info or BagInfo()

    def escaped(sha256: bytes, name: bytes) -> bytes:
        names.add(os.fsdecode(name))
        return _escaped_in_bag(sha256, name)

    def lines() -> Iterator[bytes]:
        yield from _manifest(rows, out, written, escaped)
        for name, sha256, size in _copied(info.sources, out):
            if name in names:
                raise ProofError(f"{out}/{name} is an output: a bag of these inputs cannot have sources")
            yield written.add(escaped(sha256.encode(), os.fsencode(name)), size)
        if foreign := foreign_files(out, names):
            more = f" and {counted(len(foreign) - 1, 'more file')}" if len(foreign) > 1 else ""
            them = "them" if more else "it"
            reason = f"no row of the ledger has {foreign[0]}{more}"
            raise ProofError(f"{out} is no valid bag: {reason}: remove {them} and run the same command again")

    _write(out, MANIFEST, lines(), overwrite)
    tags = {
        BAG_DECLARATION: "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n",
        _BAG_INFO: f"{_AGENT}{__version__}\nBagging-Date: {date.today().isoformat()}\n"
        f"{''.join(info.lines())}"
        f"Payload-Oxum: {written.size}.{written.files}\n",
    }
    hashes = {MANIFEST: written.digest.hexdigest(), **dict(_index_hashes(out, written))}
    for name, text in tags.items():
        _write(out, name, [text.encode()], overwrite)
        hashes[name] = hashlib.sha256(text.encode()).hexdigest()
    tag_lines = (f"{sha256}  {name}\n".encode() for name, sha256 in sorted(hashes.items()))
    _write(out, _TAG_MANIFEST, tag_lines, overwrite)
    return written.files


def foreign_files(out: str, names: Collection[str]) -> list[str]:
    """Return the files below `PAYLOAD` that are not among ``names``, as paths below the output folder."""
    if storage.is_url(out):
        found = [f"{PAYLOAD}/{name}" for name in storage.list_sizes(f"{out}/{PAYLOAD}")]
    else:
        walked = os.walk(os.path.join(out, PAYLOAD))
        paths = (os.path.join(folder, name) for folder, _, files in walked for name in files)
        found = [_below(path, out) for path in paths]
    return sorted(name for name in found if name not in names)


def _below(path: str, out: str) -> str:
    return os.path.relpath(path, out).replace(os.sep, "/")


def is_own_bag(out: str) -> bool:
    """Return whether an output folder is a bag that keyframer has written."""
    with suppress(OSError), open(os.path.join(out, _BAG_INFO), "rb") as stream:
        return stream.read(_LONGEST_LINE).startswith(_AGENT.encode())
    return False


def _index_hashes(out: str, written: _Written) -> Iterator[tuple[str, str]]:
    """Yield the files that the operations of the rows have written about all outputs, with their hashes."""
    try:
        for name in [name for known in ALL.values() if known.name in written.operations for name in known.index(out)]:
            yield name, storage.sha256_of(f"{out}/{name}")
    except (OSError, FormatError) as error:
        raise ProofError(f"the index cannot be read: {error}") from None


def _manifest(
    rows: Iterable[dict[str, Any]], out: str, written: _Written, escaped: Callable[[bytes, bytes], bytes]
) -> Iterator[bytes]:
    shared: set[str] = set()
    for row in rows:
        written.operations.add(row["operation"])
        for relative, path, entry in outputs_of(row, out):
            if relative != row["output"]:  # an image may belong to several outputs
                if relative in shared:
                    continue
                shared.add(relative)
            if not storage.is_url(path) and not os.path.isfile(path):  # removed, and its source as well
                continue
            yield written.add(escaped(entry["sha256"].encode(), os.fsencode(relative)), entry["size"])


def _copied(sources: Collection[str], out: str) -> Iterator[tuple[str, str, int]]:
    """Copy sources into a bag, with the tree below their common folder; yields name, SHA-256 and size of each copy."""
    on_disk = (storage.file_on_disk(path) for path in sources if not storage.is_url(path))
    paths = sorted({os.path.abspath(path) for path in on_disk if os.path.isfile(path)})
    common = os.path.commonpath(list(map(os.path.dirname, paths))) if paths else ""
    for path in paths:
        name = f"{SOURCES}/{_below(path, common)}"
        try:
            sha256 = storage.sha256_of(path)
            copy = os.path.join(out, name)
            if not os.path.isfile(copy) or storage.sha256_of(copy) != sha256:
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                with open(path, "rb") as stream:
                    _write(out, name, iter(partial(stream.read, 1 << 20), b""), overwrite=True)
            yield name, sha256, os.path.getsize(copy)
        except OSError as error:
            raise ProofError(f"{path} cannot be copied into the bag: {error.strerror or error}") from None


def _escaped(sha256: bytes, name: bytes) -> bytes:
    """Return a line as ``sha256sum`` writes it: a backslash in front says that the name is escaped."""
    escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    return (b"\\" if escaped != name else b"") + sha256 + b"  " + escaped + b"\n"


def _escaped_in_bag(sha256: bytes, name: bytes) -> bytes:
    """Return a line of a bag. ``%`` itself stays, against RFC 8493: the usual program, bagit, does not decode it."""
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        raise ProofError(f"{os.fsdecode(name)}: a bag cannot have names that are not UTF-8") from None
    if not name.startswith(PAYLOAD.encode() + b"/"):
        raise ProofError(f"{os.fsdecode(name)} is not below {PAYLOAD}/: the outputs of a bag are made with --bag")
    return sha256 + b"  " + name.replace(b"\n", b"%0A").replace(b"\r", b"%0D") + b"\n"


def _write(out: str, name: str, parts: Iterable[bytes], overwrite: bool) -> None:
    path = f"{out}/{name}" if storage.is_url(out) else os.path.join(out, name)
    try:
        if storage.is_url(out):
            storage.write(path, b"".join(parts))
        else:
            write_bytes(path, parts, overwrite=overwrite)
    except FileExistsError:
        raise ProofError(f"{path} exists (--force replaces it)") from None
    except OSError as error:
        raise ProofError(f"{path} cannot be written: {error.strerror or error}") from None


def outputs_of(row: dict[str, Any], out: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the outputs of a row: path below the output folder, path or URL, and entry. The folder may have moved since
    they were written; a path that leads outside is left out.
    """
    folder = row["output"].rpartition("/")[0]
    for entry in row["outputs"]:
        name = re.split(r"[/\\]" if os.sep == "\\" else "/", entry["path"])[-1]
        relative = f"{folder}/{name}" if folder else name
        if is_below(relative):
            yield relative, f"{out}/{relative}" if storage.is_url(out) else os.path.join(out, relative), entry


class Verification:
    """Compares files with the hashes in ledgers. `deviations` does the work; the counts are those of verified files."""

    def __init__(
        self, ledgers: Ledgers, *, with_sources: bool = True, with_urls: bool = False, new_bag: bool = False
    ) -> None:
        """``new_bag``: the output folders are to become bags, so that files about older bags do not count."""
        self.ledgers = ledgers
        self.sources = self.outputs = 0
        self.urls = 0
        """number of files at URLs that were not verified: without ``with_urls`` a ledger cannot make us send requests
        """
        self._with_sources = with_sources
        self._with_urls = with_urls
        self._new_bag = new_bag

    def deviations(self) -> Iterator[str]:
        """Yield a line for each source or output that is not what its ledger says, for missing shards, and for each
        file of a bag that is not what its manifests say or that no ledger has."""
        yield from missing_shards(self.ledgers.paths)
        bags: dict[str, dict[str, str]] = {}
        for ledger in self.ledgers.each():
            out = out_of(ledger)
            if out not in bags and not storage.is_url(out) and (self._new_bag or _is_bag(out)):
                bags[out] = {}
            for row in ledger.rows():
                if self._with_sources and row["sha256"] is not None:
                    yield from self._compare("source", row["source"], row["sha256"])
                for relative, path, entry in outputs_of(row, out):
                    yield from self._compare("output", path, entry["sha256"])
                    if out in bags:
                        bags[out][relative] = entry["sha256"]
        for out, hashes in bags.items():
            copies: list[str] = []
            if not self._new_bag:
                try:
                    listed = {_below(path, out): sha256 for path, sha256 in read_manifest(os.path.join(out, MANIFEST))}
                    copies = [name for name in listed if name.startswith(f"{SOURCES}/") and is_below(name)]
                    yield from self._deviations_of_manifests(out, hashes, listed, copies)
                except ProofError as error:
                    yield str(error)
            foreign = foreign_files(out, {*hashes, *copies})
            yield from (f"{os.path.join(out, name)}: no row of the ledger has it" for name in foreign)

    def _deviations_of_manifests(
        self, out: str, hashes: dict[str, str], listed: dict[str, str], copies: list[str]
    ) -> Iterator[str]:
        for name in copies:
            if name not in hashes:
                yield from self._compare("copy of a source", os.path.join(out, name), listed[name], MANIFEST)
        for name in sorted((listed.keys() | hashes.keys()) - set(copies)):
            path = os.path.join(out, name)
            is_missing = not os.path.lexists(path)
            if name in hashes and listed.get(name) != hashes[name] and not is_missing:
                yield f"{path}: {MANIFEST} does not list it with its sha256 in the ledger"
            elif name not in hashes and is_missing:
                yield f"{path}: {MANIFEST} lists it, but it is missing"
        about = {BAG_DECLARATION, MANIFEST, _BAG_INFO}
        for path, sha256 in read_manifest(os.path.join(out, _TAG_MANIFEST)):
            name = _below(path, out)
            about.discard(name)
            if is_below(name):
                yield from self._compare("file of the bag", path, sha256, _TAG_MANIFEST)
        yield from (f"{os.path.join(out, name)}: {_TAG_MANIFEST} does not list it" for name in sorted(about))

    def _compare(self, kind: str, path: str, sha256: str, record: str = "the ledger") -> Iterator[str]:
        if storage.is_url(path) and not self._with_urls:
            self.urls += 1
            return
        self.sources += kind == "source"
        self.outputs += kind == "output"
        source, mark, occurrence = path.rpartition("!#")
        try:
            if mark and occurrence.isdecimal() and not os.path.lexists(path):
                found = storage.sha256_of(source, int(occurrence))
            else:
                found = storage.sha256_of(path)
        except FileNotFoundError:
            yield f"{path}: {kind} is missing"
        except (OSError, ValueError, FormatError) as error:
            reason = reason_of(error, path) if isinstance(error, OSError) else f"cannot be read: {error}"
            yield f"{path}: {kind} {reason}"
        else:
            if found != sha256:
                yield f"{path}: {kind} has changed: its sha256 is {found}, in {record} {sha256}"


def _is_bag(out: str) -> bool:
    names = (BAG_DECLARATION, _TAG_MANIFEST)  # one of them may be lost
    return not storage.is_url(out) and any(os.path.lexists(os.path.join(out, name)) for name in names)


def out_of(ledger: Ledger) -> str:
    """Return the output folder of a ledger: the one that it names, or else its own."""
    return ledger.about("out") or os.path.dirname(os.path.abspath(ledger.path))
