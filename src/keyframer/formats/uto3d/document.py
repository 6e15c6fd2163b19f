"""Decode, encode and make documents of U3D (UTO!) scenes."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from keyframer.catalogue import IO_UNRECOGNISED
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document
from keyframer.formats.uto3d import FORMAT
from keyframer.formats.uto3d.section_reader import Reader
from keyframer.formats.uto3d.sections import (
    SECTIONS,
    SIGNATURE,
    Dialect,
    FileHeader,
    LightLayout,
    Main,
    RawRest,
    Section,
    dialect_of,
    section_of,
)
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import bytes_to_ascii, counted
from keyframer.wire.record import Record, write_fields
from keyframer.wire.sink import Sink

__all__ = ["Dialect", "LightLayout", "decode", "encode", "new_document"]

TICKS_PER_SECOND = 4800
_HEADER_SIZE = 6


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a U3D (UTO!) scene. Raises `FormatError` if the data is not one or exceeds a limit."""
    if not data.startswith(SIGNATURE):
        shown = bytes_to_ascii(data[: len(SIGNATURE)])
        raise IO_UNRECOGNISED.failure(0, "/", reason=f"a U3D (UTO!) file begins with UTO!, not '{shown}'")
    if len(data) < _HEADER_SIZE:
        raise IO_UNRECOGNISED.failure(0, "/", reason=f"too short for a U3D (UTO!) scene ({counted(len(data), 'byte')})")
    document = Document(FORMAT, limits=limits)
    Reader(data, limits, document).read()
    return document


def encode(document: Document) -> bytes:
    """Return the bytes of a document: its records, then its trailing bytes.

    Raises ValueError if one file cannot contain these records.
    """
    dialect = dialect_of(document.find(Record))
    if isinstance(document.dialect, Dialect) and not document.dialect.agrees_with(dialect):
        raise ValueError(f"the dialect of the document is {document.dialect}, but its records have {dialect}")
    sink = Sink()
    for header in document.records:
        if not isinstance(header, FileHeader):
            raise ValueError(f"{header!r} cannot be at the top level of a U3D (UTO!) scene")
        sink.write(SIGNATURE)
        write_fields(header, sink)
        for part in _in_order(header):
            _write_part(part, header, sink)
    sink.write(document.trailing)
    return sink.getvalue()


def _in_order(header: FileHeader) -> Iterator[Record]:
    """Yield the children of the header; raises ValueError if they are not in the order of the format."""
    order: list[type[Record]] = [Main, *SECTIONS, RawRest]
    last = -1
    for part in header.children:
        place = order.index(type(part)) if type(part) in order else -1
        if place <= last or (last < 0 and not isinstance(part, Main | RawRest)):
            tags = ", ".join(tag.decode("ascii") for tag in (Main.TAG, *(kind.TAG for kind in SECTIONS)))
            raise ValueError(f"{part!r} is out of place: the header is followed by {tags}, in this order")
        last = place
        yield part


def _write_part(part: Record, header: FileHeader, sink: Sink) -> None:
    if isinstance(part, Main):
        sink.write(Main.TAG)
        write_fields(_with_counts(part, header), sink)
    elif isinstance(part, Section):
        sink.write(part.TAG)
        for child in part.children:
            if not isinstance(child, RawRest) and section_of(child) is not type(part):
                raise ValueError(f"{child!r} does not belong in {part.TAG.decode('ascii')}")
            write_fields(child, sink)
    else:
        write_fields(part, sink)


def _with_counts(main: Main, header: FileHeader) -> Main:
    """Return MAIN with the counts of its sections (see `Section.stored_count`).

    Counts of missing sections stay unchanged; sections that may have more records than MAIN declares are not counted.
    """
    counts = {
        part.count_field: part.stored_count
        for part in header.children
        if isinstance(part, Section) and not part.may_have_more
    }
    main_with_counts = copy.copy(main)
    for name, count in counts.items():
        setattr(main_with_counts, name, count)
    return main_with_counts


def new_document(
    *records: Record,
    first_frame: int = 0,
    last_frame: int = 100,
    frame_rate: int = 30,
    delta_time: int | None = None,
    global_scale: float = 1.0,
) -> Document:
    """Make a document: ``new_document(Mesh(name=b"Box", ...), Controller(...), last_frame=250)``.

    Records are put into their sections in the order given. All sections are written, as by the MAXScript exporter.
    ``delta_time`` is the number of ticks per frame, by default 4800 // ``frame_rate``.
    """
    main = Main(
        first_frame,
        last_frame,
        frame_rate,
        TICKS_PER_SECOND // max(frame_rate, 1) if delta_time is None else delta_time,
        global_scale,
    )
    sections = {kind: kind() for kind in SECTIONS}
    for record in records:
        section = section_of(record)
        if section is None:
            raise ValueError(f"{record!r} does not belong in a U3D (UTO!) scene")
        sections[section].children.append(record)
    header = FileHeader(children=[main, *sections.values()])
    main = _with_counts(main, header)
    header.children[0] = main
    return Document(FORMAT, [header], dialect=dialect_of(records))


_LAYOUTS = [layout for section in SECTIONS for layout in section.layouts]
CODEC = Codec(decode, encode, (FileHeader, Main, *SECTIONS, *_LAYOUTS, RawRest), Dialect)
