"""Renames several files as one step: a journal in the folder lets the next run complete an interrupted one.

The journal exists from before the first rename until after the last. It lists the temporary files, which are complete
and on the disk by then, and their final names, so that the next run that writes into the folder can complete the
renames. Until then readers refuse the files of a pair, which share a stem (`is_unfinished`). A file that mentions
others is not refused: those have a hash of their content in their name, or are never replaced.

A journal may come from an archive that somebody unpacked here. It is used only if it contains the inodes of its files,
which the disk assigned when they were written.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from keyframer.files.disk import (
    TEMPORARY,
    digest_of,
    is_abandoned,
    lock,
    open_temporary,
    rename_new,
    sync_folder,
    temporary_name,
)
from keyframer.files.output_checks import Run, check_output

if TYPE_CHECKING:
    from keyframer.files.atomic_writing import Draft

HASH_DIGITS = 12
"""hex digits of the hash in the name of a file that another one mentions"""

_JOURNAL = re.compile(r"\.kf-[0-9a-f]{12}\.journal")
_MENTION = re.compile(rb"\.([0-9a-f]{12})(\.[a-z0-9]{1,8})")
_CONTENT_NAME = re.compile(r".*(\.([0-9a-f]{12})\.[a-z0-9]{1,8})", re.DOTALL)
_LONGEST_NAME = 255
"""maximum number of bytes of a name on most disks"""
_LARGEST_JOURNAL = 1 << 20
"""maximum number of bytes that are read of a journal"""
_LARGEST_SEARCHED = 64 << 20
"""largest file that is searched for names"""
_NEIGHBOURS = 500
"""maximum number of files that are searched for the name of a superseded file; if there are more, it is kept"""
_SWEPT: set[str] = set()


class Unfinished(OSError):
    """Some files lack their final names, or superseded files remain; the journal is left for the next run."""


def is_unfinished(path: str | os.PathLike[str]) -> bool:
    """Return whether a file belongs to a pair that is being written, or whose writing was interrupted."""
    return os.path.lexists(_journal_path(os.fspath(path), pair=True))


def _journal_path(target: str, *, pair: bool) -> str:
    """Return the path of the journal; all spellings of a stem share one, because readers accept several."""
    folder, name = os.path.split(target)
    key = f"pair {os.path.splitext(name)[0].casefold()}" if pair else f"set {name}"
    digest = hashlib.sha256(os.fsencode(key)).hexdigest()
    return os.path.join(folder, f".kf-{digest[:12]}.journal")


def content_named_files(target: str) -> list[str]:
    """Return the names of the files that the target mentions and whose content matches the hash in their name."""
    try:
        if not stat.S_ISREG(os.lstat(target).st_mode) or os.path.getsize(target) > _LARGEST_SEARCHED:
            return []
        with open(target, "rb") as stream:
            endings = {b"".join((b".", *match)).decode() for match in _MENTION.findall(stream.read())}
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    names = [
        os.path.basename(content_name(target, ending[1 : HASH_DIGITS + 1], ending[HASH_DIGITS + 1 :]))
        for ending in endings
    ]
    return [name for name in names if _matches_its_hash(os.path.dirname(target), name)]


def content_name(path: str | os.PathLike[str], digest: str, ending: str) -> str:
    """Return the path of a file that belongs to ``path``, with a hash of its content in its name."""
    folder, name = os.path.split(os.fspath(path))
    suffix = f".{digest[:HASH_DIGITS]}{ending}"
    stem = os.path.splitext(name)[0]
    while len(os.fsencode(stem + suffix)) > _LONGEST_NAME:
        stem = stem[:-1]
    return os.path.join(folder, stem + suffix)


def _matches_its_hash(folder: str, name: str) -> bool:
    """Return whether a file has a hash in its name that matches its content."""
    match = _CONTENT_NAME.fullmatch(name)
    digest = digest_of(os.path.join(folder, name)) if match is not None else None
    return match is not None and digest is not None and digest.startswith(match[2])


def rename_all(target: str, drafts: Sequence[Draft], superseded: Sequence[str]) -> None:
    """Rename drafts in this order and remove superseded files: all of it, now or in the next run.

    After a failure everything is as before, or `Unfinished` is raised.
    """
    folder = os.path.dirname(target)
    path = _journal_path(target, pair=any(draft.in_pair for draft in drafts))
    entries = [
        {
            "draft": os.path.basename(draft.temporary),
            "target": os.path.basename(draft.target),
            "sha256": draft.sha256,
            "inode": draft.inode,
            "replaces": draft.replaces,
        }
        for draft in drafts
    ]
    content = {"schema": "keyframer.journal", "schema_version": 1, "main": os.path.basename(target)}
    journal = _begin(path, json.dumps({**content, "files": entries, "superseded": list(superseded)}).encode())
    changes: list[_Change] = []
    try:
        for draft in drafts:
            changes.append(_Change(draft))
            changes[-1].make()
        sync_folder(folder)
    except BaseException as error:
        try:
            for change in reversed(changes):
                change.undo()
            os.unlink(path)
        except OSError:
            reason = getattr(error, "strerror", None) or str(error)
            raise Unfinished(f"{reason}; the next run that writes into this folder completes the change") from error
        finally:
            _close(journal)
        raise
    try:
        _remove_superseded(target, superseded)
        for change in changes:
            change.forget()
        os.unlink(path)
    except OSError as error:
        raise Unfinished(
            f"{error.strerror or error}; the next run that writes into this folder completes the change"
        ) from error
    finally:
        _close(journal)


class _Change:
    """The rename of one file; if hard links are possible, the replaced file is kept until all files are renamed."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._is_made = False
        self._existed = os.path.lexists(draft.target)
        self._backup: str | None = None

    def make(self) -> None:
        if self._existed:
            backup = temporary_name(self._draft.target)
            with suppress(OSError, NotImplementedError):  # no hard links here
                os.link(self._draft.target, backup, follow_symlinks=False)
                self._backup = backup
        self._draft.rename()
        self._is_made = True

    def undo(self) -> None:
        """Undo the rename; raises OSError if that is impossible. The temporary name is restored before the final one is
        removed: until the journal is gone, the next run could still complete the rename."""
        if self._is_made and self._existed and self._backup is None:
            raise OSError("the replaced file is gone")
        if self._is_made:
            with suppress(FileExistsError):
                os.link(self._draft.target, self._draft.temporary)
            if self._backup is None:
                os.unlink(self._draft.target)
            else:
                os.replace(self._backup, self._draft.target)
        else:
            self.forget()

    def forget(self) -> None:
        """Remove the backup of the replaced file."""
        if self._backup is not None:
            with suppress(OSError):  # swept by the next run
                os.unlink(self._backup)


