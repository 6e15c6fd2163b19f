"""Decode and encode ASE files: first how the text is stored (encoding, line ends), then its records.

Records have text in one form for all files: 8-bit (UTF-8 if the file is UTF-16); if all lines end with CRLF, they end
with a line feed in records.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from operator import is_
from typing import Literal

import numpy as np

from keyframer.arrays import Array, Flags, Indices
from keyframer.catalogue import (
    IO_UNRECOGNISED,
    LIMIT_DEPTH,
    LIMIT_NAME,
    LIMIT_RECORDS,
    STRUCT_SYNTAX,
)
from keyframer.formats.ase import BYTE_ORDER_MARKS, FORMAT, find_encoding
from keyframer.formats.ase.keywords import LINES
from keyframer.formats.ase.records import (
    BLOCK_TYPES,
    TABLES,
    AseRecord,
    Block,
    ColorFaceList,
    ColorVertexList,
    FaceList,
    Line,
    Normals,
    NumberTable,
    RawText,
    Table,
    TextureFaceList,
    TextureVertexList,
    VertexList,
)
from keyframer.formats.ase.text_values import KEYWORD, Values, describe_signature, read_values, write_values
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document, place_of
from keyframer.issues import IssueType, Severity
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import is_utf8, show_name
from keyframer.wire.cursor import Place, frozen
from keyframer.wire.record import NO_CHILDREN, Record, write_fields
from keyframer.wire.sink import Sink

Encoding = Literal["utf-8", "cp1252", "utf-16-le", "utf-16-be"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the text of one file is stored."""

    encoding: Encoding = "utf-8"
    """encoding of the text; 8-bit text that is not UTF-8 counts as Windows code page 1252, and its bytes are kept"""
    mark: bool = False
    """whether the file begins with a byte order mark"""
    newline: Literal["\n", "\r\n"] = "\n"
    """end of every line; files with mixed line ends have "\\n" here, and carriage returns as part of their text"""

    ending: str = "\n"
    """white space after the last record"""

    def __str__(self) -> str:
        mark = ["byte order mark"] if self.mark else []
        return ", ".join([self.encoding, *mark, *(["CRLF"] if self.newline != "\n" else [])])


def read_text(data: bytes) -> tuple[bytes, Dialect, bytes]:
    """Return the text of a file as records have it, its dialect, and the last byte if UTF-16 text has an odd size."""
    detected, start = find_encoding(data)
    text, last_byte = data[start:], b""
    encoding: Encoding = "utf-8"
    if detected in ("utf-16-le", "utf-16-be"):
        encoding = "utf-16-le" if detected == "utf-16-le" else "utf-16-be"
        even_size = len(text) // 2 * 2
        text, last_byte = text[:even_size], text[even_size:]
        text = text.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
    elif not text.isascii() and not is_utf8(text):
        encoding = "cp1252"
    crlf_count = text.count(b"\r\n")
    uniform = crlf_count > 0 and crlf_count == text.count(b"\n") == text.count(b"\r")
    if uniform:
        text = text.replace(b"\r\n", b"\n")
    return text, Dialect(encoding, start > 0, "\r\n" if uniform else "\n"), last_byte


def encode_text(text: bytes, dialect: Dialect) -> bytes:
    """Return text of records as a file stores it, without the byte order mark."""
    if dialect.newline != "\n":
        text = text.replace(b"\n", b"\r\n")
    if dialect.encoding.startswith("utf-16"):
        return text.decode("utf-8", "surrogatepass").encode(dialect.encoding, "surrogatepass")
    return text


def byte_order_mark(dialect: Dialect) -> bytes:
    """Return the byte order mark of a file; empty if it has none."""
    encoding = dialect.encoding if dialect.encoding.startswith("utf-16") else "utf-8"
    return next(mark for mark, name in BYTE_ORDER_MARKS if name == encoding) if dialect.mark else b""


class Offsets:
    """Converts positions in the text to byte offsets in the file; positions must not decrease from call to call."""

    def __init__(self, text: bytes, dialect: Dialect) -> None:
        self._text = text
        self._dialect = dialect
        self._plain = dialect.newline == "\n" and not dialect.encoding.startswith("utf-16")
        self._offset = len(byte_order_mark(dialect))
        self._position = 0

    def at(self, position: int) -> int:
        if self._plain:
            return self._offset + position
        self._offset += len(encode_text(self._text[self._position : position], self._dialect))
        self._position = position
        return self._offset


