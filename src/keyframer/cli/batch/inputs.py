"""The files of a batch: inputs as in other commands, and URLs, each with its path below the output folder."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase

from keyframer.batch import InputFile, storage
from keyframer.batch.catalogue_run import Coverage
from keyframer.batch.file_catalogue import is_catalogue, path_text
from keyframer.batch.operation_table import ALL, CATALOGUE
from keyframer.batch.output_names import safe_relative
from keyframer.batch.storage import is_url
from keyframer.cli import inputs
from keyframer.cli.inputs import STDIN, BadInput, FileInput, Input, MemberInput, WalkedFile, inputs_of
from keyframer.cli.messages import as_format_error
from keyframer.errors import FormatError

_GLOB = "*?["


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = inputs.add_arguments(
        parser,
        "IN",
        "a folder, a file, a glob in quotes, an archive or disc image, ARCHIVE!/MEMBER, or a URL such as s3://bucket/models",
        always_recursive=True,
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
    """Yield all files with their stamps; those that cannot be read have an error. Files of other shards have neither:
    on the disks of clusters, asking for the size of a file takes longer than everything else here.
    """
    if STDIN in options.files:
        options.parser.error("stdin cannot be an input of a batch: give the name of a file")
    if options.shard is None or (len(options.files) == 1 and options.files_from is None):
        yield from _found(options)
        return
    seen: set[str] = set()  # of two paths that inputs give a file, the first decides its shard
    for file in _found(options):
        if file.key not in seen:
            seen.add(file.key)
            yield file


def _found(options: argparse.Namespace) -> Iterator[InputFile]:
    for item, relative in _inputs_with_paths(options):
        is_elsewhere = options.shard is not None and not options.shard.has(relative)
        if isinstance(item, WalkedFile):
            # --include and --exclude apply only to files
            if item.is_failed_folder or _chosen(relative, options):
                path = os.path.abspath(item.name)
                if is_elsewhere:
                    yield InputFile(path, relative)
                else:
                    yield InputFile(path, relative, storage.stamp_of(item.status), error=item.error)
            continue
        if storage.is_url(item.name):
            yield from (file for file in _from_store(item.name, options) if _chosen(file.relative, options))
        elif isinstance(item, BadInput):
            yield InputFile(os.path.abspath(item.name), safe_relative(item.relative), error=as_format_error(item.error))
        elif _chosen(relative, options):
            source = _absolute(item)
            stamp = "" if is_elsewhere else storage.local_stamp(source)
            yield InputFile(source, relative, stamp, getattr(item, "occurrence", 0))


def coverage_of(options: argparse.Namespace) -> Coverage:
    """Return where the inputs are searched. Inputs that are catalogues are to be merged."""
    coverage = Coverage()
    for name in options.files:
        if is_url(name):
            is_glob = any(mark in name for mark in _GLOB)
            coverage.places.append(_fixed_part(name).rpartition("/")[0] if is_glob else name.rstrip("/"))
        elif is_catalogue(name):
            coverage.merged.append(os.path.abspath(name))
        elif os.path.exists(name):
            coverage.places.append(path_text(os.path.abspath(name)))
        elif any(mark in name for mark in _GLOB):
            coverage.places.append(path_text(os.path.abspath(_searched_folder(name) or name)))
    return coverage


def _absolute(item: Input) -> str:
    """Return the absolute path of an input; the name of a member stays unchanged, including any ``..``."""
    if not isinstance(item, MemberInput):
        return os.path.abspath(item.name)
    return os.path.abspath(item.archive_name) + item.name.removeprefix(item.archive_name)


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
                yield item, safe_relative(f"{os.path.basename(item.archive_name)}/{item.relative}")
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
    extensions = _extensions(options)
    options.skipped = 0

    def expanded(names: list[str], files_from: str | None = None) -> Iterator[Input]:
        group_options = argparse.Namespace(
            files=names, recursive=True, all_files=options.all_files, files_from=files_from
        )
        yield from inputs_of(group_options, extensions)
        options.skipped += group_options.skipped

    for name in options.files:
        yield _searched_folder(name), expanded([name])
    if options.files_from is not None:
        yield None, expanded([], options.files_from)


def _extensions(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the extensions of files that are taken from folders and archives."""
    return inputs.loadable_except(ALL.get(options.operation, CATALOGUE).skipped_extensions(vars(options)))


def _searched_folder(name: str) -> str | None:
    """Return the folder that an input names, or that its glob searches; None for other inputs."""
    if is_url(name) or "\0" in name:
        return None
    if os.path.isdir(name):
        return name
    if any(mark in name for mark in _GLOB) and not os.path.lexists(name):
        return os.path.dirname(_fixed_part(name)) or "."
    return None


def _fixed_part(pattern: str) -> str:
    """Return what comes before the first wildcard of a glob."""
    return pattern[: min(pattern.index(mark) for mark in _GLOB if mark in pattern)]


def path_if_taken(source: str, options: argparse.Namespace) -> str | None:
    """Return the path below its folder of a file that would be an input if it existed; None if it would not."""
    extensions = () if options.all_files else _extensions(options)
    for name in options.files:
        folder = name.rstrip("/") if is_url(name) else os.path.abspath(name)
        beginning = folder if folder.endswith(os.sep) else f"{folder}/"
        if source.startswith(beginning) and (is_url(name) or os.path.isdir(name)):
            relative = source.removeprefix(beginning)
            if (not extensions or source.lower().endswith(extensions)) and _chosen(relative, options):
                return safe_relative(relative) if is_url(name) else _output_path(relative)
    return None


def overlap(options: argparse.Namespace, out: str) -> bool:
    """Return whether the output folder is inside one of the inputs, or an input inside the output folder."""
    for name in options.files:
        if is_url(name) != is_url(out):
            continue
        if is_url(out):
            first, second = name.rstrip("/") + "/", out.rstrip("/") + "/"
        else:
            folder = _searched_folder(name)
            first = os.path.join(os.path.realpath(name if folder is None else folder), "")
            second = os.path.join(os.path.realpath(out), "")
        if first.startswith(second) or second.startswith(first):
            return True
    return False


def _output_path(relative: str) -> str:
    """Return a relative path with slashes, without ``.`` and ``..``; ``file`` if nothing is left."""
    parts = [part for part in relative.split(os.sep) if part not in ("", ".", "..")]
    return "/".join(parts) or "file"


def _from_store(url: str, options: argparse.Namespace) -> Iterator[InputFile]:
    """Yield the files at a URL; if it cannot be listed or has no files, an input with an error."""
    extensions = _extensions(options)
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
