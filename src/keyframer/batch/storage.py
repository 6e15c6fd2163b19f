"""Reads files on disks, in containers and at URLs that fsspec supports; writes objects at URLs.

fsspec is imported only for names with ``://``; the extra ``[cloud]`` installs it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import BytesIO
from typing import Any

from keyframer.catalogue import IO_CHANGED_DURING_READ, IO_READ_FAILED
from keyframer.errors import FormatError
from keyframer.files import check_size, is_endless, member_names, members, read_bytes
from keyframer.files.container_contract import seconds_text
from keyframer.limits import DEFAULT_LIMITS, Limits

_WEB = ("http://", "https://")
_RECENT_NS = 2_000_000_000
"""nanoseconds: a file that changed this recently may change again without a new time, so it gets no stamp"""


def is_url(name: str) -> bool:
    """Return whether a name begins like a URL; ``://`` inside the name of an archive member does not count."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*(::[A-Za-z][A-Za-z0-9+.-]*)*://", name) is not None


def file_system(url: str) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path in it; raises `FormatError` if there is none."""
    try:
        core = import_module("fsspec.core")
        with _store_errors():
            system, path = core.url_to_fs(url)
    except ImportError as error:
        raise IO_READ_FAILED.failure(
            0,
            "/",
            reason=f"{url.partition('://')[0]}:// needs the extra 'cloud' (pip install keyframer[cloud]): {error}",
        ) from None
    except ValueError as error:
        raise IO_READ_FAILED.failure(0, "/", reason=str(error)) from None
    return system, path


class StoreError(Exception):
    """The store of an output folder cannot be used; the message says why."""


@contextmanager
def _store_errors() -> Iterator[None]:
    """Turn the exceptions of a store into OSErrors: every store has its own."""
    try:
        yield
    except (FormatError, OSError, ImportError, ValueError):
        raise
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from None


def read(source: str, occurrence: int = 0, stamp: str = "") -> bytes:
    """Return the content of a file, URL or archive member; raises OSError or `FormatError` if it cannot be read. With
    the `url_stamp` of an object, its size is not asked for again.
    """
    if is_url(source):
        return read_url(source, stamp)
    if not occurrence:
        return read_bytes(source)
    place = members.place_of(source)
    if place is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
    return place.read(occurrence=occurrence)


def sha256_of(source: str, occurrence: int = 0) -> str:
    """Return the SHA-256 of a file, URL or archive member; raises OSError or `FormatError` if it cannot be read."""
    if is_url(source) or split_member(source) is not None:
        return hashlib.sha256(read(source, occurrence)).hexdigest()
    if is_endless(source):
        raise OSError(errno.EINVAL, "not a regular file", source)
    with open(source, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def split_member(source: str) -> tuple[str, str] | None:
    """Return archive and member if the name is that of a member, otherwise None; a URL names no member."""
    return None if is_url(source) else member_names.split_member(source)


def file_on_disk(source: str) -> str:
    """Return the path of the file that has this content: of a member, that of its archive."""
    member = split_member(source)
    return source if member is None else member[0]


def modified(source: str, occurrence: int = 0) -> str:
    """Return when a file or member was last changed, as text; empty if it is unknown, as for URLs."""
    if is_url(source):
        return ""
    with suppress(OSError, FormatError):
        place = members.place_of(source) if member_names.may_be_member(source) else None
        return seconds_text(int(os.stat(source).st_mtime)) if place is None else place.modified(occurrence)
    return ""


def is_gone(source: str) -> bool:
    """Return whether a file or member certainly does not exist any more: what cannot be read may still exist."""
    try:
        if is_url(source):
            return _is_gone_from_store(source)
        place = None if split_member(source) is None else members.place_of(source)
        if place is not None:
            name, _, occurrence = place.path.rpartition("!#")  # only the second member of a name has a number
            is_repeated = occurrence.isdecimal() and int(occurrence) < len(place.container.named(name))
            return place.file is None and not is_repeated
        os.lstat(source)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (FormatError, OSError, ValueError):
        return False
    return False


def _is_gone_from_store(url: str) -> bool:
    folder, _, name = url.rpartition("/")
    return not url.startswith(_WEB) and name not in recent_listing(folder)


def read_url(url: str, stamp: str = "", limits: Limits = DEFAULT_LIMITS) -> bytes:
    """Return the content of an object: one request if its `url_stamp` is known, otherwise one more for its size.

    Raises OSError if it cannot be read, `FormatError` if it is too large or not as large as in the listing.
    """
    system, path = file_system(url)
    size = stamp.partition(":")[0]
    with _store_errors():
        if size.isdecimal():
            check_size(int(size), limits)
            # with a range s3fs does not ask for the size; a byte more than expected shows that the object has grown
            data = system.cat_file(path, start=0, end=int(size) + 1) if int(size) else b""
            if len(data) != int(size):
                raise IO_CHANGED_DURING_READ.failure(0, "/")
            return read_bytes(BytesIO(data), limits)
        with system.open(path, "rb") as stream:
            opened_size = getattr(stream, "size", None)
            if isinstance(opened_size, int):
                check_size(opened_size, limits)
            return read_bytes(stream, limits)


def write(url: str, data: bytes) -> dict[str, Any]:
    """Write an object, replacing an existing one; returns what the ledger stores about it, except its hash."""
    system, path = file_system(url)
    with _store_errors():
        system.pipe_file(path, data)
    return {"path": url, "size": len(data), "mtime_ns": None}


def local_stamp(path: str) -> str:
    """Return `stamp_of` a local file, or of the archive of a member; empty if there is no such file."""
    try:
        status = os.stat(file_on_disk(path))
    except OSError:
        return ""
    return stamp_of(status)


def stamp_of(status: os.stat_result | None) -> str:
    """Return size and time as text; empty if they are unknown or the file has just changed."""
    if status is None or status.st_mtime_ns > time.time_ns() - _RECENT_NS:
        return ""
    return f"{status.st_size}:{status.st_mtime_ns}"


_CHANGE_FIELDS = ("ETag", "etag", "md5", "md5Hash", "contentHash", "mtime", "LastModified", "last_modified", "created")
"""fields in listings of stores that change with the content of a file"""


def url_stamp(info: dict[str, Any]) -> str:
    """Return size and tag or time of a file from the listing of a store; empty if it has neither tag nor time."""
    for name in _CHANGE_FIELDS:
        if info.get(name):
            return f"{info.get('size')}:{info[name]}"
    return ""


def list_urls(url: str) -> list[tuple[str, str, str]]:
    """Return the files of a URL, which may be a file, a folder or a glob: (URL, path below the folder, stamp).

    Folders are searched recursively; one that does not exist has no files. Raises OSError, also if the bucket, or the
    folder of a glob, does not exist.
    """
    system, path = file_system(url)
    protocol = url.partition("://")[0]
    try:
        entries, base = _find(system, path)
    except FileNotFoundError:
        raise OSError("no such bucket or folder") from None
    listed = []
    for name, info in sorted(entries.items()):
        if info.get("type") == "directory" or name.endswith("/"):
            continue
        below = name.removeprefix(base).lstrip("/") if name != base else name.rpartition("/")[2]
        listed.append((f"{protocol}://{name}", below, url_stamp(info)))
    return listed


def _find(system: Any, path: str) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the entries of a path or glob, and the folder to which they are relative."""
    with _store_errors():
        if any(character in path for character in "*?["):
            entries = system.glob(path, detail=True)
            base = path[: min(path.index(character) for character in "*?[" if character in path)].rpartition("/")[0]
            if not entries and base:
                system.ls(base)  # raises an error if there is no such bucket
            return entries, base
        return system.find(path, detail=True), path.rstrip("/")


