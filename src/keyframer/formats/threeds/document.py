"""3D Studio files as documents: trees of chunks (`kit/chunk_tree.py`)."""

from __future__ import annotations

from typing import Any

from keyframer.catalogue import IO_UNRECOGNISED
from keyframer.formats.contract import Codec
from keyframer.formats.document import Document
from keyframer.formats.threeds import FORMAT
from keyframer.formats.threeds.chunk import CHUNKS, HEADER_SIZE, TREE, Chunk, RawChunk
from keyframer.formats.threeds.records import TOP_IDS, Main
from keyframer.limits import DEFAULT_LIMITS, Limits
from keyframer.text import counted
from keyframer.wire.structure import Structure


def decode(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a 3D Studio file. Raises `FormatError` if it is not one or exceeds a limit."""
    if len(data) < HEADER_SIZE:
        raise IO_UNRECOGNISED.failure(0, "/", reason=f"too short for a 3D Studio file ({counted(len(data), 'byte')})")
    chunk_id, _ = TREE.header.unpack_from(data)
    if chunk_id not in TOP_IDS:
        raise IO_UNRECOGNISED.failure(0, "/", reason=f"a 3D Studio file does not begin with {chunk_id:04x}")
    document = Document(FORMAT, limits=limits)
    TREE.decode(data, document)
    return document


encode = TREE.encode


def new_document(*chunks: Chunk) -> Document:
    """Make a document: ``new_document(Version(3), Editor(children=[...]), Keyframer(children=[...]))``.

    Arguments are one top chunk (`Main`, `Project`, `MaterialLibrary`, `Editor`), or the children of a `Main`.
    """
    if len(chunks) == 1 and chunks[0].id in TOP_IDS:
        return Document(FORMAT, [chunks[0]])
    return Document(FORMAT, [Main(children=list(chunks))])


def structure(dialect: None = None) -> Structure:
    """Return the structure of a file: one chunk, with all others inside."""
    return TREE.structure("threeds", FORMAT.title)


def _recovery(name: str) -> Any:
    """Return a function of `recovery`, which is imported when it is first called: most files are not damaged."""

    def call(*arguments: Any) -> Any:
        from keyframer.formats.threeds import recovery

        return getattr(recovery, name)(*arguments)

    return call


CODEC = Codec(
    decode,
    encode,
    (*CHUNKS.values(), RawChunk),
    recover=_recovery("recover"),
    restore_cr=_recovery("restore_cr"),
    mend=_recovery("mend"),
    missing=_recovery("missing"),
    structure=structure,
)
