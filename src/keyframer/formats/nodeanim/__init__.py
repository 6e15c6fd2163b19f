"""Generic node animation: one clip with a list of nodes, each with translation, rotation and scale keys.

Known from one short specification that names no program, no extension and no layout of chunk headers; the fields are
those of the key structures of 3ds Max. The byte layout (byte order, kind of text, chunk headers) is a `Dialect` that
decoding detects and the document keeps. Unknown: the units of time and angles, and whether rotations are relative (see
the notes in ``docs/formats/notes/nodeanim.md``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyframer.formats.contract import Format, Match

if TYPE_CHECKING:
    from typing import Any

    from keyframer.formats.bridge import Merger, SceneReader, SceneWriter
    from keyframer.formats.contract import Codec, Rules
    from keyframer.formats.nodeanim.bridge.reading import Options
    from keyframer.formats.nodeanim.bridge.writing import WriteOptions

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

    def codec(self) -> Codec:
        from keyframer.formats.nodeanim import document

        return document

    def reader(self) -> SceneReader[Options]:
        from keyframer.formats.nodeanim.bridge.reading import Reader

        return Reader()

    def writer(self) -> SceneWriter[WriteOptions]:
        from keyframer.formats.nodeanim.bridge.writing import Writer

        return Writer()

    def merger(self) -> Merger[Options]:
        from keyframer.formats.nodeanim.bridge.merging import Merger

        return Merger()

    def rules(self) -> Rules:
        from keyframer.formats.nodeanim.bridge.reading import apply_rules

        return apply_rules

    def dialect_type(self) -> type[Any]:
        from keyframer.formats.nodeanim.dialect import Dialect

        return Dialect

    def check_dialect(self, dialect: str) -> None:
        self.dialect_type().parse(dialect)


FORMAT = NodeAnimation()
