"""Writes files atomically, alone or as sets that belong together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from keyframer.files import journal
from keyframer.files.disk import (
    PathLike,
    digest_of,
    keep_permissions,
    open_temporary,
    rename_new,
    start_writeback,
    sync_folder,
)
from keyframer.files.output_checks import check_output, current_run, note_output

Parts = bytes | Iterable[bytes | memoryview]


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
    """Write files that belong together, all in one folder. After an interruption the old set exists, or the next run
    that writes into the folder completes the new one.

    ``pair`` are files that readers find by the stem of ``main``. ``named`` are files that ``main`` mentions, each under
    a name with a hash of its content (`content_name`), so that no old file can mention a new one. Unless ``named`` is
    None, ``overwrite`` also removes such files of the old set. ``main`` mentions ``shared`` files too, but under plain
    names that other files may also use: they never replace other content. An existing named or shared file with the
    same content is kept.
    """
    target = os.fspath(main[0])
    collected = _COLLECTED.get()
    if collected is None:
        journal.sweep_once(os.path.dirname(target))
    for path, _ in (main, *pair):
        check_output(path, overwrite=overwrite)
    output_set = OutputSet(target, journal.content_named_files(target) if overwrite and named is not None else [])
    try:
        output_set.add(shared, replaces=False, keeps_equal=True)
        output_set.add(named or (), replaces=overwrite, keeps_equal=True)
        output_set.add([*pair, main], replaces=overwrite, pair=bool(pair))
    except BaseException:
        output_set.discard()
        raise
    if collected is None:
        output_set.finish()
    else:
        collected.append(output_set)


class Draft:
    """A written file that does not have its final name yet."""

    def __init__(self, target: str, parts: Parts, *, replaces: bool, keeps_equal: bool, in_pair: bool) -> None:
        self.target = target
        self.replaces = replaces
        self.keeps_equal = keeps_equal
        """whether an existing file with the same content is kept"""
        self.in_pair = in_pair
        self.size = 0
        self._is_synced = False
        self._stream, self.temporary = open_temporary(target)
        self.inode = os.fstat(self._stream.fileno()).st_ino
        digest = hashlib.sha256()
        try:
            for part in (parts,) if isinstance(parts, bytes) else parts:
                digest.update(part)
                self.size += self._stream.write(part)
            self._stream.flush()
            start_writeback(self._stream.fileno())
        except BaseException:
            self.discard()
            raise
        self.sha256 = digest.hexdigest()

    def sync(self) -> None:
        """Wait until the content is on the disk, with the permissions of the file that it replaces."""
        if self._is_synced:
            return
        if self.replaces:
            keep_permissions(self._stream.fileno(), self.target)
        os.fsync(self._stream.fileno())
        if os.name != "posix":  # where open files cannot be renamed
            self._stream.close()
        self._is_synced = True

    def equals_target(self) -> bool:
        """Return whether the target exists and has the same content."""
        return os.path.lexists(self.target) and digest_of(self.target) == self.sha256

    def rename(self) -> None:
        """Rename the file to its final name."""
        if self.replaces:
            os.replace(self.temporary, self.target)
        else:
            rename_new(self.temporary, self.target)

    def close(self) -> None:
        with suppress(OSError):  # the content is on the disk, or could not be written and cannot be flushed
            self._stream.close()

    def discard(self) -> None:
        """Remove the temporary file."""
        self.close()
        with suppress(OSError):
            os.unlink(self.temporary)


class OutputSet:
    """Drafts that are renamed together, the main one last. Call `finish` or `discard`."""

    def __init__(self, target: str, superseded: list[str]) -> None:
        self.target = target
        self.drafts: list[Draft] = []
        self._run = current_run()
        self._superseded = superseded

    def add(
        self, files: Sequence[tuple[PathLike, Parts]], *, replaces: bool, keeps_equal: bool = False, pair: bool = False
    ) -> None:
        for path, parts in files:
            draft = Draft(os.fspath(path), parts, replaces=replaces, keeps_equal=keeps_equal, in_pair=pair)
            self.drafts.append(draft)

    def sync(self) -> None:
        """Wait until the contents are on the disk."""
        for draft in self.drafts:
            draft.sync()

    def finish(self, *, durable: bool = True) -> None:
        """Rename all drafts. Without ``durable`` a power cut may lose the renames, but not the contents."""
        try:
            self.sync()
            changed = [draft for draft in self.drafts if not (draft.keeps_equal and draft.equals_target())]
            for draft in changed:
                check_output(draft.target, overwrite=draft.replaces, run=self._run)
            names = {os.path.basename(draft.target) for draft in self.drafts}
            superseded = [name for name in self._superseded if name not in names]
            if len(changed) > 1 or superseded:
                journal.rename_all(self.target, changed, superseded)
            elif changed:
                changed[0].rename()
            for draft in self.drafts:
                note_output(draft.target, self._run)
        except journal.Unfinished:
            for draft in self.drafts:
                draft.close()
            raise
        except BaseException:
            self.discard()
            raise
        for draft in self.drafts:
            if draft not in changed:
                draft.discard()
            draft.close()
        if durable:
            sync_folder(os.path.dirname(self.target))

    def discard(self) -> None:
        for draft in self.drafts:
            draft.discard()


_COLLECTED: ContextVar[list[OutputSet] | None] = ContextVar("_COLLECTED", default=None)
"""the list of `collect_drafts`; None outside of it"""


@contextmanager
def collect_drafts() -> Iterator[list[OutputSet]]:
    """Collect the sets written inside this block without renaming them, so that the caller can work while the disk
    writes. After a failure they are discarded."""
    sets: list[OutputSet] = []
    token = _COLLECTED.set(sets)
    try:
        yield sets
    except BaseException:
        for output_set in sets:
            output_set.discard()
        raise
    finally:
        _COLLECTED.reset(token)
