"""Zip archives, read by the standard library."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from lzma import LZMAError
from struct import error as StructError
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from keyframer.catalogue import IO_READ_FAILED
from keyframer.files.container_contract import Container, date_text, too_many_members
from keyframer.files.member_names import decoded_name
from keyframer.limits import DEFAULT_LIMITS, MOST_ENTRIES, Limits

_ENCRYPTED = 1
_UTF8 = 0x800
"""bits in the flags of a member"""
_END_SIZE = 1 << 17
"""bytes at the end of an archive that have the end of its directory, which a comment follows"""
_ENTRY_SIZE = 46
"""minimum size of an entry of the directory"""


class Archive(Container[ZipInfo]):
    """An open zip archive."""

    def __init__(
        self, stream: IO[bytes], size: int, limits: Limits = DEFAULT_LIMITS, packed: int | None = None
    ) -> None:
        super().__init__(limits)
        with _archive_errors():
            _check_directory(stream)
            self._zip = ZipFile(stream)
        members = self._zip.infolist()
        for member in members:
            _use_utf8_name(member)
        self.set_members(members, size if packed is None else packed)

    def close(self) -> None:
        self._zip.close()

    def head(self, member: ZipInfo, size: int) -> bytes:
        with _archive_errors(), self._zip.open(member) as stream:
            return stream.read(size)

    def _content(self, member: ZipInfo) -> bytes:
        if member.flag_bits & _ENCRYPTED:
            raise IO_READ_FAILED.failure(0, "/", reason="the member of the archive is encrypted")
        with _archive_errors(), self._zip.open(member) as stream:  # never more than its stated size
            return stream.read()

    def packed_size(self, member: ZipInfo) -> int:
        return member.compress_size

    def modified(self, member: ZipInfo) -> str:
        return date_text(*member.date_time)


def _check_directory(stream: IO[bytes]) -> None:
    """Refuse an archive with too many members before `zipfile` makes an object of each."""
    end = stream.seek(0, os.SEEK_END)
    start = stream.seek(max(0, end - _END_SIZE))
    tail = stream.read()
    stream.seek(0)
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) < at + 22:
        return
    size = min(int.from_bytes(tail[at + 12 : at + 16], "little"), start + at)  # in a large archive, not the true size
    if size // _ENTRY_SIZE > MOST_ENTRIES:
        at = tail.rfind(b"PK\6\6", 0, at)
        if at < 0 or int.from_bytes(tail[at + 40 : at + 48], "little") // _ENTRY_SIZE > MOST_ENTRIES:
            raise too_many_members()


def _use_utf8_name(member: ZipInfo) -> None:
    """Read a name as UTF-8 if it is valid UTF-8: not every program sets the flag for it."""
    if not member.flag_bits & _UTF8 and not member.filename.isascii():
        member.filename = decoded_name(member.filename.encode("cp437"))


@contextmanager
def _archive_errors() -> Iterator[None]:
    """Turn the exceptions of zipfile and its decompressors into a `FormatError`.

    A few bytes of LZMA can request gigabytes, which ends in a MemoryError.
    """
    try:
        yield
    except MemoryError:
        reason = "cannot be read from the archive: unpacking it needs more memory than is available"
        raise IO_READ_FAILED.failure(0, "/", reason=reason) from None
    except (BadZipFile, RuntimeError, ValueError, ZlibError, LZMAError, StructError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # bz2 raises an OSError without a number
            raise
        raise IO_READ_FAILED.failure(0, "/", reason=f"cannot be read from the archive: {error}") from None
