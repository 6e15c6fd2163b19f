"""LHA, CAB, RAR and 7z archives, read by libarchive through the package libarchive-c: the extra ``archives``.

libarchive reads from the beginning to the end. Small archives are therefore unpacked once and kept; in large ones
reading continues where it was, and begins again for a member before that place.
"""

from __future__ import annotations

import ctypes
import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from typing import IO, Any, NamedTuple

from keyframer.catalogue import IO_READ_FAILED
from keyframer.errors import FormatError
from keyframer.files.container_contract import Container, date_text, seconds_text, too_many_members
from keyframer.files.member_names import decoded_name
from keyframer.limits import DEFAULT_LIMITS, MOST_ENTRIES, Limits

_FORMATS = {
    b"MSCF": "cab",
    b"7z\xbc\xaf\x27\x1c": "7zip",
    b"Rar!\x1a\x07\x00": "rar",
    b"Rar!\x1a\x07\x01": "rar5",
}
"""names in libarchive, by the beginning of a file; others are LHA"""
_KEPT = 32 << 20
"""archives up to this unpacked size are unpacked once"""
_BLOCK = 1 << 16


class PackedMember(NamedTuple):
    """A member, and its position in the archive."""

    filename: str
    file_size: int
    position: int
    kind: str
    """``file``, ``folder`` or ``link``"""
    date: str

    def is_dir(self) -> bool:
        return self.kind == "folder"


class Archive(Container[PackedMember]):
    """An open archive."""

    is_sequential = True

    def __init__(
        self, stream: IO[bytes], size: int, limits: Limits = DEFAULT_LIMITS, packed: int | None = None
    ) -> None:
        super().__init__(limits)
        self._library = _library()
        self._stream = stream
        self._stream.seek(0)
        head = self._stream.read(7)
        self._format = next((name for start, name in _FORMATS.items() if head.startswith(start)), "lha")
        self._open = ExitStack()
        self._entries: Iterator[Any] = iter(())
        self._position = 0
        self._kept: dict[int, bytes] = {}
        self._size = size if packed is None else packed
        self._rewind()
        with self._errors():
            self.set_members(list(self._listed()), self._size)
        self._unpacked = sum(member.file_size for member in self.members)

    def close(self) -> None:
        self._open.close()
        self._stream.close()

    def packed_size(self, member: PackedMember) -> int:
        """Return its share of the archive: libarchive does not tell the packed sizes of members."""
        return min(member.file_size, self._size * member.file_size // max(1, self._unpacked))

    def modified(self, member: PackedMember) -> str:
        return member.date

    def _rewind(self) -> None:
        self._open.close()
        self._open = ExitStack()
        self._stream.seek(0)
        with self._errors():
            opened = self._open.enter_context(_reader(self._library, self._stream, self._format))
        self._entries, self._position = iter(opened), 0

    def _listed(self) -> Iterator[PackedMember]:
        for position, entry in enumerate(self._entries):
            if position >= MOST_ENTRIES:
                raise too_many_members()
            name = entry.pathname or ""
            kind = "folder" if entry.isdir else "file" if entry.isreg and not entry.islnk else "link"
            yield PackedMember(
                decoded_name(name) if isinstance(name, bytes) else name,
                max(0, entry.size or 0),
                position,
                kind,
                self._date(entry.mtime),
            )
            self._position = position + 1

    def _date(self, seconds: float | None) -> str:
        """Return the date as stored: 7z has universal time, the others the local time of the author."""
        if seconds is None or self._format == "7zip":
            return seconds_text(int(seconds or 0))
        return date_text(*time.localtime(seconds)[:6])

    def _content(self, member: PackedMember) -> bytes:
        if member.kind == "link":
            raise IO_READ_FAILED.failure(0, "/", reason="it is a link, which is not followed")
        if member.position in self._kept:
            return self._kept[member.position]
        if member.position < self._position:
            self._rewind()
        keeps_all = self._unpacked <= _KEPT
        with self._errors():
            for entry in self._entries:
                position, self._position = self._position, self._position + 1
                if position == member.position:
                    data = self._data(entry, member)
                    if keeps_all:
                        self._kept[position] = data
                    return data
                if keeps_all and entry.isreg and position < len(self.members):
                    with suppress(self._library.ArchiveError):  # reported when this member is read
                        self._kept[position] = self._data(entry, self.members[position])
        raise IO_READ_FAILED.failure(0, "/", reason="cannot be read from the archive: it ends before this member")

    def _data(self, entry: Any, member: PackedMember) -> bytes:
        """Return the content of an entry, which is not longer than stated."""
        parts: list[bytes] = []
        left = member.file_size
        for part in entry.get_blocks(_BLOCK):
            parts.append(part)
            left -= len(part)
            if left < 0:
                raise self._library.ArchiveError("a member is longer than stated")
        return b"".join(parts)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._library.ArchiveError as error:
            self._position = MOST_ENTRIES + 1  # after an error, reading begins again
            reason = str(error.msg or "it is damaged").strip()
            raise IO_READ_FAILED.failure(0, "/", reason=f"cannot be read from the archive: {reason}") from None


@contextmanager
def _reader(library: Any, stream: IO[bytes], format: str) -> Iterator[Any]:
    """Yield the entries of an archive. Errors of the stream end it: exceptions cannot pass through libarchive."""
    ffi = library.ffi
    buffer = ctypes.create_string_buffer(_BLOCK)

    def read(archive: Any, context: Any, place: Any) -> int:
        data = b""
        with suppress(FormatError, OSError, ValueError):
            data = stream.read(_BLOCK)
        ctypes.memmove(buffer, data, len(data))
        ctypes.cast(place, ctypes.POINTER(ctypes.c_void_p))[0] = ctypes.addressof(buffer)
        return len(data)

    def seek(archive: Any, context: Any, offset: int, whence: int) -> int:
        with suppress(OSError, ValueError):
            return stream.seek(offset, whence)
        return -1

    callbacks = ffi.READ_CALLBACK(read), ffi.SEEK_CALLBACK(seek)  # kept alive until the end
    with library.read.new_archive_read(format, "none") as archive:
        if format == "lha":  # without this, a name that is not ASCII ends the archive
            ffi.ffi("read_set_options", [ffi.c_archive_p, ctypes.c_char_p], ctypes.c_int, ffi.check_int)
            ffi.read_set_options(archive, b"lha:hdrcharset=CP437")
        ffi.read_set_seek_callback(archive, callbacks[1])
        ffi.read_open(archive, None, ffi.NO_OPEN_CB, callbacks[0], ffi.NO_CLOSE_CB)
        yield library.read.ArchiveRead(archive)


def _library() -> Any:
    try:
        library = import_module("libarchive")
    except Exception as error:  # without the package, or without the library itself, whatever ctypes raises
        reason = f"this archive needs the extra 'archives' (pip install keyframer[archives]) and libarchive: {error}"
        raise IO_READ_FAILED.failure(0, "/", reason=reason) from None
    logging.getLogger("libarchive").addHandler(logging.NullHandler())  # its warnings are not for users
    return library
