"""Zip archives: opened once, members unpacked within the limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from lzma import LZMAError
from struct import error as StructError
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from keyframer.catalogue import IO_READ_FAILED
from keyframer.errors import FormatError
from keyframer.files.runs import check_size, read_bytes
from keyframer.limits import DEFAULT_LIMITS, Budget, Limits

_ENCRYPTED = 1
_UTF8 = 0x800
"""bits in the flags of a member"""


class Archive:
    """An open zip archive. Raises `FormatError` if it is damaged, OSError if it cannot be opened."""

    def __init__(self, source: str | IO[bytes], size: int, limits: Limits = DEFAULT_LIMITS) -> None:
        """``size``: bytes of the archive; its members may be unpacked in proportion to it."""
        with _archive_errors():
            self._zip = ZipFile(source)
        self.members = self._zip.infolist()
        """including folders, in the order of the directory of the archive"""
        for member in self.members:
            _use_utf8_name(member)
        self._limits = limits
        self._refused = _refused_members(self.members, Budget(limits, size))

    def close(self) -> None:
        self._zip.close()

    def head(self, member: ZipInfo, size: int) -> bytes:
        """Return the first bytes of a member, at most ``size``."""
        with _archive_errors(), self._zip.open(member) as stream:
            return stream.read(size)

    def read(self, member: ZipInfo) -> bytes:
        """Return the unpacked content of a member; raises `FormatError` if it is damaged, encrypted or over a limit."""
        if member.header_offset in self._refused:
            raise self._refused[member.header_offset]
        if member.flag_bits & _ENCRYPTED:
            raise IO_READ_FAILED.failure(0, "/", reason="the member of the archive is encrypted")
        check_size(member.file_size, self._limits)
        with _archive_errors(), self._zip.open(member) as stream:
            return read_bytes(stream, self._limits, packed=member.compress_size)


def _use_utf8_name(member: ZipInfo) -> None:
    """Read a name as UTF-8 if it is valid UTF-8: not every program sets the flag for it. Others are CP437, as the
    specification says."""
    if not member.flag_bits & _UTF8 and not member.filename.isascii():
        with suppress(UnicodeDecodeError):
            member.filename = member.filename.encode("cp437").decode()


def _refused_members(members: list[ZipInfo], budget: Budget) -> dict[int, FormatError]:
    """Return the errors of members that exceed the budget (LIMIT_ARCHIVE_BYTES), by their ``header_offset``.

    Members are counted in the order of their names. zipfile never unpacks more of a member than its stated size.
    """
    refused: dict[int, FormatError] = {}
    for member in sorted(members, key=lambda member: member.filename):
        try:
            budget.spend("archive_bytes", member.file_size)
        except FormatError as error:
            refused[member.header_offset] = error
    return refused


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
