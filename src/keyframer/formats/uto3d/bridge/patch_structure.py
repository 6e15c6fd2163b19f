"""Records that come into a U3D document or go from it; all others stay as they are.

What goes takes its controllers along; new records stand behind those of their section, with new ids.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from keyframer.formats._matching import Matching, new_parts
from keyframer.formats.document import Document
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    NamesThatFit,
    Tolerance,
    Unpatchable,
    plain_path,
    units_per_second,
)
from keyframer.formats.kit.unsupported_features import tell_dropped
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.options import Options
from keyframer.formats.uto3d.bridge.scene import is_flexporter, node_records, position_scale
from keyframer.formats.uto3d.bridge.writing import HOLDS, RecordWriter, WriteOptions
from keyframer.formats.uto3d.dialect import Dialect, LightLayout, dialect_of
from keyframer.formats.uto3d.sections import SECTIONS, FileHeader, RawRest, Section, home_of
from keyframer.scene import NodeKind, Scene
from keyframer.scene.report import LossReport, Outcome
from keyframer.wire.record import Record

_DIALECTS = {LightLayout.FLEXPORTER: "A", LightLayout.MAXSCRIPT: "B", LightLayout.LITERAL: "literal"}


def anchors(document: Document, options: Options) -> tuple[list[Record], list[Record]]:
    """The records of nodes and of materials."""
    return node_records(document), list(document.find(r.Material))


def restructure(
    document: Document, options: Options, before: Scene, after: Scene, matching: Matching, report: LossReport
) -> tuple[dict[int, Record], dict[int, Record]]:
    """Take out what is gone and put in what is new; the records of new nodes and materials by their numbers."""
    records: list[Any] = node_records(document)
    paints = list(document.find(r.Material))
    _take_out(document, [records[old] for old in matching.gone_nodes(before)])
    _take_out_materials(document, before, set(matching.materials.values()), report)
    materials = _put_in_materials(document, options, after, matching, report)
    known = {new: records[old] for new, old in matching.nodes.items()}
    ids = {number: record.id for number, record in materials.items()}
    ids |= {new: paints[old].id for new, old in matching.materials.items()}
    nodes = _put_in_nodes(document, options, after, known, [ids[i] for i in range(len(after.materials))], report)
    if isinstance(document.dialect, Dialect):
        document.dialect = _dialect(document)
    return nodes, dict(materials)


def _dialect(document: Document) -> Dialect:
    try:
        return dialect_of(document.find(Record))
    except ValueError as error:
        raise Unpatchable(str(error)) from None


def _take_out(document: Document, gone: list[Any]) -> None:
    """Nodes, and the controllers that move them; what hung on them or looked at them does so no more."""
    _remove(document, gone)
    left = {each.id for each in node_records(document)}  # type: ignore[attr-defined]
    ids = {each.id for each in gone} - left
    kinds = (r.Controller, r.SampledController)
    moved = [each for each in document.find(r.AnyController) if isinstance(each, kinds)]
    _remove(document, [each for each in moved if each.owner_id in ids])
    things: list[Any] = node_records(document)
    for thing in things:
        if thing.parent_id in ids:
            thing.parent_id = -1
        if isinstance(thing, (r.Camera, r.Light)) and thing.target_id in ids:
            thing.target_id = -1


def _take_out_materials(document: Document, before: Scene, kept: set[int], report: LossReport) -> None:
    """Materials, and what faces say of them."""
    paints = list(document.find(r.Material))
    gone = [number for number in range(len(paints)) if number not in kept]
    ids = {paints[number].id for number in gone} - {paints[number].id for number in kept}
    for mesh in document.find(r.Mesh) if ids else ():
        lost = np.isin(np.asarray(mesh.face_materials), sorted(ids))
        if lost.any():
            mesh.face_materials = np.where(lost, -1, mesh.face_materials).astype("<i4")
    for number in gone:
        path = plain_path("materials", before.materials[number].name)
        report.add(Outcome.EXACT, path, "was taken out of the original")
    _remove(document, [paints[number] for number in gone])


def _remove(document: Document, gone: list[Any]) -> None:
    numbers = {id(each) for each in gone}
    for section in document.find(Section):
        if any(id(each) in numbers for each in section.children):
            section.children = [each for each in section.children if id(each) not in numbers]


def _put_in_materials(
    document: Document, options: Options, after: Scene, matching: Matching, report: LossReport
) -> dict[int, r.Material]:
    there = list(document.find(r.Material))
    names = NamesThatFit(encoding=options.encoding, reserved=[each.name for each in there])
    first = max((each.id for each in there), default=0) + 1
    made: dict[int, r.Material] = {}
    for number, material in enumerate(after.materials):
        if number not in matching.materials:
            name = names.claim(material.name, material.raw_name, "material")
            made[number] = r.Material(name, first + len(made))
            words = "was added to the original: its name, the format has no more"
            report.add(Outcome.EXACT, plain_path("materials", material.name), words)
    _append(document, list(made.values()))
    return made


def _put_in_nodes(
    document: Document,
    options: Options,
    after: Scene,
    known: dict[int, Any],
    materials: list[int],
    report: LossReport,
) -> dict[int, Record]:
    new = [
        (number, node)
        for number, node in enumerate(after.nodes)
        if number not in known and node.kind is not NodeKind.AMBIENT
    ]
    if not new:
        return {}
    if not after.clips:
        raise Unpatchable("a scene without a clip")
    clip = after.clips[0]
    writer = RecordWriter(after, clip, WriteOptions(dialect=_manner(document), encoding=options.encoding), report)
    rules = KeyRules(units_per_second(clip), clip.units_per_frame, full_turns=False)
    writer.fitter = KeyFitter(clip, rules, Tolerance.of(after, DEFAULT_MAX_ERROR), report)
    there: list[Any] = [*node_records(document), *document.find(r.Controller)]
    writer.next_id = max((each.id for each in there), default=0) + 1
    writer.ids = {number: record.id for number, record in known.items()}
    for number, _ in new:
        writer.ids[number] = writer.next_id
        writer.next_id += 1
    names = [each.name for each in node_records(document)]  # type: ignore[attr-defined]
    writer.names = NamesThatFit(encoding=options.encoding, reserved=names)
    writer.known = known
    made, controllers = writer.add(new, materials)
    factor = position_scale(document, options)
    for controller in controllers:
        if controller.type == r.POSITION:
            controller.keys.value = (controller.keys.value / factor).astype("<f4")
    _append(document, [*writer.records, *controllers])
    tell_dropped(*new_parts(after, [number for number, _ in new]), report, HOLDS)
    return made


def _manner(document: Document) -> str:
    """Whose manner new records are written in: that of the others."""
    layout = document.dialect if isinstance(document.dialect, Dialect) else Dialect()
    if layout.lights is not None:
        return _DIALECTS[layout.lights]
    return "A" if is_flexporter(document) else "B"


def _append(document: Document, records: list[Any]) -> None:
    """Records behind those of their sections; a section that is missing is made in its place."""
    for record in records:
        section = _section(document, record)
        place = next((i for i, each in enumerate(section.children) if isinstance(each, RawRest)), len(section.children))
        section.children.insert(place, record)


def _section(document: Document, record: Record) -> Section:
    kind, header = home_of(record), document.first(FileHeader)
    if kind is None or header is None:
        raise Unpatchable("there is no place for it")
    for part in header.children:
        if type(part) is kind:
            return part
    made = kind()
    order = [type(part) for part in header.children]
    later = [order.index(each) for each in (*SECTIONS[SECTIONS.index(kind) + 1 :], RawRest) if each in order]
    header.children.insert(min(later, default=len(order)), made)
    return made
