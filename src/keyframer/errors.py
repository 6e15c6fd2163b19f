"""The only exception that reading bytes may raise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def reason_of(error: OSError, name: str | None = None) -> str:
    """Return why the system could not read a file, with its path if the error concerns another file than ``name``."""
    reason = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror or error}"
    path = str(error.filename or "")
    return reason if name is None or name.startswith(path) else f"{path}: {reason}"


def wrong_type(value: object, wanted: str) -> TypeError:
    """Return the error for an argument of another type: ``expected a path or bytes, not None``."""
    kind = type(value).__name__
    article = "an" if kind[0] in "aeiouAEIOU" else "a"
    return TypeError(f"expected {wanted}, not {'None' if value is None else f'{article} {kind}'}")


class FormatError(Exception):
    """A file that cannot be read or processed: an issue code, a place (``offset``, ``path``) and a ``message``.

    ``offset`` is the absolute byte offset in the file, 0 if the error concerns the whole file (see `known_offset`).
    ``details`` holds the values in the message under their names in the catalogue.
    """

    def __init__(
        self,
        code: str,
        offset: int = 0,
        path: str = "/",
        message: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(code, offset, path, message, details)  # so that it can be pickled between processes
        self.code = code
        self.offset = offset
        self.path = path
        self.message = message
        self.details: dict[str, object] = dict(details or {})

    def __str__(self) -> str:
        return f"{placed(self.code, self.offset, self.path)}: {self.message}"


_NOT_ABOUT_CONTENT = (
    "IO_MANIFEST_MISMATCH",
    "IO_READ_FAILED",
    "RUN_OUTPUT_COLLISION",
    "RUN_OUTPUT_REFUSED",
    "RUN_REFUSED",
)


def known_offset(code: str, offset: int, path: str) -> int | None:
    """Return the offset of a problem; None if it does not concern the content of a file, such as a missing file."""
    return None if code in _NOT_ABOUT_CONTENT and offset == 0 and path == "/" else offset


def placed(code: str, offset: int, path: str) -> str:
    """Return the code with its place: ``CODE at 0x.. in PATH``; only the code without a `known_offset`."""
    return code if known_offset(code, offset, path) is None else f"{code} at {offset:#x} in {path}"
