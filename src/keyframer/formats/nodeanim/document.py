"""Decode, encode and make documents of node animations; decoding detects the dialect first.

Decoding loses no bytes. Unreadable parts are kept as bytes in their place: a chunk as a `RawChunk`, nodes from the
first damaged one on as the tail of `Animations`, bytes outside chunks as the prefix or the trailing bytes of the
document. Each is reported as an issue.
"""

from __future__ import annotations

import copy
from functools import partial

from keyframer.catalogue import IO_UNRECOGNISED, SEM_AMBIGUOUS_DIALECT
from keyframer.formats.document import Document
from keyframer.formats.nodeanim import FORMAT
from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.formats.nodeanim.dialect_reader import Reader
from keyframer.formats.nodeanim.dialect_search import Finding, search
from keyframer.formats.nodeanim.records import Animations, Chunk, Header, Node, Prefix, RawChunk
from keyframer.issues import IssueLog
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import counted
from keyframer.wire.record import Record, write_fields
from keyframer.wire.sink import Sink

__all__ = ["Dialect", "decode", "encode", "new_document", "record_types"]

_OTHERS_NAMED = 3


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a node animation file. Raises `FormatError` if no dialect matches even in part, or a limit is exceeded."""
    finding = search(data)
    if finding is None:
        reason = "no known layout of node animation files fits: no complete chunk 1 was found"
        raise IO_UNRECOGNISED.failure(0, "/", reason=reason)
    document = Document(FORMAT, dialect=finding.dialect, issues=IssueLog(limits.issues_per_code, limits.issues))
    if finding.others:
        _report_ambiguity(document.issues, finding)
    Reader(data, limits, document, finding.dialect).read(finding.start)
    return document


def _report_ambiguity(issues: IssueLog, finding: Finding) -> None:
    named = [f"({dialect})" for dialect in finding.others[:_OTHERS_NAMED]]
    unnamed_count = len(finding.others) - len(named)
    others = ", ".join(named) + (f" and {unnamed_count} more" if unnamed_count else "")
    issues.add(
        SEM_AMBIGUOUS_DIALECT, "/", 0, count=1 + len(finding.others), taken=f"({finding.dialect})", others=others
    )


def new_document(*nodes: Node, name: bytes = b"", author: bytes = b"", dialect: Dialect | None = None) -> Document:
    """Make a document of one clip.

    new_document(Node(b"hip", TCB, translation_keys=NodeKeys.make([0, 1], [[0, 0, 0], [0, 0, 9]])), name=b"jump")
    """
    header = Header(name=name, author=author, node_count=len(nodes))
    return Document(FORMAT, [header, Animations(children=list(nodes))], dialect=dialect or Dialect())


def encode(document: Document) -> bytes:
    """Return the bytes of a document: its records in the layout of its dialect, then its trailing bytes."""
    dialect = document.dialect if document.dialect is not None else Dialect()
    if not isinstance(dialect, Dialect):
        raise ValueError(f"{dialect!r} is not a dialect of this format")
    sink = Sink()
    header = document.first(Header)
    for record in document.records:
        if isinstance(record, Prefix):
            sink.write(record.data)
        elif isinstance(record, Chunk):
            _write_chunk(sink, _with_node_count(record, document) if record is header else record, dialect)
        else:
            raise ValueError(f"{record!r} must be inside a chunk")
    sink.write(document.trailing)
    return sink.getvalue()


def _with_node_count(header: Header, document: Document) -> Header:
    """Return the header with the actual number of nodes; unchanged if their number has not changed since reading."""
    animations = next((record for record in document.records if isinstance(record, Animations)), None)
    if animations is None or animations.nodes_read == len(animations.children):
        return header
    updated = copy.copy(header)
    updated.node_count = len(animations.children)
    return updated


def _write_chunk(sink: Sink, chunk: Chunk, dialect: Dialect) -> None:
    if isinstance(chunk, RawChunk) and not dialect.has_sizes:
        raise ValueError(f"{chunk!r}: raw chunks can be stored only in a dialect with chunk sizes, not in {dialect}")
    mark = sink.open_block(dialect.header_size)
    write_fields(chunk, sink, chunk.plan.adapted(dialect))
    node_plan = Node.plan.adapted(dialect)
    for node in chunk.children:
        if not isinstance(node, Node):
            raise ValueError(f"{node!r} is not a node: chunks can contain only nodes")
        write_fields(node, sink, node_plan)
    sink.write(chunk.tail)
    sink.close_block(mark, partial(_header, chunk, dialect))


def _header(chunk: Chunk, dialect: Dialect, size: int) -> bytes:
    if dialect.id_size == 0:
        return b""
    if not dialect.has_sizes:
        return dialect.header.pack(chunk.id)
    if chunk.claimed is not None and chunk.claimed[1] == size:
        stored_size = chunk.claimed[0]
    else:
        stored_size = size if dialect.length_counts_header else size - dialect.header_size
    for field, number, width in (("id", chunk.id, dialect.id_size), ("size", stored_size, dialect.length_size)):
        if not 0 <= number < 1 << 8 * width:
            raise ValueError(f"{chunk!r}: its {field} {number} does not fit {counted(width, 'byte')} ({dialect})")
    return dialect.header.pack(chunk.id, stored_size)


def record_types() -> dict[str, type[Record]]:
    """Return every declared record by the name of its class."""
    return {cls.__name__: cls for cls in (Header, Animations, Node, Prefix, RawChunk)}
