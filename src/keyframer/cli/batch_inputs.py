"""The files of a batch: the inputs of other commands and URLs, each with its path below the output folder."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import chain

from keyframer.batch import InputFile, storage
from keyframer.batch.output_names import safe_relative
from keyframer.batch.storage import is_url
from keyframer.cli.batch_options import wanted_endings
from keyframer.cli.inputs import MEMBER, STDIN, BadInput, FileInput, Input, MemberInput, inputs_of, is_apple_double_file
from keyframer.cli.messages import as_format_error
from keyframer.errors import FormatError

_GLOB = "*?["


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inputs = parser.add_argument_group("inputs")
    inputs.add_argument(
        "files",
        nargs="*",
        metavar="IN",
        help="a folder, a file, a glob in quotes, a zip archive, ARCHIVE!/MEMBER, or a URL such as s3://bucket/models",
    )
    inputs.add_argument(
        "-r", "--recursive", action="store_true", help="accepted for compatibility; batch always recurses"
    )
    inputs.add_argument(
        "--all-files", action="store_true", help="take every file, not only those with the extension of a known format"
    )
    inputs.add_argument(
        "--files-from", metavar="LIST", help="read names from a file, one per line (or separated by NUL); - for stdin"
    )
    for option, words in (("--include", "take only"), ("--exclude", "leave out")):
        inputs.add_argument(
            option,
            action="append",
            default=[],
            metavar="GLOB",
            help=f"{words} files whose name matches, or whose path below IN if GLOB has a / (may be repeated)",
        )


def find_files(options: argparse.Namespace) -> Iterator[InputFile]:
    """Yield all files with their stamps; those that cannot be read have an error."""
    if STDIN in options.files:
        options.parser.error("stdin cannot be an input of a batch: give the name of a file")
    for item, relative in _inputs_with_paths(options):
        if isinstance(item, _WalkedFile):
            if (
                item.status is None and item.error is not None
            ):  # an unreadable folder: --include and --exclude do not apply
                yield InputFile(item.name, relative, error=item.error)
            elif _chosen(relative, options):
                yield InputFile(item.name, relative, storage.stamp_of(item.status), error=item.error)
            continue
        if storage.is_url(item.name):
            yield from (file for file in _from_store(item.name, options) if _chosen(file.relative, options))
        elif isinstance(item, BadInput):
            yield InputFile(os.path.abspath(item.name), safe_relative(item.relative), error=as_format_error(item.error))
        elif _chosen(relative, options):
            source = _absolute(item)
            yield InputFile(source, relative, storage.local_stamp(source), getattr(item, "occurrence", 0))


def _absolute(item: Input) -> str:
    """Return the absolute path of an input; the name of a member stays unchanged, including any ``..``."""
    if not isinstance(item, MemberInput):
        return os.path.abspath(item.name)
    archive, mark, member = item.name.partition(MEMBER)
    return os.path.abspath(archive) + mark + member


def _chosen(relative: str, options: argparse.Namespace) -> bool:
    if options.include and not any(_matches(relative, pattern) for pattern in options.include):
        return False
    return not any(_matches(relative, pattern) for pattern in options.exclude)


def _matches(relative: str, pattern: str) -> bool:
    name = relative if "/" in pattern else relative.rpartition("/")[2]
    return fnmatchcase(name, pattern)


def _inputs_with_paths(options: argparse.Namespace) -> Iterator[tuple[Input, str]]:
    """Yield each input with its path below the output folder.

    Files of a folder or glob keep their path below it, members of an archive their path in the archive, below the name
    of the archive. Files named one by one keep their path below their common folder.
    """
    named: list[Input] = []
    for folder, items in _groups(options):
        for item in items:
            if isinstance(item, _WalkedFile):
                yield item, item.relative
            elif isinstance(item, MemberInput):
                place = item.name.partition(MEMBER)[0]
                yield item, safe_relative(f"{os.path.basename(place)}/{item.relative}")
            elif not isinstance(item, FileInput) or is_url(item.name):
                yield item, item.relative
            elif folder is not None:
                yield item, _with_slashes(os.path.relpath(item.name, folder))
            elif item.relative != os.path.basename(item.name) or os.path.dirname(item.relative):
                yield item, _with_slashes(item.relative)
            else:
                named.append(item)
    places = [os.path.abspath(item.name) for item in named]
    try:
        common = os.path.commonpath([os.path.dirname(place) for place in places]) if places else ""
    except ValueError:  # on several drives
        common = ""
    for item, place in zip(named, places, strict=True):
        yield item, _with_slashes(os.path.relpath(place, common) if common else os.path.basename(place))


def _groups(options: argparse.Namespace) -> Iterator[tuple[str | None, Iterator[Input]]]:
    """Yield the inputs of each argument with the folder that their paths are relative to, if it is known."""
    endings = wanted_endings(options)
    options.skipped = 0

    def expanded(names: list[str], listed: str | None = None) -> Iterator[Input]:
        inner = argparse.Namespace(files=names, recursive=True, all_files=options.all_files, files_from=listed)
        yield from inputs_of(inner, endings)
        options.skipped += inner.skipped

    for name in options.files:
        if not is_url(name) and "\0" not in name and os.path.isdir(name):
            files = _walk(os.path.abspath(name), () if options.all_files else endings, options)
            first = next(files, None)
            # `inputs_of` reports an empty folder as for other commands
            yield name, expanded([name]) if first is None else chain([first], files)
            continue
        if not is_url(name) and any(mark in name for mark in _GLOB) and not os.path.lexists(name):
            fixed = name[: min(name.index(mark) for mark in _GLOB if mark in name)]
            yield os.path.dirname(fixed) or ".", expanded([name])
        else:
            yield None, expanded([name])
    if options.files_from is not None:
        yield None, expanded([], options.files_from)


class _WalkedFile(Input):
    """A file of a folder, with its status from the walk or the reason why it cannot be read."""

    def __init__(self, path: str, relative: str, status: os.stat_result | None, reason: str | None = None) -> None:
        self.name = path
        self.relative = relative
        self.status = status
        self.error = None if reason is None else FormatError("IO_READ_FAILED", 0, "/", reason)


def _walk(folder: str, endings: tuple[str, ...], options: argparse.Namespace) -> Iterator[_WalkedFile]:
    """Yield the files of a folder and its subfolders, sorted by name; links to folders are not followed.
    AppleDouble files are counted in ``options.skipped``.

    Each folder is listed once and each file examined once, so that 100,000 files are walked quickly.
    """
    waiting = [("", folder)]
    while waiting:
        relative, place = waiting.pop()
        folders = []
        try:
            with os.scandir(place) as entries:
                sorted_entries = sorted(entries, key=_name_of)
        except OSError as error:
            yield _WalkedFile(
                place, relative.rstrip("/") or "folder", None, f"cannot list the folder: {error.strerror or error}"
            )
            continue
        for entry in sorted_entries:
            name = entry.name
            try:
                is_folder = entry.is_dir()
            except OSError:
                is_folder = False
            if is_folder:
                if not entry.is_symlink():
                    folders.append((f"{relative}{name}/", entry.path))
            elif endings and name.startswith("._") and is_apple_double_file(entry.path):
                options.skipped += name.lower().endswith(endings)
            elif not endings or name.lower().endswith(endings):
                try:
                    status = entry.stat()
                except OSError:
                    status = None
                is_special = status is not None and not stat.S_ISREG(status.st_mode)  # a pipe may never end
                yield _WalkedFile(entry.path, relative + name, status, "not a regular file" if is_special else None)
        waiting.extend(reversed(folders))


def _name_of(entry: os.DirEntry[str]) -> str:
    return entry.name


def _with_slashes(relative: str) -> str:
    parts = [part for part in relative.split(os.sep) if part not in ("", ".", "..")]
    return "/".join(parts) or "file"


def _from_store(url: str, options: argparse.Namespace) -> Iterator[InputFile]:
    extensions = wanted_endings(options)
    is_empty = True
    try:
        for name, below, stamp in storage.list_urls(url):
            alone = name.rstrip("/").endswith(url.partition("://")[2].strip("/"))
            if options.all_files or alone or name.lower().endswith(extensions):
                is_empty = False
                yield InputFile(name, safe_relative(below), stamp)
    except (OSError, FormatError) as error:
        yield InputFile(url, "url", error=as_format_error(error))
        return
    if is_empty:
        yield InputFile(
            url, "url", error=FormatError("IO_READ_FAILED", 0, "/", "no files with a known extension there")
        )
