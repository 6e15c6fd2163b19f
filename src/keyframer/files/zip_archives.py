"""Zip archives, read by the standard library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from lzma import LZMAError
from struct import error as StructError
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

from keyframer.catalogue import IO_READ_FAILED
from keyframer.files.containers import Container, date_text
from keyframer.limits import DEFAULT_LIMITS, Limits

_ENCRYPTED = 1
_UTF8 = 0x800
"""bits in the flags of a member"""


class Archive(Container[ZipInfo]):
    """An open zip archive."""

    def __init__(
        self, source: str | IO[bytes], size: int, limits: Limits = DEFAULT_LIMITS, packed: int | None = None
    ) -> None:
        super().__init__(limits)
        with _archive_errors():
            self._zip = ZipFile(source)
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


def _use_utf8_name(member: ZipInfo) -> None:
    """Read a name as UTF-8 if it is valid UTF-8: not every program sets the flag for it. Others are CP437, as the
    specification says."""
    if not member.flag_bits & _UTF8 and not member.filename.isascii():
        with suppress(UnicodeDecodeError):
            member.filename = member.filename.encode("cp437").decode()


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
