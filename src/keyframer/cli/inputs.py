"""The inputs of a command: files, folders, globs, lists of files, stdin and members of containers.

A name that cannot be read is an input, too: it fails when it is opened, so that the others are still processed.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import IO, TYPE_CHECKING

from keyframer.cli.messages import note
from keyframer.errors import FormatError
from keyframer.exchange import IMPORTERS, importer_for
from keyframer.files.containers import EXTENSIONS as CONTAINER_EXTENSIONS
from keyframer.files.containers import kind_of
from keyframer.files.member_names import file_on_disk, member_name, safe_parts, split_member
from keyframer.formats import COMPANION_ENDINGS, COMPANION_STEMS, FORMATS
from keyframer.formats.contract import HEAD_SIZE, companion_names
from keyframer.formats.foreign_files import is_apple_double
from keyframer.text import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from keyframer.files.container_contract import Container, Member
    from keyframer.limits import Budget, Limits

STDIN = "-"

DECODABLE = tuple(extension for known in FORMATS for extension in known.extensions)
"""extensions of files that can be decoded as documents"""
LOADABLE = DECODABLE + tuple(extension for known in IMPORTERS for extension in known.extensions)
"""extensions of files that can be loaded as scenes"""


def loadable_except(skipped: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(extension for extension in LOADABLE if extension not in skipped)


class Input:
    """An input. ``name`` is its path, or a name for messages; ``relative`` is its path below the folder or archive that
    it comes from.
    """

    budget: Budget | None = None
    """a budget shared with other inputs: the members of an archive share a budget"""

    def __init__(self, name: str, relative: str = "") -> None:
        self.name = name
        self.relative = relative or os.path.basename(name)

    @property
    def key(self) -> str:
        """A unique name of the input."""
        return self.name

    def head(self) -> tuple[bytes, int]:
        """Return the first bytes and the total size."""
        raise NotImplementedError

    def read(self) -> bytes:
        raise NotImplementedError


class FileInput(Input):
    """A file on a disk, or a pipe."""

    def head(self) -> tuple[bytes, int]:
        with open(self.name, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            head = stream.read(HEAD_SIZE)
            if size < len(head):  # a pipe
                from keyframer.files import read_bytes

                head += read_bytes(stream)
                size = len(head)
        return head, size

    def read(self) -> bytes:
        from keyframer.files import read_bytes
        from keyframer.limits import DEFAULT_LIMITS, open_or_new_budget

        return read_bytes(self.name, open_or_new_budget(DEFAULT_LIMITS, 0).limits)


class WalkedFile(FileInput):
    """A file of a folder that was searched, or a subfolder that cannot be listed: it has no ``entry``, but a
    ``reason``.
    """

    def __init__(self, path: str, relative: str, folder: str, entry: os.DirEntry[str] | None, reason: str = "") -> None:
        self.name = path
        self.relative = relative
        self.folder = folder
        self.is_failed_folder = entry is None
        self._entry = entry
        self._reason = reason

    @property
    def status(self) -> os.stat_result | None:
        """The result of `os.stat`; None if it failed. An entry makes this call once, on first use."""
        try:
            return None if self._entry is None else self._entry.stat()
        except OSError:
            return None

    @property
    def error(self) -> FormatError | None:
        """Why the file cannot be read, if that is known without opening it."""
        status = self.status
        is_special = status is not None and not stat.S_ISREG(status.st_mode)  # a pipe may never end
        reason = "not a regular file" if is_special else self._reason
        return _read_failure(reason) if reason else None

    def head(self) -> tuple[bytes, int]:
        if self.error is not None:
            raise self.error
        return super().head()

    def read(self) -> bytes:
        if self.error is not None:
            raise self.error
        return super().read()


class StdinInput(Input):
    """The data on stdin."""

    _data: bytes | None = None

    def __init__(self) -> None:
        super().__init__("<stdin>", "stdin")

    def read(self) -> bytes:
        from contextlib import suppress

        from keyframer.files import note_input, read_bytes
        from keyframer.limits import add_input

        if StdinInput._data is not None:
            add_input(len(StdinInput._data))
            return StdinInput._data
        with suppress(OSError, ValueError):  # a replacement for stdin may have no descriptor
            note_input(os.fstat(sys.stdin.fileno()))
        StdinInput._data = read_bytes(sys.stdin.buffer)
        return StdinInput._data

    def head(self) -> tuple[bytes, int]:
        data = self.read()
        return data[:HEAD_SIZE], len(data)


class MemberInput(Input):
    """A member of an open container, whose name is ``place``; ``occurrence`` counts members of the same name from 0,
    ``folder`` is the path of the container below the outermost one."""

    def __init__(self, container: Container[Member], member: Member, place: str, occurrence: int, folder: str) -> None:
        path = os.path.join(*safe_parts(member.filename) or ["member"])
        super().__init__(member_name(place, member.filename), os.path.join(folder, path))
        self.occurrence = occurrence
        self._container = container
        self._member = member

    @property
    def archive_name(self) -> str:
        """The path of the file on a disk that the member is in."""
        return file_on_disk(self.name)

    @property
    def key(self) -> str:
        return f"{self.name}!#{self.occurrence}" if self.occurrence else self.name

    def head(self) -> tuple[bytes, int]:
        return self._container.head(self._member, HEAD_SIZE), self._member.file_size

    def read(self) -> bytes:
        return self._container.read(self._member)

    def members(self) -> Iterator[Input] | None:
        """Return the members of a member that is a container; None if it is none."""
        from keyframer.files.members import place_of

        assert self.budget is not None
        if not _stands_for_members(self._container.beginning(self._member), self.name):
            return None
        place = place_of(member_name(self.name, ""), self.budget.limits)
        if place is None or self.occurrence:
            return None
        return _walked(place.container, place.name, list(place.container.members), self.budget, self.relative)


class SkippedInput(Input):
    """An AppleDouble file of a folder or archive: it has the extension of a real file but not its content."""


class BadInput(Input):
    """A name that cannot be read as an input."""

    def __init__(self, name: str, error: Exception, relative: str = "") -> None:
        super().__init__(name, relative)
        self.error = error

    def head(self) -> tuple[bytes, int]:
        raise self.error

    def read(self) -> bytes:
        raise self.error


class FolderInput(BadInput):
    """A folder that is not searched, because ``-r`` is missing."""


def add_arguments(
    parser: argparse.ArgumentParser,
    metavar: str = "FILE",
    files: str = "a file, a folder (with -r), a glob in quotes, an archive or disc image, ARCHIVE!/MEMBER, - for stdin",
    *,
    always_recursive: bool = False,
) -> argparse._ArgumentGroup:
    """Add the arguments for any number of inputs; ``files`` is a help text."""
    inputs = parser.add_argument_group("inputs")
    inputs.add_argument("files", nargs="*", metavar=metavar, help=files)
    if not always_recursive:
        inputs.add_argument("-r", "--recursive", action="store_true", help="search folders and their subfolders")
    inputs.add_argument(
        "--all-files",
        action="store_true",
        help="take every file of a folder or archive, whatever its extension",
    )
    inputs.add_argument(
        "--files-from", metavar="LIST", help="read names from a file, one per line (or separated by NUL); - for stdin"
    )
    return inputs


def require_input(options: argparse.Namespace) -> None:
    """End the command with a message if no input is given."""
    if not options.files and options.files_from is None:
        options.parser.error("no input: give a FILE, or - for stdin")


def names_several_inputs(options: argparse.Namespace) -> bool:
    """Return whether the arguments name several inputs: -r, a list, or more than one name.

    Globs and archives are not expanded.
    """
    return bool(options.recursive or options.files_from is not None or len(options.files) > 1)


def inputs_of(options: argparse.Namespace, extensions: tuple[str, ...] | None = None) -> Iterator[Input]:
    """Yield all inputs in the given order; those of folders and archives sorted by name.

    Without ``--all-files`` only files with one of ``extensions`` (`DECODABLE` if None) are taken from folders and
    archives.
    """
    wanted = () if options.all_files else extensions or DECODABLE
    limits = dict(getattr(options, "limit", ()))
    names, unreadable_list = _names(options)
    if hasattr(options, "force"):
        _register_inputs(names, options.recursive, wanted, limits)
    skipped = 0
    for name in names:
        for item in _expanded(name, options.recursive, wanted, limits):
            if isinstance(item, SkippedInput):
                skipped += 1
            else:
                yield item
    options.skipped = skipped
    if unreadable_list is not None:
        yield unreadable_list


def report_skipped(options: argparse.Namespace) -> None:
    """Report the number of skipped AppleDouble files, if there are any."""
    count = getattr(options, "skipped", 0)
    if count:
        note(options, f"skipped {counted(count, 'AppleDouble file')} (metadata of a Mac; --all-files takes them)")


def _names(options: argparse.Namespace) -> tuple[list[str], BadInput | None]:
    """Return the names of the arguments and of ``--files-from``, and an input for a list that cannot be read. A list
    may come from a pipe, so it is read only once."""
    if not hasattr(options, "listed"):
        options.listed = [], None
        if options.files_from is not None:
            try:
                options.listed = _names_in_list(options.files_from), None
            except (OSError, FormatError) as error:
                options.listed = [], BadInput(options.files_from, error)
    listed, unreadable_list = options.listed
    return [*options.files, *listed], unreadable_list


def _register_inputs(names: list[str], recursive: bool, extensions: tuple[str, ...], limits: dict[str, object]) -> None:
    """Register all inputs and their companions before anything is written: no output may replace one of them."""
    from contextlib import suppress

    from keyframer.files import note_input

    for name in names:
        for item in _expanded(name, recursive, extensions, limits):
            if isinstance(item, SkippedInput):
                continue
            note_input(file_on_disk(item.name))
            if isinstance(item, StdinInput):
                with suppress(OSError, FormatError):  # reported when stdin is opened
                    item.read()
            if isinstance(item, FileInput):
                folder, file_name = os.path.split(item.name)
                for other in companion_names(file_name, COMPANION_ENDINGS, COMPANION_STEMS):
                    note_input(os.path.join(folder, other))


def _names_in_list(source: str) -> list[str]:
    data = StdinInput().read() if source == STDIN else _file(source).read()
    separator = b"\0" if b"\0" in data else b"\n"
    return [os.fsdecode(line.rstrip(b"\r")) for line in data.split(separator) if line.strip()]


def _expanded(name: str, recursive: bool, extensions: tuple[str, ...], limits: dict[str, object]) -> Iterable[Input]:
    if name == STDIN:
        return (StdinInput(),)
    if "\0" in name:
        return (BadInput(name, _read_failure("a file name cannot contain NUL")),)
    try:
        if os.path.isdir(name):
            if not recursive:
                return (FolderInput(name, _read_failure("this is a folder (-r searches it)")),)
            return _from_folder(name, extensions)
        if os.path.lexists(name):
            return _from_container(name, extensions, limits) if _is_expanded_to_members(name) else (_file(name),)
        if split_member(name) is not None:
            return _from_container(name, extensions, limits)
        if any(character in name for character in "*?["):
            return _from_glob(name, recursive, extensions, limits)
    except OSError as error:
        return (BadInput(name, error),)
    return (FileInput(name),)


def _file(name: str) -> Input:
    """Return a file as an input; refuses devices and named pipes, which may never end, but not pipes of the shell."""
    if not os.path.isfile(name):
        from keyframer.files import is_endless

        if is_endless(name):
            return BadInput(name, _read_failure("not a regular file"))
    return FileInput(name)


def _from_folder(folder: str, extensions: tuple[str, ...]) -> Iterator[Input]:
    """Yield the files of a folder and its subfolders, sorted by name; links to folders are not followed.

    Each folder is listed once and each file examined once, so that 100,000 files are walked quickly.
    """
    any_file = False
    waiting = [("", folder)]
    while waiting:
        relative, path = waiting.pop()
        folders = []
        try:
            with os.scandir(path) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            any_file = True
            reason = f"cannot list the folder: {error.strerror or error}"
            yield WalkedFile(path, relative.rstrip("/") or "folder", folder, None, reason)
            continue
        for entry in listed:
            try:
                is_folder = entry.is_dir()
            except OSError:
                is_folder = False
            if is_folder:
                if not entry.is_symlink():
                    folders.append((f"{relative}{entry.name}/", entry.path))
            elif not extensions or entry.name.lower().endswith(extensions):
                item = WalkedFile(entry.path, relative + entry.name, folder, entry)
                if extensions and _is_apple_double(item):
                    yield SkippedInput(entry.path)
                    continue
                any_file = True
                yield item
        waiting.extend(reversed(folders))
    if not any_file:
        yield BadInput(folder, _no_files("folder", extensions))


def _is_apple_double(item: Input) -> bool:
    """Return whether an input is an AppleDouble file, by name and content."""
    if not os.path.basename(item.relative).startswith("._"):
        return False
    try:
        return is_apple_double(item.head()[0])
    except (FormatError, OSError):
        return False


def _from_glob(
    pattern: str, recursive: bool, extensions: tuple[str, ...], limits: dict[str, object]
) -> Iterator[Input]:
    from glob import glob

    names = sorted(glob(pattern, recursive=True))
    if not names:
        yield BadInput(pattern, _read_failure("no file matches"))
    for name in names:
        if not os.path.isdir(name) or recursive:
            yield from _expanded(name, recursive, extensions, limits)


def _is_expanded_to_members(name: str) -> bool:
    """Return whether a file is a container that stands for its members; some importers read an archive as a whole."""
    if not os.path.isfile(name):  # a pipe can be read only once
        return False
    with open(name, "rb") as stream:
        return _stands_for_members(stream, name)


def _stands_for_members(stream: IO[bytes], name: str) -> bool:
    if kind_of(stream) is None:
        return False
    stream.seek(0)
    return importer_for(stream.read(HEAD_SIZE), name) is None


def _from_container(name: str, extensions: tuple[str, ...], limits: dict[str, object]) -> Iterator[Input]:
    """Yield the members of a container, those of a folder or container in a container, or a single member."""
    from keyframer.limits import Budget, limits_of

    budget = Budget(limits_of(limits))
    try:
        container, place, members, is_named = _members_of(name, budget.limits)
    except (FormatError, OSError) as error:
        yield BadInput(name, error)
        return
    is_empty = True
    items = _walked(container, place, members, budget)
    for item in items if is_named else _searched(items, extensions):
        is_empty = is_empty and isinstance(item, SkippedInput)
        yield item
    if is_empty:
        failure = _read_failure("no such member in the archive") if is_named else _no_files("archive", extensions)
        yield BadInput(name, failure)


def _members_of(name: str, limits: Limits) -> tuple[Container[Member], str, list[Member], bool]:
    """Return the container that a name leads to, its name, the members that are meant, and whether they are named:
    members of a container or folder are searched for files with known extensions."""
    from keyframer.files.members import place_of

    place = place_of(name, limits)
    if place is not None and place.path:
        member = place.file
        if member is None:
            below = safe_parts(place.path)
            inside = [found for found in place.container.members if safe_parts(found.filename)[: len(below)] == below]
            return place.container, place.name, inside, not inside
        if not _stands_for_members(place.container.beginning(member), name):
            named = [found for found in place.container.named(place.path) if not found.is_dir()]
            return place.container, place.name, named or [member], True
        place = None
    if place is None:
        place = place_of(member_name(name, ""), limits)
        assert place is not None
    return place.container, place.name, list(place.container.members), False


def _walked(
    container: Container[Member], place: str, members: list[Member], budget: Budget, folder: str = ""
) -> Iterator[Input]:
    """Yield files as inputs, sorted by name; ``place`` is the name of the container, ``folder`` its path below the
    outermost one."""
    seen: dict[str, int] = {}
    for path, error in container.damage:
        yield BadInput(member_name(place, path), error)
    for member in members if container.is_sequential else sorted(members, key=lambda member: member.filename):
        name = member.filename
        if name == "":
            yield BadInput(member_name(place, name), _read_failure("a member of the archive has no name"))
        elif not member.is_dir():
            item = MemberInput(container, member, place, seen.get(name, 0), folder)
            item.budget = budget
            seen[name] = item.occurrence + 1
            yield item


def _searched(items: Iterator[Input], extensions: tuple[str, ...]) -> Iterator[Input]:
    """Yield the inputs with one of the extensions, and those in containers."""
    for item in items:
        name = item.name.lower()
        if isinstance(item, MemberInput) and name.endswith(CONTAINER_EXTENSIONS):
            try:
                inside = item.members()
            except (FormatError, OSError) as error:
                yield BadInput(item.name, error, item.relative)
                continue
            if inside is not None:
                yield from _searched(inside, extensions)
                continue
        if extensions and not name.endswith(extensions) and not isinstance(item, BadInput):
            continue
        yield SkippedInput(item.name) if extensions and _is_apple_double(item) else item


def _no_files(kind: str, extensions: tuple[str, ...]) -> FormatError:
    if not extensions:
        return _read_failure(f"the {kind} has no files")
    listed = ", ".join(dict.fromkeys(extensions))
    return _read_failure(f"the {kind} has no file with a known extension ({listed}); --all-files takes every file")


def _read_failure(reason: str) -> FormatError:
    return FormatError("IO_READ_FAILED", 0, "/", reason)
