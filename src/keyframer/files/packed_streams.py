"""Files compressed with gzip, bzip2 or xz, and tar archives, compressed or not, read by the standard library."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO, RawIOBase
from typing import IO, Any, NamedTuple
from zlib import error as ZlibError

from keyframer.catalogue import IO_READ_FAILED, LIMIT_ARCHIVE_BYTES
from keyframer.files.container_contract import Container, seconds_text, too_many_members
from keyframer.files.member_names import decoded_name
from keyframer.limits import DEFAULT_LIMITS, MOST_ENTRIES, Budget, Limits

_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
_KEPT = 32 << 20
"""content up to this size is kept unpacked, because to go back in a compressed stream is to unpack it again"""


class PackedFile(NamedTuple):
    """The file in a compressed file, or a member of a tar archive; ``info`` is that of the archive."""

    filename: str
    file_size: int
    date: str
    info: tarfile.TarInfo | None = None

    def is_dir(self) -> bool:
        return self.info is not None and self.info.isdir()


class Archive(Container[PackedFile]):
    """An open tar archive, or a compressed file, which has one member."""

    def __init__(
        self, stream: IO[bytes], size: int, limits: Limits = DEFAULT_LIMITS, packed: int | None = None
    ) -> None:
        super().__init__(limits)
        packed = size if packed is None else packed
        self._stream = stream
        head = self._stream.read(10)
        opener = _OPENERS.get(head[:2])
        self._stream.seek(0)
        self._tar: tarfile.TarFile | None = None
        with _errors():
            self._unpacked = self._stream
            if opener is not None:
                self._unpacked = _unpacked(opener(self._stream), Budget(limits, packed).total("archive_bytes"))
            try:
                self._tar = tarfile.TarFile(fileobj=self._unpacked, encoding="utf-8", errors="surrogateescape")
                members = list(_tar_members(self._tar))
            except tarfile.ReadError:
                if opener is None:
                    raise
                members = []
            if opener is not None and not members:  # a file of zeros looks like an empty archive
                self._tar = None
                name = os.path.basename(os.path.splitext(str(getattr(stream, "name", "content")))[0])
                if head[:2] == b"\x1f\x8b" and head[3] & 0x08:  # a name is stored
                    self._stream.seek(10)
                    name = decoded_name(self._stream.read(256).partition(b"\0")[0]) or name
                    self._stream.seek(0)
                seconds = int.from_bytes(head[4:8], "little") if head[:2] == b"\x1f\x8b" else 0
                members = [PackedFile(name, self._unpacked.seek(0, os.SEEK_END), seconds_text(seconds))]
        self.set_members(members, packed)

    def close(self) -> None:
        self._unpacked.close()
        self._stream.close()

    def _content(self, member: PackedFile) -> bytes:
        with _errors():
            if self._tar is None or member.info is None:
                self._unpacked.seek(0)
                return self._unpacked.read()
            if not member.info.isfile():
                raise IO_READ_FAILED.failure(0, "/", reason="it is a link or a device, which is not followed")
            file = self._tar.extractfile(member.info)
            return b"" if file is None else file.read()

    def modified(self, member: PackedFile) -> str:
        return member.date


def _tar_members(archive: tarfile.TarFile) -> Iterator[PackedFile]:
    for count, info in enumerate(archive):
        if count >= MOST_ENTRIES:
            raise too_many_members()
        name = decoded_name(info.name.encode("utf-8", "surrogateescape"))
        yield PackedFile(name, info.size if info.isfile() else 0, seconds_text(int(info.mtime)), info)


def _unpacked(stream: IO[bytes], most: int) -> IO[bytes]:
    """Return the content of a compressed stream as a stream that can seek and has at most ``most`` bytes."""
    data = stream.read(min(_KEPT, most) + 1)
    if len(data) <= min(_KEPT, most):
        return BytesIO(data)
    stream.seek(0)
    return BufferedReader(_Limited(stream, most), 1 << 16)


class _Limited(RawIOBase):
    """A stream that fails when more than ``most`` bytes of it are read."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._most = stream, most

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:  # reads everything
            while self.read(1 << 20):
                pass
            whence = os.SEEK_CUR
        return self._check(self._stream.seek(offset, whence))

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._check(self._stream.tell())
        buffer[: len(data)] = data
        return len(data)

    def _check(self, position: int) -> int:
        if position > self._most:
            raise LIMIT_ARCHIVE_BYTES.failure(0, "/", count=position, limit=self._most)
        return position


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError, ZlibError, lzma.LZMAError, ValueError, OverflowError) as error:
        raise IO_READ_FAILED.failure(0, "/", reason=f"cannot be read from the archive: {error}") from None
    except OSError as error:
        if error.errno is not None:  # gzip and bz2 raise OSErrors without a number
            raise
        raise IO_READ_FAILED.failure(0, "/", reason=f"cannot be read from the archive: {error}") from None
