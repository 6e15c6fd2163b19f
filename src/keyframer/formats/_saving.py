"""Write a scene to a document: write the edits into the original, if any, or make a new document.

What did not change keeps its records (`merging`). The report says what became of each edit. If the original cannot
store an edit, a new document is written, and the report gives the reason and the data of the original that is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from keyframer.errors import FormatError
from keyframer.formats._arrival import Arrival
from keyframer.formats._matching import (
    NODE_LINKS,
    Comparison,
    Matching,
    Path,
    identity_matching,
    match,
    new_parts,
    path_text,
    reorder_parts,
    tracks_by_node_and_kind,
)
from keyframer.formats.bridge import Merger, Original
from keyframer.formats.contract import Format, make_options
from keyframer.formats.document import Document
from keyframer.formats.guard import GcPaused
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.mesh_writing import with_moved_vertices
from keyframer.formats.kit.scene_writing import (
    CannotMerge,
    Written,
    plain_path,
    without_invalid_links,
)
from keyframer.formats.kit.unsupported_features import MOTION, REPORTED_PARTS, all_fields, report_dropped
from keyframer.formats.merging import Tree, apply_changes
from keyframer.limits import budgeted, spend
from keyframer.posing.bounds_and_duration import measured_once
from keyframer.scene import NodeKind, Scene
from keyframer.scene.loss_report import Loss, LossReport, Outcome
from keyframer.scene.losses import (
    CLIPS_UNSUPPORTED,
    EDIT_NOT_STORED,
    EDIT_WRITTEN,
    LINK_INVALID,
    NODES_UNSUPPORTED,
    ORIGINAL_DATA_LOST,
    ORIGINAL_REWRITTEN,
    ORIGINAL_UNCHANGED,
    TRANSFORM_APPLIED,
)
from keyframer.scene.moving import METHODS
from keyframer.text import plural
from keyframer.wire.record import Raw, Record

_EXACT = Comparison()
_AFTER_AXIS_CHANGES = Comparison(1e-12)
"""comparison with a tolerance for float64 numbers after two changes of axes"""
_LAYOUT_INDEPENDENT_OPTIONS = {"max_error", "companion"}
"""writer options that do not affect the layout of the file"""


def write_scene(format: Format, scene: Scene, options: dict[str, object]) -> Written:
    """Write a scene as a document of a format, merged into its original if possible."""
    writer = format.scene_writer()
    chosen = make_options(format.name, writer.options, options)
    with budgeted(size=scene.stored_bytes), np.errstate(all="ignore"), measured_once():
        scene, removed_links = without_invalid_links(scene)
        with GcPaused():
            merged = _merged(format, writer.merger, scene, options)
        if isinstance(merged, Written):
            written = merged
        else:
            spend("nodes", len(scene.nodes), "/nodes")  # writing one takes 0.5 ms; in glTF a node may have only 3 bytes
            written = writer.write(scene, chosen)
    for path, reason in removed_links:
        written.report.add(LINK_INVALID, path, problem=reason)
    if isinstance(merged, str) and scene.origin is not None:
        _report_rewrite(scene.origin.document, written, merged, writer.merger.equivalent_records)
    return written


def _merged(format: Format, merger: Merger[Any], scene: Scene, options: dict[str, object]) -> Written | str | None:
    """Return the original with the edits, or why it cannot be edited; None without an original of this format."""
    origin = scene.origin
    if origin is None or origin.document.format.name != format.name:
        return None
    original: Document = origin.document
    if scene.issues.first_unsafe() is not None:
        return "unsafe parts of the original are left out"
    requested = {name: value for name, value in options.items() if name not in _LAYOUT_INDEPENDENT_OPTIONS}
    if not merger.keeps_layout(original, requested, origin.options):
        return "a different layout was requested"
    reader_options = dict(origin.options)
    bridge = format.scene_bridge()
    chosen = make_options(format.name, bridge.options, reader_options, bridge.internal_options)
    with budgeted(original.limits, original.size):
        before, links = merger.read(original, chosen)
    report = LossReport(format.name)
    metres_per_unit = (scene.space.metres_per_unit if merger.stores_unit else None) or before.space.metres_per_unit
    after = in_space(scene, replace(before.space, metres_per_unit=metres_per_unit))
    comparison = _EXACT if after is scene else _AFTER_AXIS_CHANGES
    try:
        after = merger.normalise(_without_extra_clips(after, before, report), before, report)
        matching = match(before, after)
        changed = comparison.scenes(before, after) if matching.same_numbers else None
        if matching.same_numbers and not changed:
            report.add(ORIGINAL_UNCHANGED, "/")
            companions = merger.companion_files(original, reader_options)
            return merger.choose_file(Written(original, report, companions), requested)
        if after.clips and tracks_by_node_and_kind(after.clips[0]) is None:
            raise CannotMerge("a node has two tracks of one kind")
        reordered_before = before
        if not matching.same_numbers:
            reordered_before = reorder_parts(before, after, matching.nodes, matching.materials)
        if before.skins:
            after, changed = with_moved_vertices(after, reordered_before), None
        if changed is None:
            changed = comparison.scenes(reordered_before, after)
        edit = _Edit(merger, Original(original, before, chosen, matching, links), after, changed, report, {})
        document, added_options = (_rewritten_table if merger.is_table else _merged_records)(edit)
        try:
            data = format.encode(document)
        except FormatError as error:
            raise CannotMerge(str(error)) from None
        reader_options |= added_options
        if edit.doubtful:
            with budgeted(original.limits, original.size):
                reading = make_options(format.name, bridge.options, reader_options, bridge.internal_options)
                written, _ = merger.read(format.decode(data, original.limits), reading)
            _report_doubtful(edit, written)
        companions = merger.companion_files(document, reader_options)
        return merger.choose_file(Written(document, report, companions, data=data), requested)
    except (CannotMerge, ArithmeticError, ValueError) as error:  # for example a rate or lens of 0 or NaN
        return str(error)


def _without_extra_clips(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """Return the scene with at most as many clips as the original has, or one; further clips are reported."""
    most = max(len(before.clips), 1)
    for clip in scene.clips[most:]:
        report.add(CLIPS_UNSUPPORTED["second"], f"/clips/{clip.name}")
    return scene if len(scene.clips) <= most else replace(scene, clips=scene.clips[:most])


def _rewritten_table(edit: _Edit) -> tuple[Document, Mapping[str, object]]:
    """Return a document of one table, written anew, and further options that its readers need: changed companions."""
    written = edit.merger.write(edit.after, edit.original._replace(changes=frozenset(edit.changes)))
    _report_edits(edit, LossReport(""), written, (), ())
    return written.document, written.reader_options


def _merged_records(edit: _Edit) -> tuple[Document, Mapping[str, object]]:
    """Return the original with the records that differ between the scene as it was read and the edited one."""
    original, merger, after = edit.original, edit.merger, edit.after
    before, matching = original.scene, original.matching
    untouched = _untouched(after, before, edit.changes) if matching.same_numbers else frozenset[int]()
    base = merger.write(before, original._replace(matching=identity_matching(before), untouched=untouched))
    theirs = merger.write(after, original._replace(untouched=untouched))
    ours = merger.tree(original.document, before, original.links)
    parts: Any = theirs.parts
    keys = {record: (kind, matching.key(number, kind), *rest) for record, (kind, number, *rest) in parts.items()}
    edited = apply_changes(ours, Tree(base.document, base.parts), Tree(theirs.document, keys), merger.rules)
    _report_removed_unknown(edit, edited.document, ours)
    _report_edits(edit, base.report, theirs, edited.changed, untouched)
    return merger.finish(edited.document), {}


def _untouched(after: Scene, before: Scene, changes: list[Path]) -> frozenset[int]:
    """Return the nodes that an edit does not affect, of two scenes with the same nodes.

    A node is affected if the node, its mesh, camera, light, skin or tracks changed, or if its parent, its target, a
    joint of its skin or a node aimed at it is affected. The set is empty if a change may affect all nodes.
    """
    touched: set[int] = set()
    for path in changes:
        match path:
            case ("materials", int(), name, *_) if name != "name":
                pass
            case ("environment", *_) | ("title" | "author" | "copyright",) | ("clips", 0, "name" | "start" | "end"):
                pass
            case _:
                parts = _parts_of(after, path)
                if not parts or path[0] == "materials":
                    return frozenset()
                touched |= {number for _, number in parts}
    affected: dict[int | None, set[int | None]] = {}
    for scene in (before, after):
        for number, node in enumerate(scene.nodes):
            joints = () if node.skin is None else scene.skins[node.skin].joints
            for other in (node.parent, node.target, *joints):
                affected.setdefault(other, set()).add(number)
            affected.setdefault(number, set()).add(node.target)
    added = set(touched)
    while added:
        added = {number for other in added for number in affected[other] if number is not None} - touched
        touched |= added
    return frozenset(range(len(after.nodes))) - touched


_MOST_LISTED = 100
"""maximum number of places with unknown bytes that are listed one by one"""


class _Edit(NamedTuple):
    """An edited scene, to be written into its original."""

    merger: Merger[Any]
    original: Original
    after: Scene
    """the edited scene"""
    changes: list[Path]
    """the fields that differ from the original scene"""
    report: LossReport
    doubtful: dict[Path, str | None]
    """changed fields without a changed record that stores them, and the kind of a track that overrides them"""


def _report_edits(
    edit: _Edit,
    base: LossReport,
    theirs: Written,
    changed_records: Collection[Hashable],
    untouched: Collection[int],
) -> None:
    """Report losses that the scene as read does not have, new and removed parts, changed and dropped fields.

    ``changed_records`` are the parts (with their keys) that have changed records.
    """
    edit.report.losses += _new_losses(edit, base, theirs.report)
    named = {loss.path for loss in edit.report}
    parts_with_records: Any = theirs.parts.values()
    stored = {part[:2] for part in parts_with_records} | {("nodes", number) for number in untouched}
    for kind in ("materials", "nodes"):
        numbers = {number for stored_kind, number in stored if stored_kind == kind}
        _report_parts(edit.report, kind, edit.after, edit.original.matching, numbers)
    changes = _Changes(edit, changed_records, named, has_materials=any(kind == "materials" for kind, _ in stored))
    for path in edit.changes:
        changes.report(path)


def _new_losses(edit: _Edit, base: LossReport, theirs: LossReport) -> list[Loss]:
    """Return the losses of the edited scene that the scene as it was read does not have; ``theirs`` gets those of new
    nodes and materials."""
    new = new_parts(edit.after, edit.original.matching)
    if new[0].nodes or new[0].materials:
        report_dropped(*new, theirs, edit.merger.capabilities(edit.original.document).handled | {"segment"})
    known = {(loss.type, loss.outcome, loss.path, loss.detail) for loss in base}
    return [
        loss
        for loss in theirs
        if loss.outcome is not Outcome.EXACT and (loss.type, loss.outcome, loss.path, loss.detail) not in known
    ]


class _Changes:
    """Reports what became of each changed field."""

    def __init__(
        self, edit: _Edit, changed_records: Collection[Hashable], named: Collection[str], *, has_materials: bool
    ) -> None:
        """``changed_records`` are the parts with changed records, ``named`` the paths of losses, which need no second
        word; ``has_materials``: whether materials have records of their own."""
        clips = edit.after.clips
        self.edit, self.named, self.has_materials = edit, named, has_materials
        self.changed = {part[:2] if isinstance(part, tuple) else part for part in changed_records}
        self.names = {path.split("/")[2] for path in named if path.count("/") > 1}
        self.tracks = (tracks_by_node_and_kind(clips[0]) if clips else None) or {}
        self.capabilities = edit.merger.capabilities(edit.original.document).handled

    def report(self, path: Path) -> None:
        """Report a field as written, unless nothing shows that it was: then it is doubtful."""
        edit, after = self.edit, self.edit.after
        parts = _parts_of(after, path)
        if path[0] == "materials" and not self.has_materials:
            parts = [("nodes", i) for i, node in enumerate(after.nodes) if node.mesh is not None]
        if parts and all(number not in getattr(edit.original.matching, kind) for kind, number in parts):
            return  # reported as new
        overridden = self._overridden(path)
        if overridden is None and self._is_written(path, parts):
            edit.report.add(EDIT_WRITTEN["changed"], path_text(path))
        elif _part_name(after, path) not in self.names and path_text(path) not in self.named:
            edit.doubtful[path] = overridden

    def _is_written(self, path: Path, parts: list[tuple[str, int]]) -> bool:
        """Return whether a record of these parts changed, or the table of the format stores the field."""
        merger, matching = self.edit.merger, self.edit.original.matching
        keys: set[Hashable] = {(kind, matching.key(number, kind)) for kind, number in parts} or {None}
        is_written = merger.stores(self.edit.after, path) if merger.is_table else bool(keys & self.changed)
        return is_written and _is_storable(self.edit.after, path, self.capabilities)

    def _overridden(self, path: Path) -> str | None:
        """Return the kind of the track of the node that overrides a rest value; None if none does."""
        track = _REST_FIELDS.get(str(path[-1])) if path[0] == "nodes" else None
        return track if track is not None and (path[1], track) in self.tracks else None


def _report_doubtful(edit: _Edit, written: Scene) -> None:
    """Report the doubtful fields that are different in the scene of the written file as dropped, others as exact.

    A file may express a field by others: the rest position of a node by its keys. The rest value of a node cannot be
    seen if a track overrides it, so it arrived if the track was changed, too. The axes of a mesh are where its vertices
    were stored, which shows nowhere: files have those of the node at rest.
    """
    arrival = Arrival(edit.after, written)
    for path, overriding in edit.doubtful.items():
        track = ("clips", 0, "channels", path[1], _REST_FIELDS.get(str(path[-1]), "")) if path[0] == "nodes" else ()
        if arrival.of(path) or (track in edit.changes and arrival.of(track)):
            edit.report.add(EDIT_WRITTEN["changed"], path_text(path))
        elif path[-1] == "axes" and arrival.of((*path[:-1], "positions")):
            edit.report.add(TRANSFORM_APPLIED["mesh axes"], path_text(path))
        elif overriding is None:
            edit.report.add(EDIT_NOT_STORED["unsupported"], path_text(path))
        else:
            instead = f"use scene.{METHODS[overriding]}, " if overriding in METHODS else ""
            advice = instead + EDIT_NOT_STORED["overridden"].advice
            edit.report.add(EDIT_NOT_STORED["overridden"], path_text(path), advice=advice, kind=overriding)


def _parts_of(scene: Scene, path: Path) -> list[tuple[str, int]]:
    """Return the nodes or the material that a field belongs to; none for fields of the scene and its clips."""
    match path:
        case ("nodes" | "materials" as kind, int(number), *_):
            return [(kind, number)]
        case ("clips", 0, "channels", int(number), *_):
            return [("nodes", number)]
        case ("meshes" | "cameras" | "lights" | "skins" as kind, int(number), *_):
            name = next(field for field, parts in NODE_LINKS.items() if parts == kind)
            return [("nodes", i) for i, node in enumerate(scene.nodes) if getattr(node, name) == number]
    return []


_REST_FIELDS = {"position": "position", "rotation_xyzw": "rotation", "scale": "scale", "hidden": "visible"}
"""fields of a node that tracks override, and the kind of track"""


def _is_storable(scene: Scene, path: Path, capabilities: Collection[str]) -> bool:
    """Return whether the format can store a field or a kind of track, as far as it declares it.

    Files derive some fields from others: the name of a node is that of its mesh, camera, light and skin, and the name
    of a camera or light that of its target. The axes of a mesh follow from its node.
    """
    match path:
        case ("meshes" | "cameras" | "lights" | "skins", _, "name" | "axes"):
            return False
        case ("nodes", int(number), "name"):
            return scene.nodes[number].kind is not NodeKind.TARGET
        case ("clips", 0, "channels", int(), str(kind)):
            return kind in (*MOTION, "morph") or kind in capabilities
        case ("materials", int(), "maps", _, str(name)):
            return f"maps.{name}" in capabilities or f"maps.{name}" not in all_fields("maps")
        case (str(part), int(), str(name), *_) if part in REPORTED_PARTS and part != "clips":
            return f"{part}.{name}" in capabilities or f"{part}.{name}" not in all_fields(part)
    return True


def _part_name(scene: Scene, field: Path) -> str | None:
    """Return the name of the part that a field belongs to, as in the reports of writers.

    A channel belongs to its node. The result is None for other fields of a clip, and for fields of the scene itself.
    """
    if len(field) > 4 and field[2] == "channels":
        return scene.nodes[int(field[3])].name
    if len(field) > 1 and isinstance(field[1], int) and field[0] != "clips":
        name: str = getattr(scene, str(field[0]))[field[1]].name
        return name
    return None


def _report_removed_unknown(edit: _Edit, document: Document, ours: Tree) -> None:
    """Report unknown records that were removed with their nodes."""
    removed = set(edit.original.matching.removed_nodes())
    if not removed:
        return
    remaining = {record.offset for record in document.find(Record)}
    counts: Counter[int] = Counter()
    for record in ours.document.find(Record):
        part = ours.parts.get(id(record))
        if isinstance(part, tuple) and part[0] == "nodes" and part[1] in removed and record.offset not in remaining:
            inside = Document(document.format, [record]).find(Record)
            counts[part[1]] += sum(isinstance(record, Raw) for record in inside)
    for number, count in counts.items():
        if count:
            path = plain_path("nodes", edit.original.scene.nodes[number].name)
            edit.report.add(ORIGINAL_DATA_LOST["removed"], path, count=count)


def _report_parts(report: LossReport, kind: str, after: Scene, matching: Matching, stored: Collection[int]) -> None:
    """Report nodes or materials that were removed from an original, added to it, replaced in it, or dropped.

    ``stored`` are the numbers in ``after`` of the parts that have records.
    """
    pairs, replacements = (matching.nodes, matching.replacements) if kind == "nodes" else (matching.materials, {})
    before = getattr(matching.before, kind)
    reported = {loss.path for loss in report}
    kept = {loss.path for loss in report if loss.type is EDIT_NOT_STORED["still used"]}
    for number in sorted(set(range(len(before))) - {*pairs.values(), *replacements.values()}):
        path = plain_path(kind, before[number].name)
        if path not in kept:
            report.add(EDIT_WRITTEN["removed"], path)
    for number, part in enumerate(getattr(after, kind)):
        path = plain_path(kind, part.name)
        if number not in pairs and number in stored:
            report.add(EDIT_WRITTEN["replaced"] if number in replacements else EDIT_WRITTEN["added"], path)
        elif number not in pairs and kind == "nodes" and path not in reported:
            report.add(NODES_UNSUPPORTED["kind"], path, nodes=plural(part.kind.noun))


def _report_rewrite(
    original: Document, written: Written, reason: str, equivalent_records: tuple[type[Record], ...] = ()
) -> None:
    """Report that a new document was written, and which data of the original is lost.

    ``equivalent_records`` are types of records that the writer replaces by equivalent ones.
    """
    report = written.report
    report.add(ORIGINAL_REWRITTEN, "/", reason=reason)
    unknown = _unknown(original)
    for path, size in unknown[:_MOST_LISTED]:
        report.add(ORIGINAL_DATA_LOST["bytes"], path, count=size)
    if len(unknown) > _MOST_LISTED:
        unlisted = unknown[_MOST_LISTED:]
        total = sum(size for _, size in unlisted)
        report.add(ORIGINAL_DATA_LOST["more bytes"], "/", count=total, places=len(unlisted))
    written_types = {type(record) for record in written.document.find(Record)}
    lost: Counter[str] = Counter()
    for record in original.find(Record):
        if type(record) not in written_types and not isinstance(record, (Raw, *equivalent_records)):
            lost[type(record).__name__] += 1
    if lost:
        records = ", ".join(f"{count} {name}" for name, count in sorted(lost.items()))
        report.add(ORIGINAL_DATA_LOST["records"], "/", records=records)


def _unknown(original: Document) -> list[tuple[str, int]]:
    """Return path and size of all raw records, tails of records and trailing bytes."""
    unknown = []
    for place, record in original.walk():
        if isinstance(record, Raw):
            unknown.append((str(place), len(record.data)))
        if record.tail:
            unknown.append((f"{place}/tail", len(record.tail)))
    if original.trailing:
        unknown.append(("/trailing", len(original.trailing)))
    return unknown