def _begin(path: str, content: bytes) -> IO[bytes]:
    """Write a journal and keep it open, which locks it. Waits for or completes another journal of the same name."""
    while True:
        stream, temporary = open_temporary(path)
        try:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
            rename_new(temporary, path)
            sync_folder(os.path.dirname(path))
            return stream
        except FileExistsError:
            _discard(stream, temporary)
        except BaseException:
            _discard(stream, temporary)
            raise
        _finish(path, before_another=True)
        if os.path.lexists(path):
            raise OSError(f"{path} exists: another run is writing these files")


def _discard(stream: IO[bytes], temporary: str) -> None:
    _close(stream)
    with suppress(OSError):
        os.unlink(temporary)


def _close(stream: IO[bytes]) -> None:
    with suppress(OSError):  # the content is on the disk
        stream.close()


def sweep_once(folder: str) -> None:
    """Call `sweep` the first time that this process writes into a folder."""
    path = os.path.abspath(folder)
    if path not in _SWEPT:
        _SWEPT.add(path)
        sweep(path)


def sweep(folder: str, *, older_than: float = 0.0) -> int:
    """Complete interrupted writes in a folder and remove their temporary files; returns the number of removed files.

    Files younger than ``older_than`` seconds are kept, for disks where locks do not show that a writer is active.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    needed: set[str] = set()
    for name in names:
        if _JOURNAL.fullmatch(name):
            needed |= _finish(os.path.join(folder, name), older_than=older_than)
    return sum(_remove(os.path.join(folder, name), older_than) for name in names if name not in needed)


def _remove(path: str, older_than: float) -> bool:
    """Remove a temporary file of a writer that is gone; returns whether it was removed."""
    if not TEMPORARY.fullmatch(os.path.basename(path)):
        return False
    with suppress(OSError):
        descriptor = _open(path)
        try:
            if is_abandoned(descriptor, older_than):
                os.unlink(path)
                return True
        finally:
            os.close(descriptor)
    return False


def _open(path: str) -> int:
    """Open a regular file for reading, without waiting for a pipe."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a regular file")
    return descriptor


