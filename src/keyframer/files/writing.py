"""Writes files atomically, alone or with files that belong to them: written under temporary names, synced, renamed.

Every file has its old or its new content at any time. Of files that belong together, the named one is renamed last. A
file that it mentions has a hash of its content in its name, so that it never mentions the content of another version.
Temporary files are locked while they are written: `sweep` removes those of killed writers.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from keyframer.files.runs import OutputExists, PathLike, check_output, current_run

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

Parts = bytes | Iterable[bytes | memoryview]

_TEMPORARY = re.compile(r"\.kf-([0-9a-f]{8})?[0-9a-f]{12}")
_CONTENT_NAME = re.compile(r".*\.([0-9a-f]{12})(\.[a-z0-9]{1,8})", re.DOTALL)
_HASH_DIGITS = 12
_LONGEST_NAME = 255
"""maximum number of bytes of a name on most disks"""
_LARGEST_SEARCHED = 64 << 20
"""largest file that is searched for names"""
_NEIGHBOURS = 500
"""maximum number of files that are searched for the name of a superseded file; if there are more, it is kept"""
_ABANDONED = 600.0
"""seconds: without locks, the writer of a temporary file this old is considered gone"""
_ACCESS_LIST = "system.posix_acl_access"


def write_bytes(path: PathLike, parts: Parts, *, overwrite: bool = False) -> None:
    """Write a file atomically: temporary file in the same folder, fsync, rename.

    Without ``overwrite`` an existing file is left alone and FileExistsError is raised. The new file gets the owner and
    permissions of the file that it replaces. Special files, and inputs and outputs of the same run, are refused:
    `OutputRefused`.
    """
    write_set((path, parts), overwrite=overwrite)


def write_set(
    main: tuple[PathLike, Parts],
    *,
    pair: Sequence[tuple[PathLike, Parts]] = (),
    named: Sequence[tuple[PathLike, Parts]] | None = None,
    shared: Sequence[tuple[PathLike, Parts]] = (),
    overwrite: bool = False,
) -> None:
    """Write files that belong together, all in one folder. All are written and synced before the first is renamed.

    ``pair`` are files that readers find by the stem of ``main``: a kill between their renames leaves the old ``main``
    beside a new companion. ``named`` are files that ``main`` mentions, each under a name with a hash of its content
    (`content_name`). Unless ``named`` is None, ``overwrite`` also removes such files of earlier versions. ``main``
    mentions ``shared`` files too, but under plain names that other files may also use: they never replace other
    content. An existing named or shared file with the same content is kept; in a job of a batch every such file.
    """
    target, run = os.fspath(main[0]), current_run()
    if run is not None and run.upload is not None:
        for path, parts in (*shared, *(named or ()), *pair, main):
            run.upload(os.path.basename(path), parts if isinstance(parts, bytes) else b"".join(parts))
        return
    in_batch = run is not None and run.is_job
    folder = os.path.abspath(os.path.dirname(target))
    if not in_batch and folder not in _SWEPT:  # a batch sweeps the folders of its outputs itself
        _SWEPT.add(folder)
        sweep(folder)
    for path, _ in (main, *pair):
        check_output(path, overwrite=overwrite)
    replaces_older = overwrite and named is not None and os.path.lexists(target)
    drafts = _written_drafts(
        ((shared, False, True), (named or (), overwrite, True), ((*pair, main), overwrite, in_batch)),
        "" if run is None else run.writer,
    )
    if run is not None:
        for draft in reversed(drafts):
            run.note_output(draft.target, draft.sha256)
    if replaces_older:
        _remove_older(target, {os.path.basename(draft.target) for draft in drafts})
    if not in_batch:  # if a power cut loses a name, the next run of a batch notices that it is missing
        _sync_folder(folder)


def _written_drafts(groups: Sequence[tuple[Sequence[tuple[PathLike, Parts]], bool, bool]], writer: str) -> list[_Draft]:
    """Write all files, and only then rename them, in this order. A group of files says whether they replace others, and
    whether an existing file with the same content is kept."""
    drafts: list[_Draft] = []
    try:
        for files, replaces, keeps_equal in groups:
            for path, parts in files:
                drafts.append(_Draft(os.fspath(path), replaces=replaces, writer=writer))
                drafts[-1].write(parts, keeps_equal=keeps_equal)
        for draft in drafts:
            draft.check()
        for draft in drafts:
            draft.rename()
    finally:
        for draft in drafts:
            draft.close()
    return drafts


class _Draft:
    """A file with a temporary name, locked so that `sweep` knows that it is in use. The name is short, so that it is
    valid for targets of any length."""

    def __init__(self, target: str, *, replaces: bool, writer: str) -> None:
        self.target = target
        self.sha256 = ""
        self._replaces = replaces
        self._is_kept = False
        """whether the existing file has the same content and stays"""
        mode = 0o600 if os.path.exists(target) else 0o666  # only its owner reads it until it gets other permissions
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        while True:
            self._temporary = os.path.join(os.path.dirname(target), f".kf-{writer}{os.urandom(6).hex()}")
            try:
                descriptor = os.open(self._temporary, flags, mode)
            except OSError as error:
                raise _about(error, target) from None
            _lock(descriptor, wait=True)
            if os.path.lexists(self._temporary):  # else another process removed it before it was locked
                break
            os.close(descriptor)
        self._stream = os.fdopen(descriptor, "wb")

    def write(self, parts: Parts, *, keeps_equal: bool) -> None:
        """Write the content and wait until it is on the disk, with the permissions of the file that it replaces."""
        digest = hashlib.sha256()
        for part in (parts,) if isinstance(parts, bytes) else parts:
            digest.update(part)
            self._stream.write(part)
        self._stream.flush()
        self.sha256 = digest.hexdigest()
        self._is_kept = keeps_equal and os.path.lexists(self.target) and _digest_of(self.target) == self.sha256
        if self._is_kept:
            return
        if self._replaces and os.name == "posix":
            _keep_permissions(self._stream.fileno(), self.target)
        os.fsync(self._stream.fileno())
        if os.name != "posix":  # where open files cannot be renamed
            self._stream.close()

    def check(self) -> None:
        """Raise if the target must not be written; it may have changed since writing began."""
        if not self._is_kept:
            check_output(self.target, overwrite=self._replaces)

    def rename(self) -> None:
        """Rename the file to its final name; raises FileExistsError if it exists by now and must not be replaced."""
        if self._is_kept:
            return
        if not self._replaces:
            try:
                os.link(self._temporary, self.target)
                return
            except FileExistsError:
                raise OutputExists(self.target) from None
            except (AttributeError, OSError):  # no hard links (FAT, network disks, WebAssembly): check again, rename
                if os.path.lexists(self.target):
                    raise OutputExists(self.target) from None
        os.replace(self._temporary, self.target)
        self._temporary = ""

    def close(self) -> None:
        """Close the file and remove its temporary name, if it still has it."""
        with suppress(OSError):  # the content is on the disk, or could not be written and cannot be flushed
            self._stream.close()
        if self._temporary:
            with suppress(OSError):  # the next run removes it
                os.unlink(self._temporary)


def _about(error: OSError, target: str) -> OSError:
    """Return a failure to make a temporary file as one that concerns its target, or the folder if that is missing."""
    folder = os.path.dirname(target)
    if isinstance(error, (FileNotFoundError, NotADirectoryError)) and folder and not os.path.isdir(folder):
        return type(error)(error.errno, "there is no such folder", folder)
    return type(error)(error.errno, error.strerror, target)


def content_name(path: PathLike, digest: str, ending: str) -> str:
    """Return the path of a file that belongs to ``path``, with a hash of its content in its name."""
    folder, name = os.path.split(os.fspath(path))
    suffix = f".{digest[:_HASH_DIGITS]}{ending}"
    stem = os.path.splitext(name)[0]
    while len(os.fsencode(stem + suffix)) > _LONGEST_NAME:
        stem = stem[:-1]
    return os.path.join(folder, stem + suffix)


def _remove_older(target: str, kept: set[str]) -> None:
    """Remove files that earlier versions of the target mentioned: the hash in their name matches their content, and no
    file in the folder with the extension of the target mentions them."""
    folder, main = os.path.split(target)
    ending = os.path.splitext(main)[1].lower()
    with suppress(OSError):
        names = os.listdir(folder or ".")
        matches = [match for name in names if name not in kept and (match := _CONTENT_NAME.fullmatch(name))]
        for match in matches:
            path = content_name(target, match[1], match[2])
            if os.path.basename(path) == match[0] and (_digest_of(path) or "").startswith(match[1]):
                others = [os.path.join(folder, name) for name in names if name.lower().endswith(ending)]
                suffix = f".{match[1]}{match[2]}".encode()
                if len(others) <= _NEIGHBOURS and not any(_mentions(other, suffix) for other in others):
                    os.unlink(path)


def _mentions(path: str, name: bytes) -> bool:
    """Return whether a file contains a name; True if it cannot be searched."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) or os.path.getsize(path) > _LARGEST_SEARCHED:
            return True
        with open(path, "rb") as stream:
            return name in stream.read()
    except FileNotFoundError:
        return False
    except OSError:
        return True


