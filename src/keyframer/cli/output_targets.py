"""Where output goes: stdout, a file, a folder (the tree of the inputs is kept) or beside each input under a suffix.

Nothing is overwritten without ``-f``, inputs and what is no ordinary file not even with it; a file appears whole or not
at all.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from keyframer.cli.inputs import FileInput, Input
from keyframer.errors import FormatError
from keyframer.files import OutputExists, OutputRefused, check_output, sweep_once, write_bytes

STDOUT = "-"


def add_arguments(parser: argparse.ArgumentParser, *, required: bool, suffix: str) -> None:
    """``suffix``: one that the outputs may have, as an example."""
    output = parser.add_argument_group("output")
    beside = f"a suffix such as {suffix} (beside each input)"
    where = f"a file, a folder (the tree of the inputs is kept), {beside}, - for stdout"
    output.add_argument("-o", "--output", metavar="OUT", required=required, help=where)
    output.add_argument("-f", "--force", action="store_true", help="overwrite files that exist")


def says_kind(options: argparse.Namespace) -> bool:
    """Whether OUT is the name of a file or a suffix, whose ending says what is written, and not a folder or stdout."""
    out: str = options.output or ""
    many = options.recursive or options.files_from is not None or len(options.files) > 1
    if out in ("", STDOUT) or out.endswith(("/", os.sep)) or os.path.isdir(out):
        return False
    return not many or (out.startswith(".") and os.sep not in out)


class Targets:
    """Gives each input its output, and refuses to let two inputs have the same one."""

    def __init__(self, options: argparse.Namespace, many: bool, rename: Callable[[str], str]) -> None:
        self.out: str | None = None if options.output in (None, STDOUT) else options.output
        self.force: bool = options.force
        self._rename = rename
        self._taken: dict[str, str] = {}
        out = self.out or ""
        self.is_suffix = out.startswith(".") and os.sep not in out and out.strip(".") != "" and not os.path.exists(out)
        self.is_folder = (
            bool(out) and not self.is_suffix and (many or out.endswith(("/", os.sep)) or os.path.isdir(out))
        )

    def path_for(self, item: Input) -> str | None:
        """Where the output of this input goes; None for stdout. `FormatError` where nothing may be written there."""
        path = self.place_of(item)
        if path is None:
            return None
        key = os.path.normcase(os.path.abspath(path))
        if self._taken.setdefault(key, item.key) != item.key:
            raise FormatError("RUN_OUTPUT_COLLISION", 0, "/", f"{path} is already the output of {self._taken[key]}")
        check_file(path, force=self.force)
        return path

    def place_of(self, item: Input) -> str | None:
        """The path that an output of this input would have."""
        if self.out is None:
            return None
        if self.is_suffix:
            if not isinstance(item, FileInput):
                raise refused(f"a suffix such as {self.out} needs an input that is a file")
            return os.path.splitext(item.name)[0] + self.out
        if self.is_folder:
            folder, name = os.path.split(item.relative)
            return os.path.join(self.out, folder, self._rename(name))
        return self.out

    def write(self, path: str, parts: bytes | Iterable[bytes]) -> None:
        """The file, whole or not at all; raises `FormatError` where that is refused."""
        if self.is_folder:
            with refusing(path):
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        write_file(path, parts, force=self.force)


def write_text(path: str | None, text: str, *, force: bool) -> None:
    """Write an output that is text, to stdout where it has no name or ``-``."""
    if path in (None, STDOUT):
        sys.stdout.write(text)
    else:
        write_file(path, text.encode(), force=force)


def write_file(path: str, parts: bytes | Iterable[bytes], *, force: bool) -> None:
    """Write an output; raises `FormatError` where that is refused."""
    with refusing(path):
        write_bytes(path, parts, overwrite=force)


def check_file(path: str, *, force: bool) -> None:
    """Finish what a killed run began in the folder of an output, and refuse the output now if it will be refused."""
    with refusing(path):
        sweep_once(os.path.dirname(path))
        check_output(path, overwrite=force)


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """What is said against an output becomes a `FormatError` that names it."""
    if not path:
        raise refused("an output needs a name")
    try:
        yield
    except OutputExists as error:
        raise refused(f"{error.target} exists (-f overwrites it)") from None
    except OutputRefused as error:
        raise refused(str(error)) from None
    except OSError as error:
        raise refused(f"{path} cannot be written: {error.strerror or error}") from None


def refused(reason: str) -> FormatError:
    return FormatError("RUN_OUTPUT_REFUSED", 0, "/", reason)
