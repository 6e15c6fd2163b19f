"""Report an edit of an original: written and dropped fields, added and removed parts, data that a new file lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable
from typing import Any, NamedTuple

from keyframer.formats._matching import NODE_LINKS, Matching, new_parts
from keyframer.formats._scene_differences import Path, path_text, tracks_by_node_and_kind
from keyframer.formats.bridge import Merger, Original
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import STILL_USED, Written, plain_path
from keyframer.formats.kit.unsupported_features import MOTION, REPORTED_PARTS, all_fields, report_dropped
from keyframer.formats.merging import Tree
from keyframer.scene import NodeKind, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted, plural
from keyframer.wire.record import Raw, Record

_NOT_STORED = "the format cannot store it, or other parts of the scene override it"
_OVERRIDDEN = "the {kind} track of the node overrides it: change the keys of the track, or remove its channel"
_MOST_LISTED = 100
"""maximum number of places with unknown bytes that are listed one by one"""


class Edit(NamedTuple):
    """An edited scene, to be written into its original."""

    merger: Merger[Any]
    original: Original
    after: Scene
    """the edited scene"""
    changes: list[Path]
    """the fields that differ from the original scene"""
    report: LossReport


def report_edits(
    edit: Edit,
    base: LossReport,
    theirs: Written,
    changed_records: Collection[Hashable],
    untouched: Collection[int],
) -> None:
    """Report losses that the scene as read does not have, new and removed parts, changed and dropped fields.

    ``changed_records`` are the parts (with their keys) that have changed records.
    """
    matching, merger, after, report = edit.original.matching, edit.merger, edit.after, edit.report
    capabilities = merger.capabilities(edit.original.document).handled
    new = new_parts(after, matching)
    if new[0].nodes or new[0].materials:
        report_dropped(*new, theirs.report, capabilities | {"segment"})
    base_losses = {(loss.outcome, loss.path, loss.detail) for loss in base}
    report.losses += [
        loss
        for loss in theirs.report
        if loss.outcome is not Outcome.EXACT and (loss.outcome, loss.path, loss.detail) not in base_losses
    ]
    reported = {loss.path for loss in report}
    parts_with_records: Any = theirs.parts.values()
    stored = {part[:2] for part in parts_with_records} | {("nodes", number) for number in untouched}
    for kind in ("materials", "nodes"):
        numbers = {part[1] for part in stored if part[0] == kind}
        _report_parts(report, kind, after, matching, numbers)
    names = {path.split("/")[2] for path in reported if path.count("/") > 1}
    written = {part[:2] if isinstance(part, tuple) else part for part in changed_records}
    tracks = (tracks_by_node_and_kind(after.clips[0]) if after.clips else None) or {}
    for path in edit.changes:
        parts = parts_of(after, path)
        if path[0] == "materials" and not any(part[0] == "materials" for part in stored):
            parts = [("nodes", i) for i, node in enumerate(after.nodes) if node.mesh is not None]
        if parts and all(number not in getattr(matching, kind) for kind, number in parts):
            continue  # reported as new
        keys: set[Hashable] = {(kind, matching.key(number, kind)) for kind, number in parts} or {None}
        is_written = merger.stores(after, path) if merger.is_table else bool(keys & written)
        track = _REST_FIELDS.get(str(path[-1])) if path[0] == "nodes" else None
        is_overridden = track is not None and (path[1], track) in tracks
        if not is_written or is_overridden or not _is_storable(after, path, capabilities):
            if _part_name(after, path) not in names and path_text(path) not in reported:
                reason = _OVERRIDDEN.format(kind=track) if is_overridden else _NOT_STORED
                report.add(Outcome.DROPPED, path_text(path), reason)
        else:
            report.add(Outcome.EXACT, path_text(path), "written into the original document")


def parts_of(scene: Scene, path: Path) -> list[tuple[str, int]]:
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


def report_removed_unknown(edit: Edit, document: Document, ours: Tree) -> None:
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
            message = f"removed with {counted(count, 'unknown record')} inside it"
            edit.report.add(Outcome.DROPPED, plain_path("nodes", edit.original.scene.nodes[number].name), message)


def _report_parts(report: LossReport, kind: str, after: Scene, matching: Matching, stored: Collection[int]) -> None:
    """Report nodes or materials that were removed from an original, added to it, replaced in it, or dropped.

    ``stored`` are the numbers in ``after`` of the parts that have records.
    """
    pairs, replacements = (matching.nodes, matching.replacements) if kind == "nodes" else (matching.materials, {})
    before = getattr(matching.before, kind)
    reported = {loss.path for loss in report}
    kept = {loss.path for loss in report if loss.detail == STILL_USED}
    for number in sorted(set(range(len(before))) - {*pairs.values(), *replacements.values()}):
        path = plain_path(kind, before[number].name)
        if path not in kept:
            report.add(Outcome.EXACT, path, "removed from the original")
    for number, part in enumerate(getattr(after, kind)):
        path = plain_path(kind, part.name)
        if number not in pairs and number in stored:
            report.add(Outcome.EXACT, path, f"{'replaced in' if number in replacements else 'added to'} the original")
        elif number not in pairs and kind == "nodes" and path not in reported:
            report.add(Outcome.DROPPED, path, f"{plural(part.kind.noun)} cannot be stored in this format")


def report_rewrite(
    original: Document, written: Written, reason: str, equivalent_records: tuple[type[Record], ...] = ()
) -> None:
    """Report that a new document was written, and which data of the original is lost.

    ``equivalent_records`` are types of records that the writer replaces by equivalent ones.
    """
    report = written.report
    report.add(Outcome.BAKED, "/", f"the original could not be edited in place ({reason}): a new file was written")
    unknown = _unknown(original)
    for path, size in unknown[:_MOST_LISTED]:
        report.add(Outcome.DROPPED, path, f"{counted(size, 'unknown byte')} of the original")
    if len(unknown) > _MOST_LISTED:
        unlisted = unknown[_MOST_LISTED:]
        total = counted(sum(size for _, size in unlisted), "more unknown byte")
        message = f"{total} in {counted(len(unlisted), 'place')}"
        report.add(Outcome.DROPPED, "/", message)
    written_types = {type(record) for record in written.document.find(Record)}
    lost: Counter[str] = Counter()
    for record in original.find(Record):
        if type(record) not in written_types and not isinstance(record, (Raw, *equivalent_records)):
            lost[type(record).__name__] += 1
    if lost:
        message = ", ".join(f"{count} {name}" for name, count in sorted(lost.items()))
        report.add(Outcome.DROPPED, "/", f"records of the original that the new file does not have: {message}")


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
