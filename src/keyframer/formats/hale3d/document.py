"""Decode, encode and make documents of Hale3D animations and models.

Reading loses no bytes: records are typed up to the first unreadable one; the rest of the file is one `RawRun`, because
records have no sizes and the next one cannot be found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from functools import cached_property
from typing import Any

import numpy.typing as npt

from keyframer.catalogue import (
    IO_UNRECOGNISED,
    STRUCT_NAME_SUSPECT,
)
from keyframer.errors import FormatError
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document, RawRun, RecordReader
from keyframer.formats.hale3d import ANIMATION_ID, FORMAT, MODEL_ID, VERSION
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, Animation, Dialect, Frames, Joint, Mesh, Model, ModelJoint
from keyframer.formats.kit.joint_pairs.mending import mend
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import bytes_to_ascii
from keyframer.wire.cursor import Cursor
from keyframer.wire.encoding_style import Style
from keyframer.wire.record import Record, blank, read_fields, write_fields
from keyframer.wire.rows import as_rows
from keyframer.wire.sink import Sink
from keyframer.wire.structure import TRAILING, Cases, Next, Part, Structure, structure_of

_NOT_PRINTABLE = re.compile(rb"[^\x20-\x7e]")


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a Hale3D animation or model. Raises `FormatError` if the data is neither or exceeds a limit.

    The file is read in one dialect after the other until it ends with its last record and all its text is printable.
    If it does in none, a dialect in which all joints and meshes are whole and plausible is preferred to one in which
    only the end fits, then the one with the most such records.
    """
    if data[:4] not in (ANIMATION_ID, MODEL_ID):
        raise IO_UNRECOGNISED.failure(0, "/", reason=_reason_to_refuse(data[:4]))
    readings: list[_Reading] = []
    for dialect in Dialect:
        readings.append(_Reading(data, limits, dialect))
        if readings[-1].fits and readings[-1].suspicious is None:
            return readings[-1].document
    for reading in readings:
        if reading.limit is not None:
            raise reading.limit
    return max(readings, key=_Reading.rank).document


def recover(data: bytes, limits: Limits) -> Document:
    """Return the whole records of a damaged file, and all whole frames if every joint before them is whole."""
    document = decode(data, limits)
    assert isinstance(document.dialect, Dialect)
    unsafe = document.issues.first_unsafe() is not None
    return _WholeRecords(data, limits, document.dialect).document if unsafe else document


