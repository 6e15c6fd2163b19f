"""The registry of formats, and detection: which format a file has.

To add a format, add one folder and one line in `BUILT_IN`, or install a package that declares the entry point group
``keyframer.formats``. All other code iterates over `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keyframer.errors import FormatError
from keyframer.formats import ase, hale3d, midtown, nodeanim, threeds, uto3d
from keyframer.formats.contract import HEAD_SIZE, Format, Match
from keyframer.plugins import call_plugin, load_plugins

BUILT_IN: tuple[Format, ...] = (
    threeds.FORMAT,
    uto3d.FORMAT,
    hale3d.FORMAT,
    midtown.FORMAT,
    nodeanim.FORMAT,
    ase.FORMAT,
)
FORMATS: tuple[Format, ...] = (
    *BUILT_IN,
    *load_plugins("keyframer.formats", Format, {known.name for known in BUILT_IN}),
)
"""all formats; those of other packages come last"""
COMPANION_ENDINGS = tuple(
    dict.fromkeys(
        ending
        for known in FORMATS
        if known.companions
        for ending in (*known.extensions, *(companion.extension for companion in known.companions))
    )
)
"""extensions of formats with companions and of these companions: files of one stem in a folder belong together"""


UNKNOWN = "not a file of a known format"
SURE = 0.9
"""a match with at least this score is accepted without asking the remaining formats"""


class Detection(NamedTuple):
    """Result of detection: the format (None if no format matches), a score from 0 to 1, and the reason."""

    format: Format | None
    score: float
    reason: str
    version: str | None = None
    dialect: str | None = None


def supported_formats() -> tuple[Format, ...]:
    """Return all formats: the built-in ones, then those of other packages."""
    return FORMATS


def format_by_name(name: str) -> Format:
    """Return the format with this id; raises ValueError with the known ids if there is none."""
    for known in FORMATS:
        if known.name == name:
            return known
    raise ValueError(f"unknown format {name!r} (known: {', '.join(known.name for known in FORMATS)})")


def text_mode_damage(detection: Detection, head: bytes, read_all: Callable[[], bytes]) -> str | None:
    """Describe what a transfer in text mode did to a file; None if no sign of it was found.

    ``read_all()`` returns all bytes of the file and is called only if the ``head`` is suspicious.
    """
    if detection.score >= 1:  # only whole records can prove it; in a text CR LF is usual
        known = detection.format
        if known is None or not _all_lines_have_cr(head) or _is_text(head) or _is_whole(read_all(), known):
            return None
        return _added_by_text_mode(read_all(), known)
    diagnose = None if detection.format is None else detection.format.diagnose
    if diagnose is None and not _all_lines_have_cr(head):
        return None
    added = _added_by_text_mode(read_all(), None)
    return diagnose(read_all()) if added is None and diagnose is not None else added


def _all_lines_have_cr(data: bytes) -> bool:
    return 0 < data.count(b"\n") == data.count(b"\r\n")


def before_text_mode(data: bytes, format: Format | None) -> tuple[bytes, Format] | None:
    """Return a damaged file as it was before a transfer in text mode put a CR before every LF, or control-Z at its end,
    and its format; None if nothing proves it.

    The proof is that detection becomes certain or, if the ``format`` is known, that all records are whole.
    """
    plain = data.rstrip(b"\x1a")
    for original in (plain, plain.replace(b"\r\n", b"\n") if _all_lines_have_cr(plain) else data):
        if original != data:
            detection = detect(original)
            known = format or detection.format
            certain = detection.format is known and detection.score >= 1 > detect(data).score
            if known is not None and (certain or (format is not None and _is_whole(original, format))):
                return original, known
    return None


def _is_whole(data: bytes, format: Format) -> bool:
    """Return whether all bytes of a file belong to records that can be read."""
    from keyframer.formats.document import is_whole
    from keyframer.limits import DEFAULT_LIMITS

    try:
        return is_whole(format.decode(data, DEFAULT_LIMITS))
    except FormatError:
        return False


def _added_by_text_mode(data: bytes, format: Format | None) -> str | None:
    """Return a message if a file is valid without what a transfer in text mode added."""
    original = before_text_mode(data, format)
    if original is None:
        return None
    extra, title = len(data) - len(original[0]), original[1].title
    if data.startswith(original[0]):
        added = "control-Z at its end"
    else:
        added = "CR before each LF"
    return f"damaged by a transfer in text mode: without the {added} ({extra} in all) it is a {title} file"


_UNKNOWN_FORMAT = Format()
"""default properties, for files of unknown format"""


def properties_of(name: str | None) -> Format:
    """Return the format with this id, for its properties; one with default properties if the id is None or unknown."""
    return next((known for known in FORMATS if known.name == name), _UNKNOWN_FORMAT)


def detect(data: bytes, *, size: int | None = None, name: str = "") -> Detection:
    """Detect the format of a file from its content.

    ``data`` may be only the head of the file (the first 4096 bytes) if ``size`` is the size of the file. The extension
    of ``name`` only breaks ties.
    """
    head = bytes(data[:HEAD_SIZE])
    size = len(data) if size is None else size
    if not head or size == 0:  # a member of an archive may claim more bytes than it has
        return Detection(None, 0.0, "an empty file (0 bytes)")
    matches: list[tuple[float, bool, Format, Match]] = []
    for candidate in FORMATS:
        match = match_format(candidate, head, size)
        if match is not None:
            if match.score >= SURE and not matches:  # the usual case
                return Detection(candidate, *match)
            extension = os.path.splitext(name)[1].lower()
            matches.append((match.score, extension in candidate.extensions, candidate, match))
            if match.score >= SURE:  # formats without a signature take longer and need not be tried
                break
    if not matches:
        related = (call_plugin(known, known.describe_related_file, head, size) for known in FORMATS)
        description = next(filter(None, related), None) or describe_foreign_file(head)
        return Detection(None, 0.0, f"this is {description}" if description else UNKNOWN)
    _, _, best, match = max(matches, key=lambda entry: entry[:2])
    return Detection(best, *match)


def match_format(candidate: Format, head: bytes, size: int) -> Match | None:
    """Return the match of a format for the head of a file; None if it does not match or is a plugin that fails."""
    return call_plugin(candidate, _sniff, candidate, head, size)


def _sniff(candidate: Format, head: bytes, size: int) -> Match | None:
    """Return the match of a format for the head of a file; raises ValueError for an invalid result."""
    match = candidate.sniff(head, size)
    if match is not None and not (isinstance(match, Match) and 0 <= match.score <= 1):
        raise ValueError("detection must return a Match with a score from 0 to 1")
    return match


def is_apple_double(head: bytes) -> bool:
    return head.startswith(b"\x00\x05\x16\x07")


def describe_foreign_file(head: bytes) -> str | None:
    """Describe a file that no format matches, in a few words; None if its type is unknown."""
    if is_apple_double(head):
        return "an AppleDouble file: resource data that a Mac left next to the real file (the same name without ._)"
    if head.startswith(b"version https://git-lfs.github.com/spec/"):
        return "a Git LFS pointer: the real file was never downloaded (git lfs pull fetches it)"
    if head[:4] in (b"MM\x00*", b"MM\x00+", b"II*\x00", b"II+\x00"):
        return "a TIFF image"
    for magic, description in _MAGICS:
        if head.startswith(magic):
            return description
    if _is_text(head):
        if head.lstrip()[:1] == b"{" and b'"asset"' in head:
            return "a glTF file, which has no document: it can be loaded, but not kept byte for byte"
        return "a text file"
    return None


_MAGICS = (
    (b"\x00\x05\x16\x00", "an AppleSingle file: a file of a Mac, packed together with its resource data"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"glTF", "a binary glTF file, which has no document: it can be loaded, but not kept byte for byte"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an OLE container, such as a .max file of 3ds Max"),
    (b"Kaydara FBX", "an FBX file"),
    (b"BLENDER", "a Blender file"),
)


def _is_text(head: bytes) -> bool:
    """Return whether the first 512 bytes are text: mostly ASCII, and no control characters except white space."""
    sample = head[:512]
    plain = sum(0x20 <= byte < 0x7F or byte in b"\t\r\n\f" for byte in sample)
    return plain > len(sample) / 2 and all(byte >= 0x20 or byte in b"\t\r\n\f" for byte in sample)


__all__: Sequence[str] = (
    "FORMATS",
    "Detection",
    "Format",
    "detect",
    "format_by_name",
    "match_format",
    "properties_of",
    "supported_formats",
)
