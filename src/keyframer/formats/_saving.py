"""Write a scene to a document: write the edits into the original, if any, or make a new document.

What did not change keeps its records (`merging`). The report of the writer says what is lost. If the original cannot
store an edit, a new document is written, and the report gives the reason and the data of the original that is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyframer.errors import FormatError
from keyframer.formats._matching import (
    NODE_LINKS,
    Matching,
    identity_matching,
    match,
    new_parts,
    reorder_parts,
)
from keyframer.formats._rewrite_report import report_parts, report_rewrite
from keyframer.formats._scene_differences import Comparison, Path, path_text, tracks_by_node_and_kind
from keyframer.formats.bridge import Merger, Original
from keyframer.formats.contract import Format, make_options
from keyframer.formats.document import Document
from keyframer.formats.guard import GcPaused
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.scene_writing import CannotMerge, Written, plain_path, without_invalid_links
from keyframer.formats.kit.unsupported_features import MOTION, REPORTED_PARTS, all_fields, report_dropped
from keyframer.formats.merging import Tree, apply_changes
from keyframer.limits import budgeted, spend
from keyframer.posing.bounds_and_duration import measured_once
from keyframer.scene import NodeKind, Scene
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import counted
from keyframer.wire.record import Raw, Record

_EXACT = Comparison()
_AFTER_AXIS_CHANGES = Comparison(1e-12)
"""comparison with a tolerance for float64 numbers after two changes of axes"""
_LAYOUT_INDEPENDENT_OPTIONS = {"max_error", "companion"}
"""writer options that do not affect the layout of the file"""
_NOT_STORED = "the format cannot store it, or other parts of the scene override it"
_OVERRIDDEN = "the {kind} track of the node overrides it: change the keys of the track, or remove its channel"


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
            written = writer.from_scene(scene, chosen)
    for path, reason in removed_links:
        written.report.add(Outcome.DROPPED, path, reason)
    if isinstance(merged, str) and scene.origin is not None:
        report_rewrite(scene.origin.document, written, merged, writer.merger.equivalent_records)
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
            report.add(Outcome.EXACT, "/", "no changes: the original was written unmodified")
            companions = merger.companion_files(original, reader_options)
            return merger.choose_file(Written(original, report, companions), requested)
        editing = _Editing(
            format, merger, Original(original, before, chosen, matching, links), reader_options, after, report
        )
        return merger.choose_file(editing.written(comparison, changed), requested)
    except (CannotMerge, ArithmeticError, ValueError) as error:  # for example a rate or lens of 0 or NaN
        return str(error)


def _without_extra_clips(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """Return the scene with at most as many clips as the original has, or one; further clips are reported."""
    most = max(len(before.clips), 1)
    for clip in scene.clips[most:]:
        report.add(Outcome.DROPPED, f"/clips/{clip.name}", "the format can store only one clip")
    return scene if len(scene.clips) <= most else replace(scene, clips=scene.clips[:most])


@dataclass(eq=False)
class _Editing:
    """Writes one edit into the original."""

    format: Format
    merger: Merger[Any]
    original: Original
    reader_options: dict[str, object]
    after: Scene
    report: LossReport

    def written(self, comparison: Comparison, known_changes: list[Path] | None) -> Written:
        """Return the original with the edit; raises `CannotMerge` if the original cannot store it.

        ``known_changes`` are the changed fields if parts have the same numbers in both scenes, else None.
        """
        document, before, matching = self.original.document, self.original.scene, self.original.matching
        if self.after.clips and tracks_by_node_and_kind(self.after.clips[0]) is None:
            raise CannotMerge("a node has two tracks of one kind")
        reordered_before = before
        if not matching.same_numbers:
            reordered_before = reorder_parts(before, self.after, matching.nodes, matching.materials)
        edited = self.after
        after = self.after = self.merger.align(edited, reordered_before, self.report)
        changes = known_changes
        if changes is None or after is not edited:
            changes = comparison.scenes(reordered_before, after)
        untouched: frozenset[int] = frozenset()
        if known_changes is not None:
            untouched = _untouched(after, before, changes, self.merger.stores_local)
        unedited = self.original._replace(matching=identity_matching(before), untouched=untouched)
        base = self.merger.write(before, unedited)
        theirs = self.merger.write(after, self.original._replace(untouched=untouched))
        ours = self.merger.tree(document, before, self.original.links)
        theirs_with_part_keys = Tree(theirs.document, _with_part_keys(theirs.parts, matching))
        result = apply_changes(ours, Tree(base.document, base.parts), theirs_with_part_keys, self.merger.rules)
        edited_document, added_options = self.merger.finish(result, theirs, self.original)
        try:
            data = self.format.encode(edited_document)
        except FormatError as error:
            raise CannotMerge(str(error)) from None
        self._report_removed_unknown(edited_document, ours)
        parts: Any = theirs.parts.values()
        stored = {part[:2] for part in parts} | {("nodes", number) for number in untouched}
        self._report_edits(base.report, theirs.report, changes, result.changed, stored)
        options = {**self.reader_options, **added_options}
        return Written(edited_document, self.report, self.merger.companion_files(edited_document, options), data=data)

    def _report_removed_unknown(self, document: Document, ours: Tree) -> None:
        """Report unknown records that were removed with their nodes."""
        removed = set(self.original.matching.removed_nodes())
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
                self.report.add(Outcome.DROPPED, plain_path("nodes", self.original.scene.nodes[number].name), message)

    def _report_edits(
        self,
        base: LossReport,
        theirs: LossReport,
        changes: list[Path],
        changed_records: Collection[Hashable],
        stored: Collection[tuple[str, int]],
    ) -> None:
        """Report losses that the scene as read does not have, new and removed parts, changed and dropped fields.

        ``changed_records`` are the parts (with their keys) that have changed records, ``stored`` are the parts (with
        their numbers) that have records.
        """
        matching = self.original.matching
        capabilities = self.merger.capabilities(self.original.document).handled
        new = new_parts(self.after, matching)
        if new[0].nodes or new[0].materials:
            report_dropped(*new, theirs, capabilities | {"segment"})
        base_losses = {(loss.outcome, loss.path, loss.detail) for loss in base}
        self.report.losses += [
            loss
            for loss in theirs
            if loss.outcome is not Outcome.EXACT and (loss.outcome, loss.path, loss.detail) not in base_losses
        ]
        reported = {loss.path for loss in self.report}
        for kind in ("materials", "nodes"):
            numbers = {part[1] for part in stored if part[0] == kind}
            report_parts(self.report, kind, self.after, matching, numbers)
        names = {path.split("/")[2] for path in reported if path.count("/") > 1}
        written = {part[:2] if isinstance(part, tuple) else part for part in changed_records}
        tracks = (tracks_by_node_and_kind(self.after.clips[0]) if self.after.clips else None) or {}
        for path in changes:
            parts = _parts_of(self.after, path)
            if path[0] == "materials" and not any(part[0] == "materials" for part in stored):
                parts = [("nodes", i) for i, node in enumerate(self.after.nodes) if node.mesh is not None]
            if parts and all(number not in getattr(matching, kind) for kind, number in parts):
                continue  # reported as new
            keys: set[Hashable] = {(kind, matching.key(number, kind)) for kind, number in parts} or {None}
            overriding_track = _overriding_track(path, tracks)
            is_overridden = overriding_track is not None or _has_derived_value(self.after, path)
            if not keys & written or is_overridden or not _is_storable(path, capabilities):
                if _part_name(self.after, path) not in names and path_text(path) not in reported:
                    reason = _OVERRIDDEN.format(kind=overriding_track) if overriding_track else _NOT_STORED
                    self.report.add(Outcome.DROPPED, path_text(path), reason)
            else:
                self.report.add(Outcome.EXACT, path_text(path), "written into the original document")


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


def _overriding_track(path: Path, tracks: Collection[tuple[int, str]]) -> str | None:
    """Return the kind of the track that overrides the rest transform or visibility of a node; None if there is none."""
    match path:
        case ("nodes", int(number), str(name)) if (number, _REST_FIELDS.get(name)) in tracks:
            return _REST_FIELDS[name]
    return None


def _has_derived_value(scene: Scene, path: Path) -> bool:
    """Return whether files derive a field from another part.

    The name of a node is that of its mesh, camera, light and skin, and the name of a camera or light that of its
    target. The axes of a mesh follow from its node.
    """
    match path:
        case ("meshes" | "cameras" | "lights" | "skins", _, "name" | "axes"):
            return True
        case ("nodes", int(number), "name"):
            return scene.nodes[number].kind is NodeKind.TARGET
    return False


def _is_storable(path: Path, capabilities: Collection[str]) -> bool:
    """Return whether the format can store a field or a kind of track, as far as it declares it."""
    match path:
        case ("clips", 0, "channels", int(), str(kind)):
            return kind in (*MOTION, "morph") or kind in capabilities
        case ("materials", int(), "maps", _, str(name)):
            return f"maps.{name}" in capabilities or f"maps.{name}" not in all_fields("maps")
        case (str(part), int(), str(name), *_) if part in REPORTED_PARTS and part != "clips":
            return f"{part}.{name}" in capabilities or f"{part}.{name}" not in all_fields(part)
    return True


def _untouched(after: Scene, before: Scene, changed: list[Path], stores_local: bool) -> frozenset[int]:
    """Return the nodes that an edit does not affect, of two scenes with the same nodes.

    A node is affected if the node, its mesh, camera, light, skin or tracks changed, or if its target, a joint of its
    skin, a node aimed at it or (unless ``stores_local``) its parent is affected. The set is empty if a change may
    affect all nodes.
    """
    touched: set[int] = set()
    for path in changed:
        match path:
            case ("nodes", int(number), *_) | ("clips", 0, "channels", int(number), *_):
                touched.add(number)
            case ("meshes" | "cameras" | "lights" | "skins" as kind, int(number), *_):
                name = next(field for field, parts in NODE_LINKS.items() if parts == kind)
                touched |= {i for i, node in enumerate(after.nodes) if getattr(node, name) == number}
            case ("materials", int(), name, *_) if name != "name":
                pass
            case ("environment", *_) | ("title" | "author" | "copyright",) | ("clips", 0, "name" | "start" | "end"):
                pass
            case _:
                return frozenset()
    affected: dict[int | None, set[int | None]] = {}
    for scene in (before, after):
        for number, node in enumerate(scene.nodes):
            joints = () if node.skin is None else scene.skins[node.skin].joints
            for other in (None if stores_local else node.parent, node.target, *joints):
                affected.setdefault(other, set()).add(number)
            affected.setdefault(number, set()).add(node.target)
    added = set(touched)
    while added:
        added = {number for other in added for number in affected[other] if number is not None} - touched
        touched |= added
    return frozenset(range(len(after.nodes))) - touched


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


def _with_part_keys(parts: Any, matching: Matching) -> dict[int, object]:
    """Return the scene part of each record, with the key of the part (`Matching.key`) instead of its number."""
    return {record: (kind, matching.key(number, kind), *others) for record, (kind, number, *others) in parts.items()}