class _WholeRecords(RecordReader):
    """The whole records of a damaged file in one dialect: those before the first that is unreadable or has no printable
    text."""

    def __init__(self, data: bytes, limits: Limits, dialect: Dialect) -> None:
        super().__init__(Document(FORMAT, dialect=dialect, limits=limits), Cursor(data, limits=limits), dialect.style)
        self.claimed = self.plausible = 0
        """number of joints and meshes according to the header, and of those that are whole, with printable text and
        a parent that exists
        """
        try:
            top = self.read(Animation) if data[:4] == ANIMATION_ID else self.read(Model)
            self.open(top)
            self.claimed = top.joint_count + (top.mesh_count if isinstance(top, Model) else 0)
            if isinstance(top, Model):
                self._read_most(Mesh, top.mesh_count)
                self._read_most(ModelJoint, top.joint_count)
                return
            self._read_most(Joint, top.joint_count)
            width = BOUNDS_FLOATS + top.component_count
            frames = blank(Frames, self.cursor.pos)
            frames.row_shape = (min(top.frame_count, self.cursor.left // (4 * width)), width)
            read_fields(frames, self.cursor)
            self.siblings.append(frames)
        except FormatError:
            pass

    def _read_most(self, kind: type[Joint] | type[Mesh] | type[ModelJoint], count: int) -> None:
        """Read up to ``count`` records; raises `FormatError` if there are fewer."""
        for index in range(count):
            record: Any = self.read(kind, index)
            if _NOT_PRINTABLE.search(_text(record)):
                self.siblings.pop()
                raise STRUCT_NAME_SUSPECT.failure(self.start, "/", size=0)
            self.plausible += isinstance(record, Mesh) or -1 <= record.parent < count


def _reason_to_refuse(start: bytes) -> str:
    signatures = f"{ANIMATION_ID.decode()} or {MODEL_ID.decode()}"
    if start[::-1] in (ANIMATION_ID, MODEL_ID):
        return f"a Hale3D file is little endian: this one begins with {start.decode()}, not {signatures}"
    return f"a Hale3D file begins with {signatures}, not with {bytes_to_ascii(start)}"


class _Reading(RecordReader):
    """A file as read in one dialect."""

    def __init__(self, data: bytes, limits: Limits, dialect: Dialect) -> None:
        super().__init__(Document(FORMAT, dialect=dialect, limits=limits), Cursor(data, limits=limits), dialect.style)
        self.fits = False
        """whether the file ends with its last record"""
        self.limit: FormatError | None = None
        """the failure if the file exceeds a limit"""
        try:
            with self:
                self._read_animation() if data[:4] == ANIMATION_ID else self._read_model()
                self.fits = not self.cursor.left
        except FormatError as error:
            self.limit = error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if not self.fits and self.suspicious is not None:
            self._report_suspicious_name(self.suspicious)
        return super().__exit__(kind, error, trace)

    @cached_property
    def suspicious(self) -> Record | None:
        """The first record with text that is not printable ASCII."""
        return next((record for record in self.document.find(Record) if _NOT_PRINTABLE.search(_text(record))), None)

    def rank(self) -> tuple[bool, bool, int]:
        """Return how good the reading is; the largest is the best."""
        assert isinstance(self.document.dialect, Dialect)
        whole = _WholeRecords(self.cursor.data, self.cursor.limits, self.document.dialect)
        return whole.claimed == whole.plausible, self.fits, whole.plausible

    def _read_animation(self) -> None:
        top = self.read(Animation)
        self.open(top)
        self.read_counted(Joint, top.joint_count, "joint_count", 16)
        cursor = self.cursor
        cursor.need_entries(top.frame_count, 4 * (BOUNDS_FLOATS + top.component_count), "frame_count", 8)
        frames = blank(Frames, cursor.pos)
        frames.row_shape = (top.frame_count, BOUNDS_FLOATS + top.component_count)
        read_fields(frames, cursor)
        self.siblings.append(frames)

    def _read_model(self) -> None:
        top = self.read(Model)
        self.open(top)
        self.read_counted(Mesh, top.mesh_count, "mesh_count", 8)
        self.read_counted(ModelJoint, top.joint_count, "joint_count", 12)

    def _report_suspicious_name(self, record: Record) -> None:
        """Report text that is not printable ASCII: it is probably too long if the sizes do not add up.

        A name without its NUL continues into the numbers after it, and nothing else in the file shows this.
        """
        field = "material" if isinstance(record, Mesh) else "name"
        assert record.offset is not None
        at = record.offset + (28 if isinstance(record, ModelJoint) else 12)
        path = f"{self.document.path_of(record)}/{field}"
        self.document.issues.add(STRUCT_NAME_SUSPECT, path, at, size=len(_text(record)))


def _text(record: Record) -> bytes:
    """Return the text of a record."""
    text: bytes = record.material if isinstance(record, Mesh) else getattr(record, "name", b"")
    return text


def new_animation(
    joints: Iterable[Joint],
    components: npt.ArrayLike,
    *,
    bounds: npt.ArrayLike | None = None,
    frame_rate: int = 24,
    dialect: Dialect = Dialect.NUL_ENDED,
) -> Document:
    """Make an animation of joints, components ``(frames, components)`` and boxes ``(frames, 2, 3)``."""
    frames = Frames.make(components, bounds)
    top = Animation(frame_rate=frame_rate, children=[*joints, frames])
    top.joint_count = len(top.children) - 1
    top.frame_count, width = frames.rows.shape
    top.component_count = width - BOUNDS_FLOATS
    return Document(FORMAT, [top], dialect=dialect)


def new_model(
    meshes: Iterable[Mesh], joints: Iterable[ModelJoint], *, dialect: Dialect = Dialect.NUL_ENDED
) -> Document:
    """Make a model of meshes and joints."""
    mesh_records, joint_records = list(meshes), list(joints)
    return Document(
        FORMAT,
        [Model(mesh_count=len(mesh_records), joint_count=len(joint_records), children=[*mesh_records, *joint_records])],
        dialect=dialect,
    )


def encode(document: Document) -> bytes:
    """Return the bytes of a document: its records in the layout of its dialect, then its trailing bytes."""
    if not isinstance(document.dialect, Dialect):
        raise ValueError(f"expected a dialect of Hale3D, not {document.dialect!r}")
    sink, style = Sink(), document.dialect.style
    for top in document.records:
        if isinstance(top, (Animation, Model)):
            order = _ANIMATION_ORDER if isinstance(top, Animation) else _MODEL_ORDER
            write_fields(_with_counts(top), sink)
            _write_children(top.children, order, sink, style)
        elif isinstance(top, RawRun):
            write_fields(top, sink)
        else:
            raise ValueError(f"{top!r} cannot be at the top level of a Hale3D file")
    sink.write(document.trailing)
    return sink.getvalue()


_ANIMATION_ORDER: dict[type[Record], int] = {Joint: 0, Frames: 1, RawRun: 2}
_MODEL_ORDER: dict[type[Record], int] = {Mesh: 0, ModelJoint: 1, RawRun: 2}


def _write_children(records: list[Record], order: dict[type[Record], int], sink: Sink, style: Style) -> None:
    last_rank = 0
    for record in records:
        rank = order.get(type(record))
        if rank is None or rank < last_rank or record.children or record.tail:
            names = ", ".join(cls.__name__ for cls in order)
            raise ValueError(f"{record!r} is not allowed here: expected {names}, in this order and without children")
        last_rank = rank
        write_fields(record, sink, record.plan.adapted(style))


def _with_counts(top: Animation | Model) -> Animation | Model:
    """Return the header with the counts of its children; unchanged if a raw run is among them."""
    if top.children and isinstance(top.children[-1], RawRun):
        return top
    header = copy(top)
    if isinstance(header, Model):
        header.mesh_count = sum(isinstance(record, Mesh) for record in top.children)
        header.joint_count = len(top.children) - header.mesh_count
        return header
    frames = [record for record in top.children if isinstance(record, Frames)]
    if len(frames) > 1:
        raise ValueError("an animation has at most one record of frames")
    header.joint_count = len(top.children) - len(frames)
    header.frame_count = len(frames[0].rows) if frames else 0
    if header.frame_count:
        header.component_count = as_rows(frames[0].rows).shape[1] - BOUNDS_FLOATS
        if header.component_count < 0:
            raise ValueError(f"a frame must begin with the {BOUNDS_FLOATS} floats of its bounding box")
    return header


def structure(dialect: Dialect) -> Structure:
    """Return the structure of an animation or a model."""
    style = dialect.style
    width = f"{BOUNDS_FLOATS} + parent.header.component_count"
    frame_shape = {"row_shape[0]": "parent.header.frame_count", "row_shape[1]": width}
    animation = (
        Part("header", structure_of(Animation).restricted("version", VERSION)),
        Part("joints", structure_of(Joint, style), count="header.joint_count"),
        Part("frames", structure_of(Frames, style, frame_shape)),
    )
    model = (
        Part("header", structure_of(Model).restricted("version", VERSION)),
        Part("meshes", structure_of(Mesh, style), count="header.mesh_count"),
        Part("joints", structure_of(ModelJoint, style), count="header.joint_count"),
    )
    contents: dict[int | str, Structure] = {
        ANIMATION_ID.decode(): Structure("animation_file", animation),
        MODEL_ID.decode(): Structure("model_file", model),
    }
    return Structure("hale3d", (Part("content", Cases(Next(4), contents)), TRAILING), FORMAT.title)


CODEC = Codec(
    decode,
    encode,
    (Animation, Joint, Frames, Model, Mesh, ModelJoint, RawRun),
    Dialect,
    recover,
    mend=mend,
    structure=structure,
    described=tuple(Dialect),
)
