"""Files that contain other files: their kinds, and what all kinds have in common.

A new kind of container is a module and a line in `KINDS`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from io import BytesIO
from typing import IO, Generic, NamedTuple, Protocol, TypeVar
from zipfile import is_zipfile

from keyframer.catalogue import IO_READ_FAILED
from keyframer.errors import FormatError
from keyframer.files.byte_sources import ByteSource, open_stream
from keyframer.files.member_names import safe_parts
from keyframer.files.runs import check_size
from keyframer.limits import DEFAULT_LIMITS, MOST_ENTRIES, Budget, Limits, add_input


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
        data = self._content(member)
        add_input(self.packed_size(member))
        return data

    def head(self, member: M, size: int) -> bytes:
        """Return the first bytes of a member, at most ``size``."""
        return self.read(member)[:size]

    def stream(self, member: M) -> IO[bytes]:
        """Return a stream that can seek."""
        return BytesIO(self.read(member))

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


class Kind(NamedTuple):
    """A kind of container. Its module has a class ``Archive``, called with a stream, the size, limits, and the
    number of bytes that it takes in the outermost container."""

    title: str
    module: str
    signatures: tuple[tuple[tuple[int, bytes], ...], ...]
    """what identifies it: offsets and bytes, which must all be there"""
    extensions: tuple[str, ...]
    """of files that are searched when they are in another container"""


_MODULES = "keyframer.files."
_RAW_SECTOR = (0, b"\0" + b"\xff" * 10 + b"\0")
_FAT = ((2, b"\x90"), (11, b"\0\2"), (16, b"\2"), (510, b"\x55\xaa"))
KINDS = (
    Kind("zip archive", f"{_MODULES}zip_archives", (((0, b"PK\3\4"),), ((0, b"PK\5\6"),)), (".zip",)),
    Kind(
        "disc image",
        f"{_MODULES}disc_images",
        (((0x8001, b"CD001"),), (_RAW_SECTOR, (0x9311, b"CD001")), (_RAW_SECTOR, (0x9319, b"CD001"))),
        (".iso", ".bin", ".img"),
    ),
    Kind("disk image", f"{_MODULES}fat_images", (((0, b"\xeb"), *_FAT), ((0, b"\xe9"), *_FAT[1:])), (".ima", ".img")),
    Kind(
        "tar archive or compressed file",
        f"{_MODULES}packed_streams",
        (((257, b"ustar"),), ((0, b"\x1f\x8b\x08"),), ((0, b"BZh"), (4, b"1AY&SY")), ((0, b"\xfd7zXZ\0"),)),
        (".tar", ".tgz", ".gz", ".bz2", ".xz"),
    ),
    Kind(
        "LHA, CAB, RAR or 7z archive",
        f"{_MODULES}libarchive_archives",
        (
            ((2, b"-lh"), (6, b"-")),
            ((2, b"-lz"), (6, b"-")),
            ((0, b"MSCF\0\0\0\0"),),
            ((0, b"7z\xbc\xaf\x27\x1c"),),
            ((0, b"Rar!\x1a\7\0"),),
            ((0, b"Rar!\x1a\7\1\0"),),
        ),
        (".lzh", ".lha", ".cab", ".rar", ".7z"),
    ),
)
EXTENSIONS = (*dict.fromkeys(extension for kind in KINDS for extension in kind.extensions), ".exe")
_PROGRAM = b"MZ"
_PACKED = re.compile(
    rb"PK\x03\x04|MSCF\x00{4}|7z\xbc\xaf\x27\x1c\x00|Rar!\x1a\x07[\x00\x01]|..-l[hz][0-7sd]-.{13}[\x00-\x02]", re.DOTALL
)
"""what follows the program in an archive that unpacks itself"""
_MOST_PROGRAM = 1 << 20
"""bytes of a program in which an archive is searched for"""


def kind_of(stream: IO[bytes]) -> Kind | None:
    """Return the kind of container in a stream that can seek; None if it is none."""
    found = _found(stream)
    return None if found is None else found[0]


def _found(stream: IO[bytes]) -> tuple[Kind, int] | None:
    """Return the kind of a container, and its offset behind the program of an archive that unpacks itself."""
    stream.seek(0)
    head = stream.read(512)
    for kind in KINDS:
        for signature in kind.signatures:
            if all(_has(stream, head, offset, wanted) for offset, wanted in signature):
                return kind, 0
    if not head.startswith(_PROGRAM):
        return None
    stream.seek(0)
    packed = _PACKED.search(stream.read(_MOST_PROGRAM))
    if packed is None:
        return None
    if packed[0].startswith(b"PK"):
        return (KINDS[0], 0) if is_zipfile(stream) else None
    return KINDS[-1], packed.start()


def _has(stream: IO[bytes], head: bytes, offset: int, wanted: bytes) -> bool:
    if offset + len(wanted) <= len(head):
        return head.startswith(wanted, offset)
    stream.seek(offset)
    return stream.read(len(wanted)) == wanted


def open_container(
    source: str | IO[bytes], size: int, limits: Limits = DEFAULT_LIMITS, packed: int | None = None
) -> Container[Member]:
    """Open a container; one that is not recognised is opened as the first kind, which says what is wrong.

    ``packed`` is the number of bytes that it takes in the outermost container, if it is a member.
    """
    stream = open_stream(source) if isinstance(source, str) else source
    kind, offset = _found(stream) or (KINDS[0], 0)
    stream.seek(0)
    if offset:
        stream = ByteSource(stream, size).stream(((offset, size - offset),))
    try:
        container: Container[Member] = import_module(kind.module).Archive(stream, size - offset, limits, packed)
    except BaseException:
        if isinstance(source, str):
            stream.close()
        raise
    return container


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
