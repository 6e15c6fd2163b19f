"""Inputs read whole, outputs written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from keyframer.catalogue import IO_CHANGED_DURING_READ, LIMIT_FILE_SIZE
from keyframer.limits import DEFAULT_LIMITS, Limits

PathLike = str | os.PathLike[str]


def read_bytes(source: PathLike | IO[bytes], limits: Limits = DEFAULT_LIMITS) -> bytes:
    """The whole content of a path or of a binary stream.

    Raises OSError where the system does, `FormatError` where the content is over the limit or changed meanwhile.
    """
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as stream:
            before = os.fstat(stream.fileno())
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


def write_bytes(path: PathLike, parts: bytes | Iterable[bytes | memoryview], *, overwrite: bool = False) -> None:
    """Write a file so that its name never stands for half of it: temporary file beside it, fsync, rename.

    The temporary name is short and random, so that it fits beside names of any legal length. Without ``overwrite``
    an existing file is left alone and FileExistsError is raised.
    """
    target = Path(path)
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(f"{target} exists (pass overwrite=True to replace it)")
    temporary = target.parent / f".kf-{secrets.token_hex(6)}"
    try:
        with open(temporary, "xb") as stream:
            for part in (parts,) if isinstance(parts, bytes) else parts:
                stream.write(part)
            stream.flush()
            os.fsync(stream.fileno())
        if overwrite:
            with suppress(OSError):  # a new file has no permissions to keep
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(temporary, target)
        else:
            _rename_new(temporary, target)
        _sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _rename_new(temporary: Path, target: Path) -> None:
    """Give the file its name unless somebody else took it meanwhile."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise FileExistsError(f"{target} exists (pass overwrite=True to replace it)") from None
    except OSError:  # no hard links here (FAT, some network disks): a last look, then rename
        if os.path.lexists(target):
            raise FileExistsError(f"{target} exists (pass overwrite=True to replace it)") from None
        os.replace(temporary, target)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable; only POSIX systems can open a folder."""
    if os.name != "posix":
        return
    with suppress(OSError):  # a folder without read permission, a network disk: the file itself is already durable
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