def _finish(path: str, *, before_another: bool = False, older_than: float = 0.0) -> set[str]:
    """Complete a journal and remove it; if that fails or another run has locked it, returns the temporary files that it
    needs.

    ``before_another``: wait for the lock, and remove a journal that cannot be completed, because all its files are
    about to be written again.
    """
    try:
        descriptor = _open(path)
    except OSError:
        return set()
    try:
        if before_another:
            lock(descriptor, wait=True)
        content = _parsed(descriptor)
        needed = set() if content is None else {entry["draft"] for entry in content["files"]}
        if not is_abandoned(descriptor, older_than) or not _is_at(path, descriptor):
            return needed
        is_done = content is not None and _finish_all(path, content)
        if is_done or before_another:
            os.unlink(path)
        return set() if is_done else needed
    except OSError:
        return needed
    finally:
        os.close(descriptor)


def _is_at(path: str, descriptor: int) -> bool:
    """Return whether the path still leads to the open file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def _finish_all(path: str, content: dict[str, Any]) -> bool:
    folder = os.path.dirname(path)
    main = os.path.join(folder, content["main"])
    if path not in (_journal_path(main, pair=True), _journal_path(main, pair=False)):
        return False
    if not all(_may_replace(content["main"], entry) and _finish_one(folder, entry) for entry in content["files"]):
        return False
    _remove_superseded(main, content["superseded"])
    sync_folder(folder)
    return True


def _may_replace(main: str, entry: dict[str, Any]) -> bool:
    """Return whether an entry may replace its target: the target has the stem of the main file, or a hash of the new
    content in its name."""
    stem, target_stem = (os.path.splitext(name)[0].casefold() for name in (main, entry["target"]))
    match = _CONTENT_NAME.fullmatch(entry["target"])
    return not entry["replaces"] or stem == target_stem or bool(match and entry["sha256"].startswith(match[2]))


def _finish_one(folder: str, entry: dict[str, Any]) -> bool:
    draft, target = os.path.join(folder, entry["draft"]), os.path.join(folder, entry["target"])
    if _is_written(draft, entry):
        if entry["replaces"]:
            # checked against an empty run: for the current one the file may already be an input
            check_output(target, overwrite=True, run=Run())
            os.replace(draft, target)
        elif not os.path.lexists(target):
            rename_new(draft, target)
        return True  # a name that exists by now belongs to another writer
    return _is_written(target, entry)


def _is_written(path: str, entry: dict[str, Any]) -> bool:
    """Return whether this is the file that the writer of the journal wrote, under its temporary or final name."""
    return digest_of(path) == entry["sha256"] and os.lstat(path).st_ino == int(entry["inode"])


def _parsed(descriptor: int) -> dict[str, Any] | None:
    """Parse a journal; returns None if it is invalid. Anybody may have put it there."""
    with open(descriptor, "rb", closefd=False) as stream:
        try:
            content = json.loads(stream.read(_LARGEST_JOURNAL))
            names = [content["main"], *content["superseded"]]
            for entry in content["files"]:
                names += [entry["target"]]
                if not (TEMPORARY.fullmatch(entry["draft"]) and isinstance(entry["sha256"], str)):
                    return None
                if not (isinstance(entry["replaces"], bool) and isinstance(entry["inode"], int)):
                    return None
            if content["main"] not in names[1 + len(content["superseded"]) :]:
                return None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
    are_names = all(isinstance(name, str) and os.path.basename(name) == name and name.strip(".") for name in names)
    return content if are_names else None


def _remove_superseded(target: str, names: Sequence[str]) -> None:
    """Remove files of the old set, if the hash in their name matches their content and no file in the folder that has
    the extension of the main file mentions them."""
    folder, main = os.path.split(target)
    ending = os.path.splitext(main)[1].lower()
    for name in names:
        match = _CONTENT_NAME.fullmatch(name)
        if match is None or name == main or not _matches_its_hash(folder, name):
            continue
        others = [other for other in os.listdir(folder or ".") if other.lower().endswith(ending)]
        suffix = match[1].encode()
        if len(others) <= _NEIGHBOURS and not any(_mentions(os.path.join(folder, other), suffix) for other in others):
            os.unlink(os.path.join(folder, name))


def _mentions(path: str, name: bytes) -> bool:
    """Return whether a file contains a name; True if it cannot be searched."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode) or os.path.getsize(path) > _LARGEST_SEARCHED:
            return True
        with open(path, "rb") as stream:
            return name in stream.read()
    except FileNotFoundError:
        return False
    except PermissionError:
        return True
