"""Splits file names found in files into the parts of a path below a folder, or refuses them with a reason.

Names come from DOS, Windows and Unix alike, so both slashes separate parts. A name that is unsafe on any system is
refused on all: a file must be read the same way on every machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from keyframer.catalogue import (
    SEC_PATH_ABSOLUTE,
    SEC_PATH_RESERVED,
    SEC_PATH_TRAVERSAL,
    SEC_PATH_UNC,
    SEC_PATH_URL,
)
from keyframer.issues import IssueType
from keyframer.text import safe_text

MOST_PART_BYTES = 255
"""maximum number of bytes (UTF-8) of one part of a path: the limit of most Unix file systems"""
MOST_PARTS = 32
"""maximum number of parts of a path"""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:[/\\]?[/\\]|(?:data|file|javascript|mailto|vbscript|blob):", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICES = {"con", "prn", "aux", "nul", "clock$", "conin$", "conout$"} | {
    f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"
}


@dataclass(frozen=True, slots=True)
class SplitName:
    """A file name, split into the parts of its path; without parts nothing is searched for."""

    parts: tuple[str, ...]
    refusal: IssueType | None = None
    """why the path in the name is not followed; ``parts`` then has only the last part of the path, or none"""


def split_name(text: str) -> SplitName:
    """Split a name into the parts of its path.

    A URL, or a name that is unsafe on some system, gets no parts. A path that leaves its folder gets only its last
    part, which may be searched for *in* the given folders: real files contain paths of their authors
    (``C:\\MAPS\\WOOD.TGA``).
    """
    if "\0" in text or any(safe_text(character) != character for character in text):
        return SplitName((), SEC_PATH_RESERVED)
    if _URL.match(text):
        return SplitName((), SEC_PATH_URL)
    slashed = text.replace("\\", "/")
    refusal: IssueType | None = None
    if slashed.startswith("//"):
        refusal = SEC_PATH_UNC
    elif _DRIVE.match(slashed):
        refusal, slashed = SEC_PATH_ABSOLUTE, slashed[2:]
    elif slashed.startswith(("/", "~")):
        refusal = SEC_PATH_ABSOLUTE
    parts = [part for part in slashed.split("/") if part not in ("", ".")]
    if ".." in parts:
        refusal = refusal or SEC_PATH_TRAVERSAL
    if not parts or slashed.endswith("/") or parts[-1] == "..":
        return SplitName((), refusal)
    if any(_is_reserved(part) for part in (parts[-1:] if refusal else parts)) or len(parts) > MOST_PARTS:
        return SplitName((), SEC_PATH_RESERVED)
    return SplitName(tuple(parts[-1:] if refusal else parts), refusal)


def _is_reserved(part: str) -> bool:
    """Return whether a part of a path is a device, an alternate data stream, too long, or ends with a character that
    Windows removes."""
    stem = part.split(".")[0].rstrip(" ").casefold()
    return (
        stem in _DEVICES
        or ":" in part
        or part.endswith((" ", "."))
        or len(part.encode("utf-8", "replace")) > MOST_PART_BYTES
    )
