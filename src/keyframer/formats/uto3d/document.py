"""Decode, encode and make documents of U3D (UTO!) scenes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from keyframer.arrays import Array, Flags
from keyframer.catalogue import IO_UNRECOGNISED
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document, drop_damage
from keyframer.formats.uto3d import FORMAT
from keyframer.formats.uto3d.records import (
    NOTHING,
    SKINNED,
    Aimed,
    Controller,
    Mesh,
    MeshWithUvFaces,
    NoController,
    Placed,
)
from keyframer.formats.uto3d.section_reader import Reader
from keyframer.formats.uto3d.sections import (
    LIGHTS,
    SECTIONS,
    SIGNATURE,
    TAG_SIZE,
    ControllerSection,
    Dialect,
    FileHeader,
    LightLayout,
    LightSection,
    Main,
    MeshSection,
    RawRest,
    Section,
    dialect_of,
    section_of,
)
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import bytes_to_ascii, counted
from keyframer.wire.cursor import frozen
from keyframer.wire.record import Record, write_fields
from keyframer.wire.sink import Sink
from keyframer.wire.structure import TRAILING, Cases, Next, Part, Structure, ToEnd, Until, structure_of

__all__ = ["Dialect", "LightLayout", "decode", "encode", "new_document"]

TICKS_PER_SECOND = 4800
_HEADER_SIZE = 6


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a U3D (UTO!) scene. Raises `FormatError` if the data is not one or exceeds a limit."""
    return _read(data, limits, resumes=False)


def _read(data: bytes, limits: Limits, *, resumes: bool) -> Document:
    if not data.startswith(SIGNATURE):
        shown = bytes_to_ascii(data[: len(SIGNATURE)])
        raise IO_UNRECOGNISED.failure(0, "/", reason=f"a U3D (UTO!) file begins with UTO!, not '{shown}'")
    if len(data) < _HEADER_SIZE:
        raise IO_UNRECOGNISED.failure(0, "/", reason=f"too short for a U3D (UTO!) scene ({counted(len(data), 'byte')})")
    document = Document(FORMAT, limits=limits)
    Reader(data, limits, document, resumes=resumes).read()
    return document


def recover(data: bytes, limits: Limits) -> Document:
    """Return the whole records of a damaged scene: in each section those before the first damaged one."""
    document = _read(data, limits, resumes=True)
    drop_damage(document)
    main = document.first(Main)
    if main is not None:
        sections = {type(section): section for section in document.find(Section)}
        for kind in SECTIONS:
            if kind in sections:
                sections[kind].claimed = None
            elif not kind.may_have_more:
                setattr(main, kind.count_field, 0)
    return document


def mend(record: Record, parent: Record | None, field: str) -> bool:
    """Leave out the parent of a record, faces of a mesh, its skin if bones are missing, or links of a face to texture
    coordinates or colours that do not exist: such a face has the first ones, as in scenes."""
    if isinstance(record, Placed | Aimed) and field == "parent_id":
        record.parent_id = -1
    elif isinstance(record, Mesh) and field in ("vertex_bones", "bone_ids"):
        record.flags &= ~SKINNED
    elif isinstance(record, Mesh) and field in ("uv_faces", "colour_faces"):
        corners = getattr(record, field)
        kept = _exist(corners, len(record.uvs if field == "uv_faces" else record.colours))
        setattr(record, field, frozen(np.where(kept[:, None], corners, 0).astype(corners.dtype)))
    elif isinstance(record, Mesh) and field == "faces":
        kept = _exist(record.faces, len(record.vertices))
        for plan in record.plan.fields:
            if plan.kind.counted_by == "face_count" and (plan.when is None or plan.when(record)):
                setattr(record, plan.name, frozen(getattr(record, plan.name)[kept]))
    else:
        return False
    return True


def _exist(corners: Array, count: int) -> Flags:
    """Return which faces have only corners that exist."""
    return np.asarray(((corners >= 0) & (corners < count)).all(axis=1))


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


def structure(dialect: Dialect) -> Structure:
    """Return the structure of a scene without sampled controllers, which nothing in a file identifies.

    A section whose number of records may differ from MAIN ends before the next tag.
    """
    layouts: dict[type[Section], type[Record]] = {section: section.layouts[0] for section in SECTIONS}
    layouts[LightSection] = LIGHTS[dialect.lights or LightLayout.MAXSCRIPT]
    layouts[MeshSection] = MeshWithUvFaces if dialect.uv_faces else Mesh
    tags = [section.TAG.decode("ascii") for section in SECTIONS]
    sections: dict[int | str, Structure] = {}
    for number, (tag, section) in enumerate(zip(tags, SECTIONS, strict=True)):
        records = Part("records", structure_of(layouts[section]), count=f"parent.parent.main.{section.count_field}")
        if section is ControllerSection:
            controllers = Cases(Next(1), {NOTHING: structure_of(NoController)}, structure_of(Controller))
            records = replace(records, type=controllers)
        elif section.may_have_fewer:
            records = replace(records, count=Until(tuple(tags[number + 1 :])))
        sections[tag] = structure_of(section).extended(records)
    body = Part("body", Cases("tag", sections))
    any_section = Structure("section", (Part("tag", "text", "name of the section", size=str(TAG_SIZE)), body))
    parts = (
        Part("signature", "text", size=str(len(SIGNATURE)), contents=SIGNATURE),
        Part("header", structure_of(FileHeader)),
        Part("main_tag", "text", size=str(TAG_SIZE), contents=Main.TAG),
        Part("main", structure_of(Main)),
        Part("sections", any_section, "in the order of the cases; any may be missing", count=ToEnd(TAG_SIZE)),
        TRAILING,
    )
    return Structure("uto3d", parts, FORMAT.title)


CODEC = Codec(
    decode,
    encode,
    (FileHeader, Main, *SECTIONS, *_LAYOUTS, RawRest),
    Dialect,
    recover,
    mend=mend,
    structure=structure,
    described=(
        Dialect(LightLayout.MAXSCRIPT, False),
        Dialect(LightLayout.FLEXPORTER, True),
        Dialect(LightLayout.LITERAL, True),
    ),
)
