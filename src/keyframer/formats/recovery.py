"""Recover the whole records of a damaged file: `load` with salvage and the command ``salvage`` use the same ones."""

from __future__ import annotations

from typing import NamedTuple

from keyframer.errors import FormatError
from keyframer.formats import before_text_mode
from keyframer.formats.contract import Format
from keyframer.formats.document import Document, decode, drop_damage, is_whole
from keyframer.formats.guard import guarded
from keyframer.limits import Limits
from keyframer.wire.record import Raw


class Recovery(NamedTuple):
    """The whole records of a file."""

    document: Document
    """whole records with their offsets in ``data``, and the issues of the file as it is"""
    data: bytes
    """the file; as it was before a transfer in text mode, if that could be undone"""


def recover(data: bytes, format: Format | None, limits: Limits, decoded: Document | None = None) -> Recovery:
    """Return what is left of a damaged file; the document as decoded if no part of its structure is unsafe.

    ``format`` is None if it is not known; ``decoded`` is the document of the file, if it is known. Raises `FormatError`
    if nothing can be read.
    """
    failure: FormatError | None = None
    try:
        damaged = decoded or (decode(data, limits=limits) if format is None else format.decode(data, limits))
        if is_whole(damaged):
            return Recovery(damaged, data)
    except FormatError as error:
        if error.code.startswith("LIMIT_"):
            raise
        failure = error
    original = before_text_mode(data, format)
    if failure is not None and format is None and original is None:
        raise failure
    if original is not None:
        repaired, format = original
    else:
        format = format or damaged.format
        with guarded(format):
            restore = format.codec().restore_cr
            repaired = (None if restore is None else restore(data)) or data
    document = None if repaired is data else _decoded_if_safe(repaired, format, limits)
    if document is None and failure is None and damaged.issues.first_unsafe() is None:
        return Recovery(damaged, data)
    document = document or _whole_records(repaired, format, limits, failure)
    if failure is None:
        document.issues = damaged.issues
    else:
        document.add_failure(failure)
    return Recovery(document, repaired)


def _decoded_if_safe(data: bytes, format: Format, limits: Limits) -> Document | None:
    try:
        document = format.decode(data, limits)
    except FormatError:
        return None
    return document if document.issues.first_unsafe() is None else None


def _whole_records(data: bytes, format: Format, limits: Limits, failure: FormatError | None) -> Document:
    with guarded(format):
        codec = format.codec()
        if codec.recover is None:
            document = codec.decode(data, limits)
            drop_damage(document)
        else:
            document = codec.recover(data, limits)
    document.limits, document.size = limits, len(data)
    if failure is not None and all(isinstance(part, Raw) for top in document.records for part in top.children):
        raise failure
    return document
