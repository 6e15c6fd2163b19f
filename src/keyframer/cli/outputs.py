"""Where a command writes: stdout, a file, a folder (outputs keep the subfolders of the inputs) or a suffix.

With a suffix, outputs are written next to their inputs.

Nothing is overwritten without ``-f``; inputs and special files are never overwritten. Files are written atomically.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from keyframer.batch.output_names import key_of
from keyframer.cli.each_input import EachInput
from keyframer.cli.inputs import LOADABLE, FileInput, Input, names_several_inputs
from keyframer.cli.messages import detail
from keyframer.errors import FormatError
from keyframer.exchange import EXPORTERS
from keyframer.files import OutputExists, OutputRefused, check_output, write_bytes
from keyframer.operations.thumbnail import PICTURE_KINDS
from keyframer.text import counted

STDOUT = "-"


def add_arguments(parser: argparse.ArgumentParser, *, required: bool, suffix: str) -> None:
    """Add the arguments for outputs; ``suffix`` is an example for the help text."""
    output = parser.add_argument_group("output")
    suffix_help = f"a suffix such as {suffix} (next to each input)"
    where = f"a file, a folder (outputs keep the subfolders of the inputs), {suffix_help}, - for stdout"
    output.add_argument("-o", "--output", metavar="OUT", required=required, help=where)
    output.add_argument("-f", "--force", action="store_true", help="overwrite existing files")


def has_output_extension(options: argparse.Namespace) -> bool:
    """Return whether OUT is a file or a suffix, whose extension decides what is written."""
    out: str = options.output or ""
    if out in ("", STDOUT) or out.endswith(("/", os.sep)) or os.path.isdir(out):
        return False
    return not names_several_inputs(options) or (out.startswith(".") and os.sep not in out)


_FILE_ENDINGS = frozenset(
    (
        *LOADABLE,
        *(ending for exporter in EXPORTERS for ending in exporter.extensions),
        *(f".{kind}" for kind in PICTURE_KINDS),
        *(".svg", ".json", ".csv", ".npz", ".html"),
    )
)


def refuse_file_as_folder(options: argparse.Namespace, reason: str) -> None:
    """End the command with a message if OUT, which must be a folder for this ``reason``, has the name of a file."""
    out: str = options.output or ""
    if os.path.splitext(out)[1].lower() in _FILE_ENDINGS and not os.path.isdir(out):
        options.parser.error(f"{out} is the name of a file, but {reason} ({out}/ makes a folder of this name)")


class Output:
    """OUT: the output of each input. Two inputs never have the same one, also if only some file systems treat the names
    as the same."""

    def __init__(self, options: argparse.Namespace, rename: Callable[[str], str], noun: str = "file") -> None:
        """``rename`` returns the name of an output for that of a file. Stdout takes one ``noun``; several if that is
        empty."""
        self.place: str | None = None if options.output in (None, STDOUT) else options.output
        self.force: bool = options.force
        many = names_several_inputs(options)
        self._rename = rename
        self._noun = noun
        self._taken: dict[str, str] = {}
        out = self.place or ""
        if many:
            ending = os.path.splitext(out)[1]
            refuse_file_as_folder(options, f"several inputs need a folder, or a suffix such as {ending}")
        self.is_suffix = out.startswith(".") and os.sep not in out and out.strip(".") != "" and not os.path.exists(out)
        self.is_folder = (
            bool(out) and not self.is_suffix and (many or out.endswith(("/", os.sep)) or os.path.isdir(out))
        )

    def path_for(self, item: Input) -> str | None:
        """Return the output path of an input, None for stdout; raises `FormatError` if it may not be written."""
        path = self.unchecked_path(item)
        if path is None:
            if self._taken.setdefault(STDOUT, item.key) != item.key and self._noun:
                raise refused(f"stdout takes only one {self._noun} (a folder or a suffix as OUT takes several)")
            return None
        key = key_of(os.path.abspath(path))
        if self._taken.setdefault(key, item.key) != item.key:
            raise FormatError("RUN_OUTPUT_COLLISION", 0, "/", f"{path} is already the output of {self._taken[key]}")
        check_file(path, force=self.force)
        return path

    def unchecked_path(self, item: Input) -> str | None:
        """Return the output path of an input, None for stdout, without checking whether it may be written."""
        if self.place is None:
            return None
        if self.is_suffix:
            if not isinstance(item, FileInput):
                raise refused(f"a suffix such as {self.place} needs an input that is a file")
            return os.path.splitext(item.name)[0] + self.place
        if self.is_folder:
            folder, name = os.path.split(item.relative)
            return os.path.join(self.place, folder, self._rename(name))
        return self.place

    def write(self, path: str, parts: bytes | Iterable[bytes]) -> None:
        """Write a file atomically; raises `FormatError` if it may not be written."""
        with output_errors(path):
            self.make_folder(path)
        write_file(path, parts, force=self.force)

    def make_folder(self, path: str) -> None:
        """Make the folder of an output; only OUT itself and folders below it are made."""
        if self.is_folder:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)


def write_each(
    options: argparse.Namespace, out: Output, each: EachInput, make: Callable[[Input], bytes | Iterable[str]]
) -> int:
    """Write what ``make`` returns for each input; returns the exit code."""
    for item in each:
        with each.guarded(item):
            path = out.path_for(item)
            content = make(item)
            if path is not None:
                out.write(path, content if isinstance(content, bytes) else (part.encode() for part in content))
                size = f" ({counted(len(content), 'byte')})" if isinstance(content, bytes) else ""
                detail(options, f"{item.name} -> {path}{size}")
            elif isinstance(content, bytes):
                sys.stdout.buffer.write(content)
            else:
                sys.stdout.writelines(content)
    return each.code


def write_text(path: str | None, text: str, *, force: bool) -> None:
    """Write text to a file, or to stdout if the path is None or ``-``."""
    if path in (None, STDOUT):
        sys.stdout.write(text)
    else:
        write_file(path, text.encode(), force=force)


def write_file(path: str, parts: bytes | Iterable[bytes], *, force: bool) -> None:
    """Write a file; raises `FormatError` if it may not be written."""
    with output_errors(path):
        write_bytes(path, parts, overwrite=force)


def check_file(path: str, *, force: bool) -> None:
    """Raise `FormatError` if an output may not be written."""
    with output_errors(path):
        check_output(path, overwrite=force)


@contextmanager
def output_errors(path: str) -> Iterator[None]:
    """Turn failures to write an output into a `FormatError` that names the output."""
    if not path:
        raise refused("the name of an output must not be empty")
    try:
        yield
    except OutputExists as error:
        raise refused(f"{error.target} exists (-f overwrites it)") from None
    except OutputRefused as error:
        raise refused(str(error)) from None
    except OSError as error:
        place = f": {error.filename}" if path.startswith(f"{error.filename}{os.sep}") else ""
        raise refused(f"{path} cannot be written: {error.strerror or error}{place}") from None


def refused(reason: str) -> FormatError:
    return FormatError("RUN_OUTPUT_REFUSED", 0, "/", reason)
