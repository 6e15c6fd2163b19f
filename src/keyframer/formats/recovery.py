"""Recover the whole records of a damaged file: `load` with salvage and the command ``salvage`` use the same ones."""

from __future__ import annotations

from typing import NamedTuple

from keyframer.errors import FormatError
from keyframer.formats import before_text_mode, detect
from keyframer.formats.contract import Format
from keyframer.formats.document import Document, drop_damage
from keyframer.formats.guard import guarded
from keyframer.limits import Limits
from keyframer.wire.record import Raw

_CONTROL_Z = b"\x1a"


class Recovery(NamedTuple):
    """The whole records of a file."""

    document: Document
    """whole records with their offsets in ``data``, and the issues of the file as it is"""
    data: bytes
    """the file; as it was before a transfer in text mode, if that could be undone"""


def recover(data: bytes, format: Format, limits: Limits, decoded: Document | None = None) -> Recovery:
    """Return what is left of a damaged file; the document as decoded if no part of its structure is unsafe.

    ``decoded`` is the document of the file, if it is known. Raises `FormatError` if nothing can be read.
    """
    failure: FormatError | None = None
    try:
        damaged = decoded or format.decode(data, limits)
        if damaged.issues.first_unsafe() is None and damaged.trailing.strip(_CONTROL_Z) == damaged.trailing:
            return Recovery(damaged, data)
    except FormatError as error:
        if error.code.startswith("LIMIT_"):
            raise
        failure = error
    original = _before_text_mode(data, format)
    document = _whole_records(data if original is None else original, format, limits, failure)
    if failure is None:
        document.issues = damaged.issues
    else:
        document.add_failure(failure)
    return Recovery(document, data if original is None else original)


def _before_text_mode(data: bytes, format: Format) -> bytes | None:
    """Return the file before a transfer in text mode, as far as lengths prove it; None if no such transfer is
    recognised."""
    if detect(data).score >= 1:
        return None
    original = before_text_mode(data)
    if original is not None:
        return original[0] if original[1] is format else None
    with guarded(format):
        restore = format.codec().restore_cr
        return None if restore is None else restore(data)


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
