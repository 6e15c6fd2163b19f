"""Checks of ASE files beyond those of the reader."""

from __future__ import annotations

import math

from keyframer.catalogue import (
    DATA_NON_FINITE,
    DATA_RATE_INVALID,
    LINK_COUNT_MISMATCH,
    SEM_EMPTY_TRACK,
    SEM_UNKNOWN_VERSION,
)
from keyframer.formats.ase.keywords import NODES
from keyframer.formats.ase.records import Block, FaceList, Keys, Line, NumberTable, Table
from keyframer.formats.bridge import Reporter
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
from keyframer.scene import Scene
from keyframer.wire.record import Record

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
        elif isinstance(record, Table):
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