def list_folder(url: str) -> dict[str, str | None]:
    """Return the names in a folder of a store, each with the stamp of the file, None for a folder. Web servers have no
    listings. Raises OSError.
    """
    if url.startswith(_WEB):
        return {}
    system, path = file_system(url)
    try:
        with _store_errors():
            entries = system.ls(path, detail=True, refresh=True)
    except FileNotFoundError:
        return {}
    names = ((entry["name"].rstrip("/").rpartition("/")[2], entry) for entry in entries)
    return {name: None if entry.get("type") == "directory" else url_stamp(entry) for name, entry in names if name}


_LISTED: dict[str, tuple[float, dict[str, str | None]]] = {}
"""the last listing by `recent_listing`, by URL, with its time"""
_LISTING_SECONDS = 60.0
"""how long a listing is used: a folder may have thousands of models, and a worker of a cluster lives for many runs"""


def recent_listing(url: str) -> dict[str, str | None]:
    """Return `list_folder`, or what it returned less than a minute ago."""
    last = _LISTED.get(url)
    if last is not None and time.monotonic() < last[0] + _LISTING_SECONDS:
        return last[1]
    listed = list_folder(url)
    _LISTED.clear()
    _LISTED[url] = (time.monotonic(), listed)
    return listed


def list_sizes(url: str) -> dict[str, int | None]:
    """Return path -> size of all files below the URL of an output folder; raises `StoreError`."""
    try:
        system, path = file_system(url)
        with _store_errors():
            system.invalidate_cache()
            entries = system.find(path, detail=True)
    except FileNotFoundError:
        return {}
    except (OSError, FormatError) as error:
        reason = error.message if isinstance(error, FormatError) else error
        raise StoreError(f"the output folder {url} cannot be used: {reason}") from None
    base = path.rstrip("/")
    return {name.removeprefix(base).lstrip("/"): info.get("size") for name, info in entries.items()}
