"""Generic node animation: one clip with a list of nodes, each with translation, rotation and scale keys.

Known from one short specification that names no program, no extension and no layout of chunk headers; the fields are
those of the key structures of 3ds Max. The byte layout (byte order, kind of text, chunk headers) is a `Dialect` that
decoding detects and the document keeps. Unknown: the units of time and angles, and whether rotations are relative (see
the notes in ``docs/formats/notes/nodeanim.md``).
"""

from __future__ import annotations

from keyframer.formats.contract import Format, Match

_SMALLEST_SIZE = 10
"""bytes; no smaller file is detected: chunk 1 with an id of one byte and empty texts, and the id of chunk 2"""


class NodeAnimation(Format):
    name = "nodeanim"
    title = "generic node animation"
    extensions = (".nanim",)
    bookkeeping = ("dialect", "flags", "node_count")

    def sniff(self, head: bytes, size: int) -> Match | None:
        if size < _SMALLEST_SIZE:
            return None
        from keyframer.formats.nodeanim.sniff import sniff

        return sniff(head, size)

    def check_dialect(self, dialect: str) -> None:
        from keyframer.formats.nodeanim.dialect import Dialect

        Dialect.parse(dialect)


FORMAT = NodeAnimation()
