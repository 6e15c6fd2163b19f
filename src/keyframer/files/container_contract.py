"""The interface of containers, and what all kinds have in common: limits, and members by name and by folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from threading import RLock
from typing import IO, Generic, Protocol, TypeVar

from keyframer.catalogue import IO_READ_FAILED
from keyframer.errors import FormatError
from keyframer.files.containers import PROGRAM
from keyframer.files.member_names import safe_parts
from keyframer.files.runs import check_size
from keyframer.limits import MOST_ENTRIES, Budget, Limits, add_input

_MOST_HEAD = 1 << 16
"""bytes at the beginning of a file that have the signatures of all kinds, except in a program"""


class Member(Protocol):
    """A file or folder in a container; `zipfile.ZipInfo` is one."""

    @property
    def filename(self) -> str: ...
    @property
    def file_size(self) -> int: ...
    def is_dir(self) -> bool: ...


M = TypeVar("M", bound=Member)


class Container(ABC, Generic[M]):
    """An open container. Raises `FormatError` if it is damaged or exceeds a limit, OSError if it cannot be opened."""

    members: Sequence[M]
    """including folders"""
    is_sequential = False
    """whether members should be read in their order: to go back takes long"""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._reading = RLock()
        self.damage: list[tuple[str, FormatError]] = []
        """paths of folders that cannot be listed"""
        self._refused: dict[int, FormatError] = {}
        """why members cannot be read, by `id`"""
        self._by_name: dict[str, list[M]] = {}
        self._folders: dict[str, dict[str, M | None]] = {}
        """names in each folder, by its safe path; a subfolder has no member here"""

    def set_members(self, members: Sequence[M], packed: int) -> None:
        """Set the members. They may have `Limits.archive_bytes` in all, in proportion to the ``packed`` bytes of the
        container; members beyond that, in the order of their names, cannot be read."""
        if len(members) > MOST_ENTRIES:
            raise too_many_members()
        self.members = members
        budget = Budget(self._limits, packed)
        for member in sorted(members, key=lambda member: member.filename):
            try:
                budget.spend("archive_bytes", member.file_size)
            except FormatError as error:
                self._refused[id(member)] = error

    @abstractmethod
    def _content(self, member: M) -> bytes:
        """Return the content of a member whose stated size is within the limits."""

    def read(self, member: M) -> bytes:
        """Return the content of a member, and enlarge the open budget by its packed size; raises `FormatError` if it is
        damaged, encrypted or over a limit."""
        if id(member) in self._refused:
            raise self._refused[id(member)]
        check_size(member.file_size, self._limits)
        with self._reading:
            data = self._content(member)
        add_input(self.packed_size(member))
        return data

    def head(self, member: M, size: int) -> bytes:
        """Return the first bytes of a member, at most ``size``."""
        return self.read(member)[:size]

    def stream(self, member: M) -> IO[bytes]:
        """Return a stream that can seek."""
        return BytesIO(self.read(member))

    def beginning(self, member: M) -> IO[bytes]:
        """Return a stream with as much of a member as `kind_of` needs."""
        head = self.head(member, _MOST_HEAD)
        return self.stream(member) if head.startswith(PROGRAM) else BytesIO(head)

    def packed_size(self, member: M) -> int:
        """Return the number of bytes that a member takes in the container, as far as it is known."""
        return member.file_size

    def modified(self, member: M) -> str:
        """Return when a member was last changed, in local time, as ``1994-07-01T12:00:00``; empty if it is unknown."""
        return ""

    @abstractmethod
    def close(self) -> None: ...

    def named(self, name: str) -> list[M]:
        """Return the members with this name."""
        if not self._by_name:
            for member in self.members:
                self._by_name.setdefault(member.filename, []).append(member)
        return self._by_name.get(name, [])

    def folder(self, path: str) -> dict[str, M | None]:
        """Return the files in a folder by name, its subfolders with None; of files with one name, the first.

        Only the safe parts of names count (see `safe_parts`): no name leads out of the container.
        """
        if not self._folders:
            self._folders[""] = {}
            for member in self.members:
                parts = safe_parts(member.filename)
                for count in range(len(parts)):
                    is_folder = count + 1 < len(parts) or member.is_dir()
                    names = self._folders.setdefault("/".join(parts[:count]), {})
                    names.setdefault(parts[count], None if is_folder else member)
        return self._folders.get("/".join(safe_parts(path)), {})

    def file(self, path: str) -> M | None:
        """Return the file at a path: the member with exactly this name, or the one whose safe name is that of the
        path."""
        exact = self.named(path)
        if exact:
            return None if exact[0].is_dir() else exact[0]
        folder, _, name = "/".join(safe_parts(path)).rpartition("/")
        return self.folder(folder).get(name)


def too_many_members() -> FormatError:
    return IO_READ_FAILED.failure(0, "/", reason=f"the archive has more than {MOST_ENTRIES:,} members")


def date_text(year: int, month: int, day: int, hour: int, minute: int, second: int) -> str:
    """Return a date as ``1994-07-01T12:00:00``; empty if it is not a date."""
    try:
        return datetime(year, month, day, hour, minute, min(second, 59)).isoformat()
    except ValueError:
        return ""


def seconds_text(seconds: int) -> str:
    """Return a date as text, in universal time; empty for 0 and what is not a date."""
    try:
        return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat() if seconds else ""
    except (ValueError, OverflowError, OSError):
        return ""
