"""The bridge between ASE documents and scenes.

Reading (`scene.read_scene`): materials; nodes with their parents; rest transforms from the world matrices of the file;
the clip (`tracks`); cameras, lights, meshes and morphs (`objects`); then the roll of cameras and lights with a target,
which is separated from their rotation; skins, which find their bones by name; at last the environment.

Writing (`writing`): names and targets are settled first; then one block for the scene, one for the materials, and one
for each node with its transform, content (`write_objects`) and controllers (`write_tracks`).

Edits (`merging`): the writer writes the scene with the names, numbers and matrices of the original, and nodes and
materials are moved into the groups and materials that contain them there.

`declared_fields` says which lines store which fields, for both directions and for loss reports.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from keyframer.catalogue import (
    DATA_NON_FINITE,
    DATA_RATE_INVALID,
    LINK_COUNT_MISMATCH,
    SEM_EMPTY_TRACK,
    SEM_UNKNOWN_VERSION,
)
from keyframer.formats.ase import records
from keyframer.formats.ase.bridge.scene import Options, read_scene
from keyframer.formats.ase.keywords import BLOCKS, CONTROLLERS, NODES, TOP_LINES, Entry
from keyframer.formats.ase.records import Block, FaceList, Keys, Line, NumberTable
from keyframer.formats.ase.text_values import describe_signature
from keyframer.formats.bridge import Bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.common_rules import (
    check_angles,
    check_fields,
    check_file_name,
    check_huge_times,
    check_name,
    check_negative_times,
    check_range,
    check_tcb,
    check_unique,
)
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.kit.summary_tables import Cell, Table, overview
from keyframer.scene import Scene
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter

_WRITER = re.compile(rb"(.*\S) +- +([A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})")
"""``AsciiExport Version  2,00 - Sat Nov 08 18:02:21 2008``"""
_LISTS = (records.VertexList, records.FaceList)


def summarise(document: Document) -> Iterator[Table]:
    """Yield the tables for ``keyframer info``."""
    lines = {
        line.keyword: line.values[0] for line in document.records if isinstance(line, records.Line) and line.values
    }
    scene = next((block for block in document.find(records.Block) if block.keyword == b"SCENE"), records.Block())
    writer, date = _writer(lines.get(b"COMMENT"))
    yield overview(
        ("version", lines.get(b"3DSMAX_ASCIIEXPORT")),
        ("written by", writer),
        ("written on", date),
        ("encoding", str(document.dialect)),
        ("exported from", scene.name(b"SCENE_FILENAME") or None),
        ("first frame", _number(scene, b"SCENE_FIRSTFRAME")),
        ("last frame", _number(scene, b"SCENE_LASTFRAME")),
        ("frames per second", _number(scene, b"SCENE_FRAMESPEED")),
        ("ticks per frame", _number(scene, b"SCENE_TICKSPERFRAME")),
    )
    yield _objects(document)


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
        if block.keyword == b"GROUP":
            table.add(block.values[0] if block.values else None, "group", None, None, None, 0)
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


VERSIONS = (200, 110)
_COUNTS = {
    b"MESH_NUMVERTEX": (b"MESH_VERTEX_LIST", "vertices"),
    b"MESH_NUMFACES": (b"MESH_FACE_LIST", "faces"),
    b"MESH_NUMTVERTEX": (b"MESH_TVERTLIST", "texture vertices"),
    b"MESH_NUMTVFACES": (b"MESH_TFACELIST", "texture faces"),
    b"MESH_NUMCVERTEX": (b"MESH_CVERTLIST", "colours"),
    b"MESH_NUMCVFACES": (b"MESH_CFACELIST", "colour faces"),
}


def apply_rules(document: Document, scene: Scene | None, reporter: Reporter) -> None:
    """Check the records of a document and report issues."""
    ticks_per_frame = 160.0
    nodes: list[tuple[Record, bytes]] = []
    for record in document.find(Record):
        if isinstance(record, Line):
            _check_line(reporter, record)
        elif isinstance(record, records.Table):
            # the scene reader checks the numbers of `Keys` and `NumberTable`
            if scene is None or not isinstance(record, (Keys, NumberTable)):
                field_names = [plan.name for plan in record.plan.fields if plan.name != "names"]
                check_fields(reporter, record, field_names)
            if isinstance(record, Keys):
                _check_keys(reporter, record, ticks_per_frame)
        elif isinstance(record, Block):
            if record.keyword == b"SCENE":
                ticks_per_frame = record.number(b"SCENE_TICKSPERFRAME", ticks_per_frame) or ticks_per_frame
                _check_scene(reporter, record)
            elif record.keyword in NODES and (name := record.name(b"NODE_NAME")) is not None:
                nodes.append((record, name))
            elif record.keyword in (b"MESH", b"MESH_MAPPINGCHANNEL"):
                _check_counts(reporter, record)
            elif record.keyword == b"MATERIAL_LIST":
                _check_count(reporter, record, b"MATERIAL_COUNT", len(record.blocks(b"MATERIAL")), "materials")
            elif record.keyword in (b"MATERIAL", b"SUBMATERIAL"):
                _check_count(reporter, record, b"NUMSUBMTLS", len(record.blocks(b"SUBMATERIAL")), "sub-materials")
    check_unique(reporter, "nodes", "node_name", nodes)


def _check_line(reporter: Reporter, line: Line) -> None:
    value = line.values[0] if line.values else None
    non_finite = [
        index for index, item in enumerate(line.values) if isinstance(item, float) and not math.isfinite(item)
    ]
    if non_finite:
        reporter.report(DATA_NON_FINITE, line, "values", count=len(non_finite), index=non_finite[0])
    if line.keyword == b"3DSMAX_ASCIIEXPORT" and value not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        reporter.report(SEM_UNKNOWN_VERSION, line, "values", version=value, known=known)
    elif line.keyword in (b"NODE_NAME", b"MATERIAL_NAME") and isinstance(value, bytes):
        check_name(reporter, line, "values", value)
    elif line.keyword == b"BITMAP" and isinstance(value, bytes):
        check_file_name(reporter, line, "values", value)


def _check_scene(reporter: Reporter, block: Block) -> None:
    first, last = block.number(b"SCENE_FIRSTFRAME", 0), block.number(b"SCENE_LASTFRAME", 0)
    check_range(reporter, block, "scene_lastframe", int(first), int(last))
    for name, unit in ((b"SCENE_FRAMESPEED", "frames per second"), (b"SCENE_TICKSPERFRAME", "ticks per frame")):
        rate = block.number(name, 1)
        if rate <= 0:
            reporter.report(DATA_RATE_INVALID, block, name.decode().lower(), rate=f"{rate:g} {unit}")


def _check_counts(reporter: Reporter, mesh: Block) -> None:
    """Report counts that differ from the length of their table; counts without a table are not checked."""
    sizes = {table.keyword: len(table.index) for table in mesh.children if isinstance(table, (NumberTable, FaceList))}
    for name, (table, noun) in _COUNTS.items():
        if table in sizes:
            _check_count(reporter, mesh, name, sizes[table], noun)


def _check_count(reporter: Reporter, block: Block, name: bytes, count: int, noun: str) -> None:
    claimed = int(block.number(name, count))
    if claimed != count:
        reporter.report(LINK_COUNT_MISMATCH, block, name.decode().lower(), claimed=claimed, found=count, what=noun)


def _check_keys(reporter: Reporter, keys: Keys, ticks_per_frame: float) -> None:
    if not len(keys.times):
        reporter.report(SEM_EMPTY_TRACK, keys, "times", what="a controller without keys")
        return
    check_negative_times(reporter, keys, "times", keys.times)
    check_huge_times(reporter, keys, "times", keys.times, int(ticks_per_frame))
    if b"_ROT_" in keys.keyword:
        check_angles(reporter, keys, "values", keys.values[:, 3])
    if keys.keyword.endswith(b"_TCB"):
        check_tcb(reporter, keys, "values", keys.values[:, -5:-2], keys.values[:, -2:])


class AseBridge(Bridge[Options]):
    options = Options
    check = staticmethod(apply_rules)
    summarise = staticmethod(summarise)
    describe = staticmethod(describe)

    def read(self, document: Document, options: Options) -> Scene:
        return read_scene(document, options)[0]

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.ase.bridge.merging import Merger
        from keyframer.formats.ase.bridge.writing import Writer

        return Writer(Merger())


BRIDGE = AseBridge()
