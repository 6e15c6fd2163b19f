"""Reading inputs whole, within the limit of their size."""

from __future__ import annotations

import os
from typing import IO

from keyframer.catalogue import IO_CHANGED_DURING_READ, LIMIT_FILE_SIZE
from keyframer.files.disk import PathLike
from keyframer.files.output_checks import note_input
from keyframer.limits import DEFAULT_LIMITS, Limits, feed


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
