"""The files of a batch: inputs as in other commands, and URLs, each with its path below the output folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase

from keyframer.batch import InputFile, storage
from keyframer.batch.output_names import safe_relative
from keyframer.batch.storage import is_url
from keyframer.cli import inputs
from keyframer.cli.inputs import MEMBER, STDIN, BadInput, FileInput, Input, MemberInput, WalkedFile, inputs_of
from keyframer.cli.messages import as_format_error
from keyframer.cli.operation_options import input_extensions
from keyframer.errors import FormatError

_GLOB = "*?["


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = inputs.add_arguments(
        parser,
        "IN",
        "a folder, a file, a glob in quotes, a zip archive, ARCHIVE!/MEMBER, or a URL such as s3://bucket/models",
        "accepted for compatibility; batch always recurses",
    )
    for option, verb in (("--include", "take only"), ("--exclude", "leave out")):
        group.add_argument(
            option,
            action="append",
            default=[],
            metavar="GLOB",
            help=f"{verb} files whose name matches; if GLOB has a /, whose path below IN matches (may be repeated)",
        )


def find_files(options: argparse.Namespace) -> Iterator[InputFile]:
    """Yield all files with their stamps; those that cannot be read have an error."""
    if STDIN in options.files:
        options.parser.error("stdin cannot be an input of a batch: give the name of a file")
    for item, relative in _inputs_with_paths(options):
        if isinstance(item, WalkedFile):
            # a folder that cannot be listed; --include and --exclude apply only to files
            is_failed_folder = item.status is None and item.error is not None
            if is_failed_folder or _chosen(relative, options):
                yield InputFile(os.path.abspath(item.name), relative, storage.stamp_of(item.status), error=item.error)
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

    Files of a folder keep their path below it, files of a glob their path below the folder before its first wildcard,
    and members of an archive their path in the archive, below the name of the archive. Files named one by one keep
    their path below their common folder.
    """
    named: list[Input] = []
    for folder, items in _groups(options):
        for item in items:
            if isinstance(item, WalkedFile) and item.folder == folder:
                yield item, item.relative
            elif isinstance(item, MemberInput):
                archive = item.name.partition(MEMBER)[0]
                yield item, safe_relative(f"{os.path.basename(archive)}/{item.relative}")
            elif not isinstance(item, FileInput) or is_url(item.name):
                yield item, item.relative
            elif folder is not None:
                yield item, _output_path(os.path.relpath(item.name, folder))
            elif item.relative != os.path.basename(item.name) or os.path.dirname(item.relative):
                yield item, _output_path(item.relative)
            else:
                named.append(item)
    paths = [os.path.abspath(item.name) for item in named]
    try:
        common = os.path.commonpath([os.path.dirname(path) for path in paths]) if paths else ""
    except ValueError:  # on several drives
        common = ""
    for item, path in zip(named, paths, strict=True):
        yield item, _output_path(os.path.relpath(path, common) if common else os.path.basename(path))


def _groups(options: argparse.Namespace) -> Iterator[tuple[str | None, Iterator[Input]]]:
    """Yield the inputs of each argument with the folder that their paths are relative to, or None."""
    extensions = input_extensions(options.operation, getattr(options, "to", None))
    options.skipped = 0

    def expanded(names: list[str], files_from: str | None = None) -> Iterator[Input]:
        group_options = argparse.Namespace(
            files=names, recursive=True, all_files=options.all_files, files_from=files_from
        )
        yield from inputs_of(group_options, extensions)
        options.skipped += group_options.skipped

    for name in options.files:
        folder = None
        if not is_url(name) and "\0" not in name:
            if os.path.isdir(name):
                folder = name
            elif any(mark in name for mark in _GLOB) and not os.path.lexists(name):
                folder = os.path.dirname(name[: min(name.index(mark) for mark in _GLOB if mark in name)]) or "."
        yield folder, expanded([name])
    if options.files_from is not None:
        yield None, expanded([], options.files_from)


def _output_path(relative: str) -> str:
    """Return a relative path with slashes, without ``.`` and ``..``; ``file`` if nothing is left."""
    parts = [part for part in relative.split(os.sep) if part not in ("", ".", "..")]
    return "/".join(parts) or "file"


def _from_store(url: str, options: argparse.Namespace) -> Iterator[InputFile]:
    """Yield the files at a URL; if it cannot be listed or has no files, an input with an error."""
    extensions = input_extensions(options.operation, getattr(options, "to", None))
    is_empty = True
    try:
        for name, below, stamp in storage.list_urls(url):
            is_named_directly = name.rstrip("/").endswith(url.partition("://")[2].strip("/"))
            if options.all_files or is_named_directly or name.lower().endswith(extensions):
                is_empty = False
                yield InputFile(name, safe_relative(below), stamp)
    except (OSError, FormatError) as error:
        yield InputFile(url, "url", error=as_format_error(error))
        return
    if is_empty:
        message = "no files" if options.all_files else "no files with a known extension"
        yield InputFile(url, "url", error=FormatError("IO_READ_FAILED", 0, "/", message))
