"""The registry of formats, and detection: which format a file has.

To add a format, add one folder and one line in `BUILT_IN`, or install a package that declares the entry point group
``keyframer.formats``. All other code iterates over `FORMATS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keyframer.errors import FormatError, wrong_type
from keyframer.formats import ase, b3d, hale3d, horde3d, md5, midtown, nodeanim, threeds, uto3d, vue
from keyframer.formats.contract import HEAD_SIZE, Format, Match
from keyframer.formats.foreign_files import NOT_READ, describe_foreign_file, is_text, stranger
from keyframer.plugins import call_plugin, load_plugins

BUILT_IN: tuple[Format, ...] = (
    threeds.FORMAT,
    uto3d.FORMAT,
    hale3d.FORMAT,
    midtown.FORMAT,
    nodeanim.FORMAT,
    ase.FORMAT,
    b3d.FORMAT,
    horde3d.FORMAT,
    md5.FORMAT,
    vue.FORMAT,
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


COMPANION_STEMS = tuple(stem for known in FORMATS for stem in known.companion_stems)
"""see `Format.companion_stems`"""

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
    stranger: str | None = None
    """the name of a well-known format that Keyframer does not read"""


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
        if known is None or not _all_lines_have_cr(head) or is_text(head) or _is_whole(read_all(), known):
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
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise wrong_type(data, "bytes")
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
        if (name_of_stranger := stranger(head)) is not None:
            return Detection(None, 0.0, f"{name_of_stranger}: {NOT_READ}", stranger=name_of_stranger)
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