_SWEPT: set[str] = set()
"""folders that this process has swept"""


def sweep(folder: str, *, older_than: float = 0.0, writer: str = "") -> int:
    """Remove the temporary files of killed writers; returns their number.

    Files younger than ``older_than`` seconds are kept, unless they are those of ``writer``: locks do not show on all
    disks that a writer on another machine is active.
    """
    try:
        matches = [match for name in os.listdir(folder) if (match := _TEMPORARY.fullmatch(name))]
    except OSError:
        return 0
    return sum(
        _remove_if_abandoned(os.path.join(folder, match[0]), 0.0 if writer and match[1] == writer else older_than)
        for match in matches
    )


def _remove_if_abandoned(path: str, older_than: float) -> bool:
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            status = os.fstat(descriptor)
            age = time.time() - status.st_mtime
            is_gone = age >= older_than if _lock(descriptor, wait=False) else fcntl is None and age >= _ABANDONED
            if is_gone and stat.S_ISREG(status.st_mode):
                os.unlink(path)
                return True
        finally:
            os.close(descriptor)
    return False


def _lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file and return whether that succeeded; closing the file or ending the process unlocks it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another process has it, or the disk does not support locks
        return False
    return True


def _keep_permissions(descriptor: int, target: str) -> None:
    """Give an open file the owner, group, mode and access list of the file that it will replace, if there is one.

    Raises PermissionError if that is not allowed: the owner of a file never changes silently.
    """
    try:
        wanted = os.stat(target)
    except OSError:  # a new file, or a link that leads nowhere
        return
    current = os.fstat(descriptor)
    if (current.st_uid, current.st_gid) != (wanted.st_uid, wanted.st_gid):
        try:
            os.fchown(descriptor, wanted.st_uid, wanted.st_gid)
        except PermissionError:
            raise PermissionError(1, "its owner or group cannot be preserved") from None
    if hasattr(os, "getxattr"):  # before the mode, which limits the rights that the list grants
        try:
            access_list = os.getxattr(target, _ACCESS_LIST)
        except OSError:  # the target has no list; the new file may have got one from its folder
            with suppress(OSError):
                os.removexattr(descriptor, _ACCESS_LIST)
        else:
            os.setxattr(descriptor, _ACCESS_LIST, access_list)
    os.fchmod(descriptor, stat.S_IMODE(wanted.st_mode))


def _sync_folder(folder: str) -> None:
    """Make new names durable; only POSIX systems can open a folder."""
    if os.name != "posix":
        return
    with suppress(OSError):  # a folder without read permission, a network disk: the file itself is already durable
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _digest_of(path: str) -> str | None:
    """Return the SHA-256 of a file; None if it does not exist, is not a regular file or may not be read."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
