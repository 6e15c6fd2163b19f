"""Write a scene to a document: merge it into the original, if any, or make a new document.

A merged document is checked: its bytes are read again and must give the edited scene. A field that reads back
differently is reported as dropped if a new file would not store it either. Otherwise a new document is written, and the
report gives the reason and the data of the original that is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keyframer.formats._matching import (
    NODE_LINKS,
    Matching,
    file_location,
    identity_matching,
    match,
    new_parts,
    pair_up,
    reorder_parts,
)
from keyframer.formats._merge_check import displaced, is_overridden, misread_fields, overriding_track, read_again
from keyframer.formats._rewrite_report import report_parts, report_rewrite
from keyframer.formats._scene_differences import Comparison, Path, path_text, tracks_by_node_and_kind
from keyframer.formats.bridge import Merger, Original
from keyframer.formats.contract import Format, make_options
from keyframer.formats.document import Document
from keyframer.formats.guard import GcPaused
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.frame_times import in_time_unit_of
from keyframer.formats.kit.scene_writing import CannotMerge, Written, plain_path, without_invalid_links
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.formats.merging import Parts, Tree, merge
from keyframer.limits import budgeted, spend
from keyframer.posing.bounds_and_duration import measured_once
from keyframer.scene import Material, Scene
from keyframer.scene.loss_report import CannotWrite, LossReport, Outcome
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
            merged = _merged(format, scene, options)
        if isinstance(merged, Written):
            written = merged
        else:
            spend("nodes", len(scene.nodes), "/nodes")  # writing one takes 0.5 ms; in glTF a node may have only 3 bytes
            written = writer.from_scene(scene, chosen)
    for path, reason in removed_links:
        written.report.add(Outcome.DROPPED, path, reason)
    if isinstance(merged, str) and scene.origin is not None:
        merger = format.merger()
        equivalent = merger.equivalent_records if merger is not None else ()
        report_rewrite(scene.origin.document, written, merged, equivalent)
    return written


def _merged(format: Format, scene: Scene, options: dict[str, object]) -> Written | str | None:
    """Return the original with the edits, or why it cannot be edited; None without an original of this format."""
    origin = scene.origin
    if origin is None or origin.document.format.name != format.name:
        return None
    original: Document = origin.document
    if scene.issues.first_unsafe() is not None:
        return "unsafe parts of the original are left out"
    merger = format.merger()
    if merger is None:
        return "documents of this format cannot be edited"
    requested = {name: value for name, value in options.items() if name not in _LAYOUT_INDEPENDENT_OPTIONS}
    if not merger.keeps_layout(original, requested, origin.options):
        return "a different layout was requested"
    reader_options = dict(origin.options)
    reader = format.scene_reader()
    chosen = make_options(format.name, reader.options, reader_options, reader.internal_options)
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
        merging = _Merging(
            format, merger, Original(original, before, chosen, matching, links), reader_options, after, report
        )
        return merger.choose_file(merging.merged(comparison, changed), requested)
    except (CannotMerge, ArithmeticError, ValueError) as error:  # for example a rate or lens of 0 or NaN
        return str(error)


def _without_extra_clips(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """Return the scene with at most as many clips as the original has, or one; further clips are reported."""
    most = max(len(before.clips), 1)
    for clip in scene.clips[most:]:
        report.add(Outcome.DROPPED, f"/clips/{clip.name}", "the format can store only one clip")
    return scene if len(scene.clips) <= most else replace(scene, clips=scene.clips[:most])


@dataclass(eq=False)
class _Merging:
    """Merges one edit into the original."""

    format: Format
    merger: Merger[Any]
    original: Original
    reader_options: dict[str, object]
    after: Scene
    report: LossReport

    def merged(self, comparison: Comparison, known_changes: list[Path] | None) -> Written:
        """Return the original with the edit; raises `CannotMerge` if data would be lost that a new file keeps.

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
        changed = known_changes
        if changed is None or after is not edited:
            changed = comparison.scenes(reordered_before, after)
        untouched: frozenset[int] = frozenset()
        if known_changes is not None:
            untouched = _untouched(after, before, changed, self.merger.stores_local)
        unedited = self.original._replace(matching=identity_matching(before), untouched=untouched)
        base = self.merger.write(before, unedited)
        theirs = self.merger.write(after, self.original._replace(untouched=untouched))
        ours = self.merger.tree(document, before, self.original.links)
        theirs_with_part_keys = Tree(theirs.document, _with_part_keys(theirs.parts, matching))
        tree = merge(ours, Tree(base.document, base.parts), theirs_with_part_keys, self.merger.rules)
        merged_document, added_options, places = self.merger.finish(tree, theirs, self.original)
        options = {**self.reader_options, **added_options}
        data, reread_document, reread = read_again(merged_document, options)
        merged_tree = Tree(merged_document, tree.parts)
        nodes, materials = places or self._reread_numbers(merged_tree, reread_document, reread)
        new_nodes = set(matching.new_nodes(after))
        missing = set(range(len(after.nodes))) - set(nodes)
        if missing - new_nodes:
            raise CannotMerge("nodes would be lost")
        reordered = reorder_parts(reread, after, nodes, materials)
        misread = misread_fields(after, reordered, new_nodes)
        wrong = [path for path in misread if not is_overridden(after, path)]
        misplaced = set() if matching.same_numbers else displaced(after, reread, nodes)
        if wrong or missing or misplaced:
            self._check_differences(wrong, missing, misplaced, reordered_before, reordered, theirs)
        self._report_unknown(merged_document, ours)
        dropped = [path for path in misread if path in changed or path in (("clips", 0, "start"), ("clips", 0, "end"))]
        self._report_new(materials, reread, theirs.report)
        self._report_edits(
            base.report, theirs.report, [path for path in changed if path not in dropped], dropped, nodes
        )
        return Written(merged_document, self.report, self.merger.companion_files(merged_document, options), data=data)

    def _reread_numbers(
        self, tree: Tree, reread_document: Document, reread: Scene
    ) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Map numbers of nodes and materials in the edited scene to those in the scene that was read again.

        Raises `CannotMerge` if removed nodes or materials would remain.
        """
        matching = self.original.matching
        moved = _moved(tree.document, reread_document)
        parts = _with_part_numbers(tree.parts, matching)
        nodes = _match_reread("nodes", self.after.nodes, reread.nodes, moved, parts)
        materials = _match_reread("materials", self.after.materials, reread.materials, moved, parts)
        offsets_of_original_records = {offset for record, offset in moved if record.offset is not None}
        for number in set(range(len(reread.nodes))) - set(nodes.values()):
            if _offset(reread.nodes[number]) in offsets_of_original_records:
                raise CannotMerge(f"{reread.nodes[number].name!r} would not be removed")
        if len(materials) < len(reread.materials):
            raise CannotMerge("removed materials would remain")
        return nodes, materials

    def _check_differences(
        self,
        misread: list[Path],
        missing: Collection[int],
        misplaced: Collection[int],
        before: Scene,
        reread: Scene,
        theirs: Written,
    ) -> None:
        """Raise `CannotMerge` if the merged file loses data that a new file would not lose.

        ``misread`` fields read back differently, ``missing`` new nodes were not read, ``misplaced`` nodes have another
        world transform than intended. ``before`` is the original scene, ``reread`` that of the merged file, both in the
        order of the edited scene.
        """
        writer = self.format.scene_writer()
        try:
            written = writer.from_scene(self.after, make_options(self.format.name, writer.options, {}))
        except CannotWrite:
            return
        options = {**written.reader_options, **self.merger.companion_options(written)}
        _, new_document, new_scene = read_again(written.document, options)
        new_scene = in_time_unit_of(replace(in_space(new_scene, before.space), space=new_scene.space), before)
        moved = _moved(written.document, new_document)
        nodes = _match_reread("nodes", self.after.nodes, new_scene.nodes, moved, written.parts)
        materials = _match_reread("materials", self.after.materials, new_scene.materials, moved, written.parts)
        reordered = reorder_parts(new_scene, self.after, nodes, materials)
        lost_anyway = set(misread_fields(self.after, reordered, set()))  # fields that new files do not store either
        # fields that have neither the value in a new file nor that in the original
        neither = set(misread_fields(reordered, reread, set())) & set(misread_fields(before, reread, set()))
        reported = {loss.path for loss in theirs.report if loss.outcome is Outcome.BAKED}
        for path in misread:
            if path[-1] == "name" and plain_path(str(path[0]), _part_name(self.after, path) or "") in reported:
                continue  # the writer reported another name: this one is taken in the original
            if path not in lost_anyway or path in neither:
                raise CannotMerge(f"{path_text(path)} would read back differently")
        for number in missing:
            if number in nodes:
                raise CannotMerge(f"{self.after.nodes[number].name!r} would be lost")
        for number in set(misplaced) - (displaced(self.after, new_scene, nodes) if misplaced else set()):
            raise CannotMerge(f"{self.after.nodes[number].name!r} would be misplaced")

    def _report_new(self, materials: Mapping[int, int], reread: Scene, their_report: LossReport) -> None:
        """Report data of new nodes and materials that the format cannot store, and added and removed materials.

        ``materials`` maps numbers in the edited scene to those in ``reread``, the scene read from the merged file.
        """
        new = new_parts(self.after, self.original.matching)
        if new[0].nodes or new[0].materials:
            report_dropped(*new, their_report, self.merger.capabilities(self.original.document).handled | {"segment"})
        remaining = {material.name for i, material in enumerate(reread.materials) if i not in materials.values()}
        report_parts(self.report, "materials", self.after, self.original.matching, materials, remaining)

    def _report_unknown(self, document: Document, ours: Tree) -> None:
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
        self, base: LossReport, theirs: LossReport, changed: list[Path], dropped: list[Path], places: Mapping[int, int]
    ) -> None:
        """Report new losses, added and removed nodes, and changed and dropped fields."""
        base_losses = {(loss.outcome, loss.path, loss.detail) for loss in base}
        self.report.losses += [
            loss
            for loss in theirs
            if loss.outcome is not Outcome.EXACT and (loss.outcome, loss.path, loss.detail) not in base_losses
        ]
        reported = {loss.path for loss in self.report}
        report_parts(self.report, "nodes", self.after, self.original.matching, places)
        for field in changed:
            self.report.add(Outcome.EXACT, path_text(field), "written into the original document")
        names = {path.split("/")[2] for path in reported if path.count("/") > 1}
        for field in dropped:
            if _part_name(self.after, field) not in names and path_text(field) not in reported:
                kind = overriding_track(self.after, field)
                reason = _NOT_STORED if kind is None else _OVERRIDDEN.format(kind=kind)
                self.report.add(Outcome.DROPPED, path_text(field), reason)


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


def _with_part_numbers(parts: Any, matching: Matching) -> dict[int, tuple[str, int]]:
    """Return the scene part of each record, with its number in the edited scene instead of its key."""
    return {record: (kind, matching.number(key, kind)) for record, (kind, key, *_) in parts.items()}


def _offset(part: Any) -> int | None:
    location = file_location(part)
    return None if location is None else location[1]


def _moved(written: Document, reread: Document) -> list[tuple[Record, int | None]]:
    """Return each record of a written document, and its offset in the bytes that were read again."""
    pairs = zip(written.find(Record), reread.find(Record), strict=False)
    return [(record, reread_record.offset) for record, reread_record in pairs]


def _match_reread(
    kind: str, after: Sequence[Any], reread: Sequence[Any], moved: list[tuple[Record, int | None]], parts: Parts
) -> dict[int, int]:
    """Map numbers of parts in the edited scene to those in a scene that was read again.

    Parts are matched by the new offsets of their records, then by name, then by order among parts of one kind.
    """
    numbers = {_offset(part): number for number, part in enumerate(reread)}
    by_record: dict[int, int] = {}
    for record, offset in moved:
        part: Any = parts.get(id(record))
        if part and part[0] == kind and offset in numbers:
            by_record.setdefault(part[1], numbers[offset])
    return pair_up(
        len(reread),
        len(after),
        (lambda old: old, lambda new: by_record.get(new)),
        (lambda old: reread[old].name, lambda new: after[new].name),
        (lambda old: _kind(reread[old]), lambda new: _kind(after[new])),
    )


def _kind(part: Any) -> object:
    return getattr(part, "kind", Material)