_HEAD = re.compile(
    rb"(\s*+)\*([A-Za-z0-9_]++)([^\"*{}\r\n]*+(?:\"[^\"\r\n]*+\"[^\"*{}\r\n]*+)*+)(?:(\s*+\{)|(?=[*}\s]|\Z))"
)
"""white space before a record, its keyword, its values, and its opening brace, if any"""
_CLOSE = re.compile(rb"\s*+\}")
_BODY = re.compile(rb"([^\"{}]*+(?:\"[^\"\r\n]*+\"[^\"{}]*+)*+)\}")
"""the text of a block that contains no blocks"""
_END = re.compile(rb"\s*+\Z")
_JUNK = re.compile(rb"\s*+[^\s*{}]*+[*{}]?")


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode an ASE file. Raises `FormatError` if the data is not ASE or exceeds a limit."""
    text, dialect, last_byte = read_text(data)
    if not _HEAD.match(text):
        raise IO_UNRECOGNISED.failure(0, "/", reason="an ASE file begins with a star and a keyword")
    document = Document(FORMAT, limits=limits, dialect=dialect)
    end = _Reader(document, text, Offsets(text, dialect), limits).read()
    document.dialect, document.trailing = replace(dialect, ending=text[end:].decode("latin-1")), last_byte
    return document


def recover(data: bytes, limits: Limits) -> Document:
    """Return the whole records of a damaged file: blocks that are open at its end are closed after the last whole
    line, and tables end before the first row that cannot be read."""
    document = decode(data, limits)
    if any(block.close == "" for block in document.find(Block)):
        text, dialect, _ = read_text(data)
        whole = encode_text(text[: text.rfind(b"\n") + 1], dialect)
        document = decode(byte_order_mark(dialect) + whole, limits)
    siblings: list[tuple[list[Record], int]] = [(document.records, 0)]
    while siblings:
        records, depth = siblings.pop()
        for index, block in enumerate(records):
            if isinstance(block, Block):
                block.close = block.close or None
                if block.keyword in TABLES and TABLES[block.keyword].needed:
                    records[index] = _leading_rows(block, depth)
                else:
                    siblings.append((block.children, depth + 1))
    return document


def _leading_rows(block: Block, depth: int) -> Table:
    """Return the rows of a table before the first line that is not a row."""
    lines = [line for line in block.children if isinstance(line, Line)]
    if len(lines) != len(block.children):
        other = next(line for line in block.children if not isinstance(line, Line))
        lines = lines[: block.children.index(other)]
    default_lead = "\n" + "\t" * (depth + 1)
    texts = [(line.lead or default_lead).encode("latin-1") + _opening(line) for line in lines]
    table = TABLES[block.keyword].empty(block.keyword)

    def is_too_long(count: int) -> bool:
        return not table.read(b"".join(texts[:count]))

    count = bisect_left(range(len(texts) + 1), True, key=is_too_long) - 1
    body = b"".join(texts[:count]) + default_lead[:-1].encode()
    table = TABLES[block.keyword].empty(block.keyword)
    table.read(body)
    table.body, table.depth = body, depth
    table.as_read = table.fields()
    table.lead, table.offset, table.children = block.lead, block.offset, NO_CHILDREN
    return table


def mend(record: Record, parent: Record | None, field: str) -> bool:
    """Leave out faces with all that belongs to them, the links of a face to texture coordinates or colours that do not
    exist (it has the first ones, as in scenes), wrong numbers of rows, or the parent of a node."""
    siblings = [] if parent is None else parent.children
    if isinstance(record, Block) and field == "node_parent":
        record.children = [line for line in record.children if line.segment != field]
    elif isinstance(record, NumberTable | FaceList) and field == "index":
        record.index = frozen(np.arange(len(record.index)))
    elif isinstance(record, TextureFaceList | ColorFaceList) and field == "values":
        values = next(part for part in siblings if isinstance(part, _VALUES_OF[type(record)]))
        kept = _exist(record.values, len(values.index))
        record.values = frozen(np.where(kept[:, None], record.values, 0))
    elif isinstance(record, FaceList) and field == "corners":
        vertices = next(part for part in siblings if isinstance(part, VertexList))
        _leave_out_faces(record, siblings, len(vertices.index))
    else:
        return False
    return True


_VALUES_OF: dict[type[Table], type[NumberTable]] = {
    TextureFaceList: TextureVertexList,
    ColorFaceList: ColorVertexList,
}
"""the table that the rows of a table refer to"""


def _exist(corners: Array, count: int) -> Flags:
    """Return which faces have only corners that exist."""
    return np.asarray(((corners >= 0) & (corners < count)).all(axis=1))


def _leave_out_faces(faces: FaceList, siblings: list[Record], count: int) -> None:
    """Leave out the faces without all corners, and what belongs to them; tables for other faces belong to none."""
    size, corners = len(faces.index), np.reshape(faces.corners, -1)
    kept = _exist(faces.corners, count)
    kept_numbers = kept[np.argsort(_numbers(faces))]
    tables = [part for part in siblings if isinstance(part, _OF_FACES)]
    for table in tables:
        if len(table.index) != size or (isinstance(table, Normals) and not np.array_equal(table.corners, corners)):
            siblings[:] = [part for part in siblings if part is not table]
            continue
        is_in_rows = isinstance(table, FaceList | Normals)
        numbers = _numbers(table)
        rows = kept if is_in_rows else kept_numbers[numbers]
        for plan in table.plan.fields:
            column = getattr(table, plan.name)
            if isinstance(column, np.ndarray):
                setattr(table, plan.name, frozen(column[rows if len(column) == size else np.repeat(rows, 3)]))
        table.index = frozen(np.argsort(np.argsort(numbers[rows])))


_OF_FACES = (FaceList, TextureFaceList, ColorFaceList, Normals)


def _numbers(table: FaceList | TextureFaceList | ColorFaceList | Normals) -> Indices:
    """Return the face of each row; scenes take the rows in their order if the numbers are not 0 to n - 1."""
    sequence = np.arange(len(table.index))
    return np.asarray(table.index, np.int64) if np.array_equal(np.sort(table.index), sequence) else sequence


class _Reader:
    """Reads a text in one pass, with a stack of open blocks."""

    def __init__(self, document: Document, text: bytes, offsets: Offsets, limits: Limits) -> None:
        self.document = document
        self.text = text
        self.offsets = offsets
        self.limits = limits
        self.count = 0
        self.blocks: list[Block] = []
        self.places: list[Place] = [Place()]
        self.numbers: list[dict[str, int]] = [{}]
        """for the file and each open block: the number of records with each path segment so far"""
        self.names: dict[bytes, bytes] = {}
        """one shared object for each keyword"""

    def read(self) -> int:
        """Read all records. Return the start of the text after the last one."""
        position = 0
        while True:
            head = _HEAD.match(self.text, position)
            if head is not None:
                position = self._read_head(head)
                continue
            close = _CLOSE.match(self.text, position) if self.blocks else None
            if close is not None:
                self._close(close.group())
                position = close.end()
            elif _END.match(self.text, position):
                break
            else:
                position = self._read_junk(position)
        for block in reversed(self.blocks):
            block.close = ""
        if self.blocks:
            path, offset = str(self.places[-1]), self.blocks[-1].offset or 0
            self.document.issues.add(STRUCT_SYNTAX, path, offset, wanted="a closing brace", found="the end of the file")
        return position

    def _read_head(self, head: re.Match[bytes]) -> int:
        lead, name, values, brace = head.groups()
        name = self.names.setdefault(name, name)
        offset = self.offsets.at(head.start() + len(lead))
        special_lead = self._special_lead(lead)
        if brace is None:
            record = self._line(name, values, special_lead, offset)
            self._add(record)
            return head.end()
        if name in TABLES and (body := _BODY.match(self.text, head.end())) is not None:
            table = self._table(name, values + brace, body[1], special_lead, offset)
            if table is not None:
                self._add(table)
                return body.end()
        self._open(name, values + brace, special_lead, offset, broken=name in TABLES)
        return head.end()

    def _line(self, name: bytes, text: bytes, lead: str | None, offset: int) -> AseRecord:
        entry = LINES.get(name)
        if entry is None:
            return Line(name, (), text.decode("latin-1"), lead=lead, offset=offset, children=NO_CHILDREN)
        values = self._values(entry.signature, text, name, offset)
        if values is None:
            wanted = f"{describe_signature(entry.signature)} ({entry.description})"
            shown = f"'{show_name(text[:60].strip())}'" if text[:60].strip() else "nothing"
            self._report(STRUCT_SYNTAX, name, offset, Severity.WARNING, wanted=wanted, found=shown)
            data = b"*" + name + text
            return RawText(data, STRUCT_SYNTAX.code, lead=lead, offset=offset, children=NO_CHILDREN)
        as_default = _values_text(entry.signature, values) == text
        original_text = None if as_default else text.decode("latin-1")
        return Line(name, values, original_text, lead=lead, offset=offset, children=NO_CHILDREN)

    def _values(self, signature: str, text: bytes, name: bytes, offset: int) -> Values | None:
        values = read_values(signature, text)
        for value in values or ():
            if isinstance(value, bytes) and len(value) > self.limits.name:
                path = f"{self.places[-1]}/{name.decode('latin-1').lower()}".replace("//", "/")
                raise LIMIT_NAME.failure(offset, path, size=len(value), limit=self.limits.name)
        return values

    def _table(self, name: bytes, opening: bytes, body: bytes, lead: str | None, offset: int) -> Table | None:
        table = TABLES[name].empty(name)
        table.lead, table.offset, table.children = lead, offset, NO_CHILDREN
        if not table.read(body):
            return None
        table.body, table.depth = body, len(self.blocks)
        table.as_read = table.fields()
        table.text = None if opening == b" {" else opening.decode("latin-1")
        return table

    def _open(self, name: bytes, text: bytes, lead: str | None, offset: int, broken: bool) -> None:
        if len(self.blocks) >= self.limits.depth:
            raise LIMIT_DEPTH.failure(offset, str(self.places[-1]), limit=self.limits.depth)
        block = BLOCK_TYPES[name]() if name in BLOCK_TYPES else Block(other=name.decode("latin-1"))
        signature = block.signature
        values = self._values(signature, text.rstrip()[:-1], name, offset)
        as_default = values is not None and _values_text(signature, values) + b" {" == text
        block.values, block.text = values or (), None if as_default else text.decode("latin-1")
        block.lead, block.offset = lead, offset
        self._add(block)
        self.blocks.append(block)
        self.numbers.append({})
        if broken:
            severity = None if TABLES[name].needed else Severity.INFO
            self._report(STRUCT_SYNTAX, b"", offset, severity, wanted="rows of numbers", found="other text")

    def _close(self, text: bytes) -> None:
        block = self.blocks.pop()
        self.places.pop()
        self.numbers.pop()
        as_default = text == b"\n" + b"\t" * len(self.blocks) + b"}"
        block.close = None if as_default else text.decode("latin-1")

    def _read_junk(self, start: int) -> int:
        """Keep text that is not a record as raw text, up to the next record, the end of the block or of the file."""
        position = start
        while True:
            junk = _JUNK.match(self.text, position)
            assert junk is not None
            position = junk.end()
            at_end = position == len(self.text) or (self.blocks and _CLOSE.match(self.text, position))
            if at_end or _HEAD.match(self.text, position):
                break
        while self.text[position - 1 : position].isspace():
            position -= 1
        text = self.text[start:position]
        data = text.lstrip()
        lead = text[: len(text) - len(data)]
        offset = self.offsets.at(start + len(lead))
        shown = f"'{show_name(data[:60])}'"
        self._report(STRUCT_SYNTAX, b"", offset, Severity.WARNING, wanted="a keyword", found=shown)
        special_lead = self._special_lead(lead)
        self._add(RawText(data, STRUCT_SYNTAX.code, lead=special_lead, offset=offset, children=NO_CHILDREN))
        return position

    def _special_lead(self, lead: bytes) -> str | None:
        """Return the text before a record; None if it is the default.

        The default is nothing before the first record, and otherwise a line feed and a tab for each level.
        """
        default = b"\n" + b"\t" * len(self.blocks) if self.count else b""
        return None if lead == default else lead.decode("latin-1")

    def _add(self, record: AseRecord) -> None:
        self.count += 1
        if self.count > self.limits.records:
            raise LIMIT_RECORDS.failure(record.offset or 0, str(self.places[-1]), limit=self.limits.records)
        (self.blocks[-1].children if self.blocks else self.document.records).append(record)
        segment, numbers = record.segment, self.numbers[-1]
        number = numbers.get(segment, 0)
        numbers[segment] = number + 1
        if isinstance(record, Block):
            self.places.append(place_of(record, number, self.places[-1]))

    def _report(self, issue: IssueType, name: bytes, offset: int, severity: Severity | None, **args: object) -> None:
        path = str(self.places[-1])
        if name:
            path = f"{path.rstrip('/')}/{name.decode('latin-1').lower()}"
        self.document.issues.add(issue, path, offset, severity=severity, **args)


def encode(document: Document) -> bytes:
    """Return the bytes of a document, as its dialect requires; raises ValueError for records that ASE cannot store."""
    dialect = document.dialect if isinstance(document.dialect, Dialect) else Dialect()
    parts: list[bytes] = []
    texts: dict[tuple[int, int], bytes] = {}
    """of tables by `id` and depth: the meshes of a morph share their faces"""
    stack = [(iter(document.records), b"")]
    while stack:
        record = next(stack[-1][0], None)
        if record is None:
            parts.append(stack.pop()[1])
            continue
        depth = len(stack) - 1
        if not isinstance(record, AseRecord):
            raise ValueError(f"{type(record).__name__} is not a record of an ASE file")
        default_lead = "\n" + "\t" * depth if parts else ""
        parts.append((default_lead if record.lead is None else record.lead).encode("latin-1"))
        if isinstance(record, Block):
            parts.append(_opening(record))
            close = "\n" + "\t" * depth + "}" if record.close is None else record.close
            stack.append((iter(record.children), close.encode("latin-1")))
            continue
        if record.children:
            raise ValueError(f"{type(record).__name__} cannot contain records")
        text = texts.get((id(record), depth)) or _record_text(record, depth)
        if isinstance(record, Table):
            texts[id(record), depth] = text
        parts.append(text)
    parts.append(dialect.ending.encode("latin-1"))
    return byte_order_mark(dialect) + encode_text(b"".join(parts), dialect) + document.trailing


def _record_text(record: AseRecord, depth: int) -> bytes:
    if isinstance(record, Line):
        return _opening(record)
    if isinstance(record, Table):
        opening = " {" if record.text is None else record.text
        return b"*" + record.keyword + opening.encode("latin-1") + _body(record, depth) + b"}"
    if isinstance(record, RawText):
        return record.data
    raise ValueError(f"{type(record).__name__} is not a record of an ASE file")


def _opening(record: Line | Block) -> bytes:
    """Return keyword and values: the original text if the values have not changed."""
    if not KEYWORD.fullmatch(record.keyword):
        raise ValueError(f"{record.keyword!r} is not a keyword (only letters, digits and _)")
    brace = " {" if isinstance(record, Block) else ""
    if record.text is not None:
        text = record.text.rstrip()[:-1] if brace else record.text
        stored_values = read_values(record.signature, text.encode("latin-1"))
        if repr(stored_values or ()) == repr(record.values):  # NaN is not equal to itself
            return b"*" + record.keyword + record.text.encode("latin-1")
    return b"*" + record.keyword + _values_text(record.signature, record.values) + brace.encode()


def _body(record: Table, depth: int) -> bytes:
    """Return the text in the braces of a table: the original text if its columns have not changed."""
    if record.body is not None and all(map(is_, getattr(record, "as_read", (None,)), record.fields())):
        return record.body
    write_fields(record, Sink())  # raises for values that do not fit
    text = record.write(depth)
    if record.body is not None:
        parsed = record.empty(record.keyword)
        if parsed.read(record.body) and parsed.write(depth) == text:
            return record.body
    return text


def _values_text(signature: str, values: Values) -> bytes:
    return write_values(signature, values).encode("latin-1")


_RECORDS: tuple[type[AseRecord], ...] = (Line, *BLOCK_TYPES.values(), Block, *dict.fromkeys(TABLES.values()), RawText)
CODEC = Codec(decode, encode, _RECORDS, Dialect, recover, mend=mend)
