"""Inputs read whole, outputs written whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO

from keyframer.catalogue import IO_CHANGED_DURING_READ, IO_READ_FAILED, LIMIT_FILE_SIZE
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


@contextmanager
def reading_archive() -> Iterator[None]:
    """What a zip archive that is damaged, encrypted or packed in an unknown way raises becomes a `FormatError`."""
    from lzma import LZMAError
    from struct import error as StructError
    from zipfile import BadZipFile
    from zlib import error as ZlibError

    try:
        yield
    except (BadZipFile, RuntimeError, ValueError, ZlibError, LZMAError, StructError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # bz2 raises it without
            raise
        raise IO_READ_FAILED.failure(0, "/", reason=f"cannot be read from the archive: {error}") from None


def write_bytes(path: PathLike, parts: bytes | Iterable[bytes | memoryview], *, overwrite: bool = False) -> None:
    """Write a file so that its name never stands for half of it: temporary file beside it, fsync, rename.

    The temporary name is short and random, so that it fits beside names of any legal length. Without ``overwrite``
    an existing file is left alone and FileExistsError is raised.
    """
    target = os.fspath(path)
    if not overwrite and os.path.lexists(target):
        raise FileExistsError(f"{target} exists (pass overwrite=True to replace it)")
    draft = Draft(target, (parts,) if isinstance(parts, bytes) else parts, overwrite)
    waiting = _WAITING.get()
    if waiting is None:
        draft.finish()
    else:
        waiting.append(draft)


class Draft:
    """A file that is written and has no name yet. `finish` or `discard` it."""

    def __init__(self, target: str, parts: Iterable[bytes | memoryview], overwrite: bool) -> None:
        self.target = target
        self.temporary = os.path.join(os.path.dirname(target), f".kf-{secrets.token_hex(6)}")
        self.overwrite = overwrite
        self._stream = open(self.temporary, "xb")  # noqa: SIM115  # open until it is synced
        try:
            for part in parts:
                self._stream.write(part)
            self._stream.flush()
        except BaseException:
            self.discard()
            raise

    def finish(self, *, sync_folder: bool = True) -> None:
        """Wait until the content is on the disk, give it its name, and make the name durable, too."""
        try:
            os.fsync(self._stream.fileno())
            self._stream.close()
            if self.overwrite:
                with suppress(OSError):  # a new file has no permissions to keep
                    os.chmod(self.temporary, stat.S_IMODE(os.stat(self.target).st_mode))
                os.replace(self.temporary, self.target)
            else:
                _rename_new(self.temporary, self.target)
        except BaseException:
            self.discard()
            raise
        if sync_folder:
            _sync_folder(os.path.dirname(self.target) or ".")

    def discard(self) -> None:
        """Remove it."""
        with suppress(OSError):  # what could not be written cannot be flushed, either
            self._stream.close()
        with suppress(FileNotFoundError):
            os.unlink(self.temporary)


_WAITING: ContextVar[list[Draft] | None] = ContextVar("_WAITING", default=None)


@contextmanager
def named_later() -> Iterator[list[Draft]]:
    """Files that are written inside get no names: their drafts are collected, so that whoever has more to do can do it
    while the disk is at work. After a failure they are gone."""
    drafts: list[Draft] = []
    token = _WAITING.set(drafts)
    try:
        yield drafts
    except BaseException:
        for draft in drafts:
            draft.discard()
        raise
    finally:
        _WAITING.reset(token)


def _rename_new(temporary: str, target: str) -> None:
    """Give the file its name unless somebody else took it meanwhile."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise FileExistsError(f"{target} exists (pass overwrite=True to replace it)") from None
    except OSError:  # no hard links here (FAT, some network disks): a last look, then rename
        if os.path.lexists(target):
            raise FileExistsError(f"{target} exists (pass overwrite=True to replace it)") from None
        os.replace(temporary, target)
    else:
        os.unlink(temporary)


def _sync_folder(folder: str) -> None:
    """Make the new name durable; only POSIX systems can open a folder."""
    if os.name != "posix":
        return
    with suppress(OSError):  # a folder without read permission, a network disk: the file itself is already durable
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
