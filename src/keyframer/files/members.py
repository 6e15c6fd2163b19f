"""Files in containers as if they were on a disk: reading them by path, and listing the folders that they are in.

Containers stay open, because opening one for each of ten thousand members would take minutes. A path may lead through
containers in containers: ``disc.iso!/PACK.ZIP!/SCENE.3DS``. The path of the folder at the top is ``disc.iso!``.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import RLock
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from keyframer.catalogue import IO_READ_FAILED, LIMIT_DEPTH
from keyframer.errors import FormatError
from keyframer.files.container_contract import Container, Member
from keyframer.files.containers import open_container
from keyframer.files.member_names import member_name, root_folder, split_member
from keyframer.files.runs import check_size, note_input
from keyframer.limits import DEFAULT_LIMITS, Limits, open_or_new_budget

MOST_LEVELS = 4
"""how deep containers may be nested"""
_MOST_OPEN = 8


class _Open(NamedTuple):
    container: Container[Member]
    packed: int
    """number of bytes that it takes in the outermost container"""
    stamp: tuple[int, ...]
    """identity, size and time of the file on a disk"""


_OPEN: OrderedDict[tuple[int, str, Limits], _Open] = OrderedDict()
"""the containers used last, by process, name and limits: a forked process must not use the streams of another"""
_IN_MEMORY: WeakValueDictionary[str, Container[Member]] = WeakValueDictionary()
_LOCK = RLock()


class Place(NamedTuple):
    """What a path in a container leads to, if anything."""

    container: Container[Member]
    name: str
    """of the container"""
    path: str
    """in the container"""

    @property
    def file(self) -> Member | None:
        return self.container.file(self.path)

    def read(self, limits: Limits = DEFAULT_LIMITS, occurrence: int = 0) -> bytes:
        """Return the content of the file; ``occurrence`` counts members of the same name from 0.

        Raises `FormatError` if there is none, or it cannot be read.
        """
        member = self._member(occurrence)
        check_size(member.file_size, limits)
        return self.container.read(member)

    def modified(self, occurrence: int = 0) -> str:
        """Return when the file was last changed, as text; empty if that is unknown."""
        return self.container.modified(self._member(occurrence))

    def _member(self, occurrence: int) -> Member:
        named = self.container.named(self.path)
        member = named[occurrence] if occurrence < len(named) else None if occurrence else self.file
        if member is None:
            raise IO_READ_FAILED.failure(0, "/", reason="no such member in the archive")
        return member


def keep_in_memory(name: str, container: Container[Any]) -> None:
    """Make the members of a container in memory available under a name, as long as the container exists."""
    _IN_MEMORY[name] = container


def place_of(name: str, limits: Limits | None = None) -> Place | None:
    """Return the place of a path in a container; None if the path is not in a container. The default limits are those
    of the open budget.

    Raises OSError or `FormatError` if a container on the way cannot be opened.
    """
    limits = limits or open_or_new_budget(DEFAULT_LIMITS, 0).limits
    found = split_member(name, lambda part: part in _IN_MEMORY or os.path.isfile(part))
    if found is None:
        return None
    with _LOCK:
        name, path = found
        kept = _IN_MEMORY.get(name)
        opened = _open_file(name, limits) if kept is None else _Open(kept, 0, ())
        for _ in range(MOST_LEVELS):
            found = split_member(path, partial(_has_file, opened.container))
            if found is None:
                return Place(opened.container, name, path)
            name = member_name(name, found[0])
            opened, path = _open_member(name, opened, found[0], limits), found[1]
    raise LIMIT_DEPTH.failure(0, "/", limit=MOST_LEVELS)


def _has_file(container: Container[Member], path: str) -> bool:
    return container.file(path) is not None


def _open_file(name: str, limits: Limits) -> _Open:
    status = os.stat(name)
    note_input(status)
    size = status.st_size
    stamp = (status.st_dev, status.st_ino, size, status.st_mtime_ns)
    return _kept(name, limits, stamp, lambda: _Open(open_container(name, size, limits), size, stamp))


def _open_member(name: str, outer: _Open, path: str, limits: Limits) -> _Open:
    def open_() -> _Open:
        member = outer.container.file(path)
        assert member is not None
        stream = outer.container.stream(member)
        packed = min(outer.container.packed_size(member), outer.packed or member.file_size)
        return _Open(open_container(stream, stream.seek(0, os.SEEK_END), limits, packed), packed, outer.stamp)

    return _kept(name, limits, outer.stamp, open_)


def _kept(name: str, limits: Limits, stamp: tuple[int, ...], open_: Callable[[], _Open]) -> _Open:
    """Return a container from those used last, or open it."""
    key = (os.getpid(), name, limits)
    kept = _OPEN.pop(key, None)
    if kept is None or kept.stamp != stamp:
        kept = open_()
        while len(_OPEN) >= _MOST_OPEN:
            _OPEN.popitem(last=False)  # not closed: another container may read from it
    _OPEN[key] = kept
    return kept


def folder_in_container(path: str) -> str:
    """Return the path of a folder; if it is that of a container, the path of the folder at its top."""
    return root_folder(path) if os.path.isfile(path) or is_file(path) else path


def names_in(folder: str) -> list[tuple[str, bool]] | None:
    """Return the sorted names in a folder of a container, each with whether it is a folder; None if the folder is not
    in a container."""
    with suppress(OSError, FormatError):
        place = place_of(f"{folder}/")
        if place is not None:
            return sorted((name, member is None) for name, member in place.container.folder(place.path).items())
    return None


def is_file(path: str) -> bool:
    """Return whether there is a file at a path in a container."""
    with suppress(OSError, FormatError):
        place = place_of(path)
        return place is not None and place.file is not None
    return False
