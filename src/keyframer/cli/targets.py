"""Where output goes: stdout, a file, a folder (the tree of the inputs is kept) or beside each input under a suffix.

Nothing is overwritten without ``-f``; a file appears whole or not at all.
"""

from __future__ import annotations

import os

from keyframer.cli.inputs import FileInput, Input
from keyframer.errors import FormatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

STDOUT = "-"


def add_arguments(parser: argparse.ArgumentParser, *, required: bool, suffix: str) -> None:
    """``suffix``: one that the outputs may have, as an example."""
    output = parser.add_argument_group("output")
    beside = f"a suffix such as {suffix} (beside each input)"
    where = f"a file, a folder (the tree of the inputs is kept), {beside}, - for stdout"
    output.add_argument("-o", "--output", metavar="OUT", required=required, help=where)
    output.add_argument("-f", "--force", action="store_true", help="overwrite files that exist")


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
        """Where the output of this input goes; None for stdout."""
        if self.out is None:
            return None
        if self.is_suffix:
            if not isinstance(item, FileInput):
                raise refused(f"a suffix such as {self.out} needs an input that is a file")
            path = os.path.splitext(item.name)[0] + self.out
        elif self.is_folder:
            folder, name = os.path.split(item.relative)
            path = os.path.join(self.out, folder, self._rename(name))
        else:
            path = self.out
        key = os.path.normcase(os.path.abspath(path))
        if self._taken.setdefault(key, item.key) != item.key:
            raise FormatError("RUN_OUTPUT_COLLISION", 0, "/", f"{path} is already the output of {self._taken[key]}")
        return path

    def write(self, path: str, parts: bytes | Iterable[bytes]) -> None:
        """The file, whole or not at all; raises `FormatError` where that is refused."""
        from keyframer.files import write_bytes

        try:
            if self.is_folder:
                os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            write_bytes(path, parts, overwrite=self.force)
        except FileExistsError:
            raise refused(f"{path} exists (-f overwrites it)") from None
        except OSError as error:
            raise refused(f"{path} cannot be written: {error.strerror or error}") from None


def refused(reason: str) -> FormatError:
    return FormatError("RUN_OUTPUT_REFUSED", 0, "/", reason)
