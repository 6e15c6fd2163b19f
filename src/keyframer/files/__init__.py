"""Inputs read whole, outputs written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from keyframer.catalogue import IO_CHANGED_DURING_READ, IO_READ_FAILED, LIMIT_FILE_SIZE
from keyframer.errors import FormatError
from keyframer.files.atomic_writing import OutputSet, named_later, write_bytes, write_set
from keyframer.files.disk import OutputExists, PathLike
from keyframer.files.journal import content_name, is_unfinished, sweep, sweep_once
from keyframer.files.output_checks import OutputRefused, check_output, note_input, running
from keyframer.limits import DEFAULT_LIMITS, Budget, Limits, feed

if TYPE_CHECKING:
    from zipfile import ZipInfo

__all__ = [
    "OutputExists",
    "OutputRefused",
    "OutputSet",
    "PathLike",
    "check_output",
    "check_size",
    "content_name",
    "is_unfinished",
    "named_later",
    "note_input",
    "read_bytes",
    "reading_archive",
    "refused_members",
    "running",
    "sweep",
    "sweep_once",
    "write_bytes",
    "write_set",
]


def read_bytes(source: PathLike | IO[bytes], limits: Limits = DEFAULT_LIMITS, packed: int | None = None) -> bytes:
    """The whole content of a path or of a binary stream; the budget that is open grows with it.

    ``packed`` is how many bytes it takes in its archive: these are its input, not what they become. Raises OSError
    where the system does, `FormatError` where the content is over the limit or changed meanwhile.
    """
    data = _read(source, limits)
    feed(len(data) if packed is None else packed)
    return data


def _read(source: PathLike | IO[bytes], limits: Limits) -> bytes:
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as stream:
            before = os.fstat(stream.fileno())
            note_input(before)
            check_size(before.st_size, limits)
            sized = before.st_size > 0  # pipes and /proc entries say 0
            data = stream.read() if sized else _read_at_most(stream, limits)
            after = os.fstat(stream.fileno())
        if sized and (len(data) != before.st_size or before.st_mtime_ns != after.st_mtime_ns):
            raise IO_CHANGED_DURING_READ.failure(0, "/")
        return data
    return _read_at_most(source, limits)


def _read_at_most(stream: IO[bytes], limits: Limits) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := stream.read(1 << 20):
        if not isinstance(part, bytes):
            raise TypeError("a binary stream is wanted (open the file with mode 'rb')")
        parts.append(part)
        size += len(part)
        check_size(size, limits)
    return b"".join(parts)


def check_size(size: int, limits: Limits) -> None:
    """Refuse an input that is larger than the limit."""
    if size > limits.file_size:
        raise LIMIT_FILE_SIZE.failure(0, "/", size=size, limit=limits.file_size)


def refused_members(members: Iterable[ZipInfo], packed: int, limits: Limits | None = None) -> dict[int, FormatError]:
    """Members of an archive of ``packed`` bytes that would take too much room beside those before them, in the order of
    their names, by their ``header_offset`` (LIMIT_ARCHIVE_BYTES). Of a member never more is unpacked than it claims."""
    budget = Budget(limits or DEFAULT_LIMITS, packed)
    refused: dict[int, FormatError] = {}
    for member in sorted(members, key=lambda each: each.filename):
        try:
            budget.spend("archive_bytes", member.file_size)
        except FormatError as error:
            refused[member.header_offset] = error
    return refused


@contextmanager
def reading_archive() -> Iterator[None]:
    """What a zip archive that is damaged, encrypted or packed in an unknown way raises becomes a `FormatError`. A few
    bytes of LZMA may ask for gigabytes: that is a MemoryError."""
    from lzma import LZMAError
    from struct import error as StructError
    from zipfile import BadZipFile
    from zlib import error as ZlibError

    try:
        yield
    except MemoryError:
        reason = "cannot be read from the archive: unpacking it takes more memory than there is"
        raise IO_READ_FAILED.failure(0, "/", reason=reason) from None
    except (BadZipFile, RuntimeError, ValueError, ZlibError, LZMAError, StructError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # bz2 raises it without
            raise
        raise IO_READ_FAILED.failure(0, "/", reason=f"cannot be read from the archive: {error}") from None
