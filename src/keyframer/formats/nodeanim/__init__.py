"""Generic node animation: one clip, a list of nodes, and for each its translation, rotation and scale keys.

Known from one short document that names no program, no extension and no framing; the fields mirror the key structures
of 3ds Max. How a file lies in bytes (byte order, kind of text, chunk headers) is a `Dialect` that reading finds out and
the document remembers. Open: where Bezier tangents and a scale axis would stand in a key, the unit of time, and whether
rotations are relative (see the notes in ``docs/formats/notes/nodeanim.md``).
"""

from __future__ import annotations

from keyframer.formats.contract import Format


class NodeAnimation(Format):
    name = "nodeanim"
    title = "generic node animation"
    extensions = (".nanim",)

    def check_dialect(self, dialect: str) -> None:
        from keyframer.formats.nodeanim.dialect import Dialect

        Dialect.parse(dialect)


FORMAT = NodeAnimation()
