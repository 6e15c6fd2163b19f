"""The registry of formats: detect, decode, encode and write documents of any format.

To add a format, add one folder and one line in `BUILT_IN`, or install a package that declares the entry point group
``keyframer.formats``. All other code iterates over `FORMATS`.
"""

from __future__ import annotations

import os

from keyframer.formats import ase, hale3d, midtown, nodeanim, threeds, uto3d
from keyframer.formats.contract import HEAD_SIZE, Format, Match
from keyframer.plugins import call_plugin, load_plugins

TYPE_CHECKING = False  # detection must start fast: modules that only decoding needs are imported where they are used
if TYPE_CHECKING:
    from collections.abc import Sequence

    from keyframer.files import PathLike
    from keyframer.formats.document import Document
    from keyframer.limits import Limits

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
"""extensions of companion files: files of the same stem in one folder that belong together"""


SURE = 0.9
"""a match with at least this score is accepted without asking the remaining formats"""


class Detection:
    """Result of detection: the format (None if no reader matches), a score from 0 to 1, and the reason."""

    __slots__ = ("dialect", "format", "reason", "score", "version")

    def __init__(
        self,
        format: Format | None,
        score: float,
        reason: str,
        version: str | None = None,
        dialect: str | None = None,
    ) -> None:
        self.format = format
        self.score = score
        self.reason = reason
        self.version = version
        self.dialect = dialect

    def __repr__(self) -> str:
        return f"Detection({self.format!r}, {self.score!r}, {self.reason!r}, {self.version!r}, {self.dialect!r})"


def supported_formats() -> tuple[Format, ...]:
    """Return every format that can be read and written."""
    return FORMATS


def format_by_name(name: str) -> Format:
    """Return the format with this id. ValueError lists the known ids."""
    for known in FORMATS:
        if known.name == name:
            return known
    raise ValueError(f"unknown format {name!r} (known: {', '.join(known.name for known in FORMATS)})")


_ANY = Format()
"""properties of a file of unknown format"""


def properties_of(name: str | None) -> Format:
    """Return the format with this id, for its properties; a format with default properties if the id is unknown."""
    return next((known for known in FORMATS if known.name == name), _ANY)


def detect(data: bytes, *, size: int | None = None, name: str = "") -> Detection:
    """Detect the format of a file from its content.

    ``data`` may be only the head of the file (the first 4096 bytes) if ``size`` gives its full size. The extension of
    ``name`` only breaks ties.
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
                return Detection(candidate, match.score, match.reason, match.version, match.dialect)
            extension = os.path.splitext(name)[1].lower()
            matches.append((match.score, extension in candidate.extensions, candidate, match))
            if match.score >= SURE:  # formats without a signature take longer and need not be requested
                break
    if not matches:
        from keyframer.formats.foreign_files import describe_foreign_file

        relatives = (call_plugin(known, known.describe_related_file, head, size) for known in FORMATS)
        foreign = next(filter(None, relatives), None) or describe_foreign_file(head, size)
        known = ", ".join(known.title for known in FORMATS)
        return Detection(None, 0.0, f"this is {foreign}" if foreign else f"not a file of a known format ({known})")
    _, _, best, match = max(matches, key=lambda entry: entry[:2])
    return Detection(best, match.score, match.reason, match.version, match.dialect)


def match_format(candidate: Format, head: bytes, size: int) -> Match | None:
    """Return the match of a format for the head of a file; None if a format of another package raises an error."""
    return call_plugin(candidate, _sniff, candidate, head, size)


def _sniff(candidate: Format, head: bytes, size: int) -> Match | None:
    """Return the match of a format for the head of a file; raises ValueError if its score is not comparable."""
    match = candidate.sniff(head, size)
    if match is not None and not (isinstance(match, Match) and 0 <= match.score <= 1):
        raise ValueError("detection must return a Match with a score from 0 to 1")
    return match


def decode(data: bytes, *, format: str | None = None, limits: Limits | None = None) -> Document:
    """Decode bytes to a document. Raises only `FormatError`.

    ``format`` is the id of a format, for content that can be read as several (see `supported_formats`).
    """
    from keyframer.catalogue import IO_EMPTY, IO_UNRECOGNISED
    from keyframer.files import check_size
    from keyframer.limits import DEFAULT_LIMITS

    limits = limits or DEFAULT_LIMITS
    check_size(len(data), limits)
    if not isinstance(data, bytes):
        data = bytes(data)
    if not data:
        raise IO_EMPTY.failure(0, "/")
    if format is not None:
        return format_by_name(format).decode(data, limits)
    detection = detect(data)
    if detection.format is None:
        raise IO_UNRECOGNISED.failure(0, "/", reason=detection.reason)
    return detection.format.decode(data, limits)


def encode(document: Document) -> bytes:
    """Return the bytes of a document; ``encode(decode(data)) == data`` for all data that can be decoded."""
    return document.format.encode(document)


def write(document: Document, path: PathLike, *, overwrite: bool = False) -> None:
    """Write a document to a file. The file is complete or not written at all."""
    from keyframer.files import write_bytes

    write_bytes(path, encode(document), overwrite=overwrite)


__all__: Sequence[str] = (
    "FORMATS",
    "Detection",
    "Format",
    "decode",
    "detect",
    "encode",
    "format_by_name",
    "match_format",
    "properties_of",
    "supported_formats",
    "write",
)
