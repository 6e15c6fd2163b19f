"""Tables of an ASE document (overview and objects), and its keywords for the documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from keyframer.formats.ase import records
from keyframer.formats.ase.keywords import BLOCKS, CONTROLLERS, NODES, TOP_LINES, Entry
from keyframer.formats.ase.text_values import describe_signature
from keyframer.formats.document import Document
from keyframer.formats.kit.summary_tables import Cell, Table, overview

_WRITER = re.compile(rb"(.*\S) +- +([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})")
"""``AsciiExport Version  2,00 - Sat Nov 08 18:02:21 2008``"""
_LISTS = (records.VertexList, records.FaceList)


def summarise(document: Document) -> list[Table]:
    """Return the tables for ``keyframer info``."""
    lines = {
        line.keyword: line.values[0] for line in document.records if isinstance(line, records.Line) and line.values
    }
    scene = next((block for block in document.find(records.Block) if block.keyword == b"SCENE"), records.Block())
    writer, date = _writer(lines.get(b"COMMENT"))
    return [
        overview(
            ("version", lines.get(b"3DSMAX_ASCIIEXPORT")),
            ("written by", writer),
            ("written on", date),
            ("encoding", str(document.dialect)),
            ("exported from", scene.name(b"SCENE_FILENAME") or None),
            ("first frame", _number(scene, b"SCENE_FIRSTFRAME")),
            ("last frame", _number(scene, b"SCENE_LASTFRAME")),
            ("frames per second", _number(scene, b"SCENE_FRAMESPEED")),
            ("ticks per frame", _number(scene, b"SCENE_TICKSPERFRAME")),
        ),
        _objects(document),
    ]


def _writer(comment: Cell) -> tuple[Cell, Cell]:
    """Return the program and the date in a comment; all five files of the corpus have both."""
    match = _WRITER.fullmatch(comment) if isinstance(comment, bytes) else None
    return (comment, None) if match is None else (match[1], match[2])


def _number(block: records.Block, keyword: bytes) -> Cell:
    values = block.get(keyword)
    return values[0] if values else None


def _objects(document: Document) -> Table:
    table = Table("objects", "Objects", ("name", "kind", "parent", "vertices", "faces", "tracks"))
    for block in document.find(records.Block):
        if block.keyword not in NODES:
            continue
        mesh = block.block(b"MESH")
        parts = mesh.children if mesh else []
        sizes = {part.keyword: len(part.index) for part in parts if isinstance(part, _LISTS)}
        tracks = sum(
            isinstance(part, records.Keys) for animation in block.blocks(b"TM_ANIMATION") for part in animation.children
        )
        table.add(
            block.name(b"NODE_NAME"),
            block.segment.removesuffix("object"),
            block.name(b"NODE_PARENT"),
            sizes.get(b"MESH_VERTEX_LIST"),
            sizes.get(b"MESH_FACE_LIST"),
            tracks,
        )
    return table


def describe(cls: type[Any]) -> Mapping[str, str]:
    """Return the keyword of a record type and its usual lines, for the documentation."""
    if cls is records.Line:
        return {"keyword": "any", "lines inside": f"outside all blocks: {_lines(TOP_LINES)}"}
    if cls is records.Keys:
        return {"keyword": " ".join(f"`{keyword.decode()}`" for keyword in CONTROLLERS)}
    keyword = getattr(cls, "KEYWORD", b"")
    if not keyword:
        return {"keyword": "any" if cls is records.Block else ""}
    block = BLOCKS.get(keyword)
    return {"keyword": f"`{keyword.decode()}`", "lines inside": "" if block is None else _lines(block.lines)}


def _lines(entries: Mapping[str, Entry]) -> str:
    lines = [
        f"`{name}` {f'({describe_signature(entry.signature)}) ' if entry.signature else ''}{entry.description}"
        for name, entry in entries.items()
    ]
    return "; ".join(lines)
