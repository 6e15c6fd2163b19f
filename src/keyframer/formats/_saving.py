"""Write a scene to a document: write the edits into the original, if any, or make a new document.

What did not change keeps its records (`merging`). The report of the writer says what is lost. If the original cannot
store an edit, a new document is written, and the report gives the reason and the data of the original that is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from keyframer.errors import FormatError
from keyframer.formats._edit_report import Edit, parts_of, report_edits, report_removed_unknown, report_rewrite
from keyframer.formats._matching import identity_matching, match, reorder_parts
from keyframer.formats._scene_differences import Comparison, Path, tracks_by_node_and_kind
from keyframer.formats.bridge import Merger, Original
from keyframer.formats.contract import Format, make_options
from keyframer.formats.document import Document
from keyframer.formats.guard import GcPaused
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.mesh_writing import with_moved_vertices
from keyframer.formats.kit.scene_writing import CannotMerge, Written, without_invalid_links
from keyframer.formats.merging import Tree, apply_changes
from keyframer.limits import budgeted, spend
from keyframer.posing.bounds_and_duration import measured_once
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome

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
        if after.clips and tracks_by_node_and_kind(after.clips[0]) is None:
            raise CannotMerge("a node has two tracks of one kind")
        reordered_before = before
        if not matching.same_numbers:
            reordered_before = reorder_parts(before, after, matching.nodes, matching.materials)
        if before.skins:
            after, changed = with_moved_vertices(after, reordered_before), None
        if changed is None:
            changed = comparison.scenes(reordered_before, after)
        edit = Edit(merger, Original(original, before, chosen, matching, links), after, changed, report)
        document, added_options = (_rewritten_table if merger.is_table else _merged_records)(edit)
        try:
            data = format.encode(document)
        except FormatError as error:
            raise CannotMerge(str(error)) from None
        companions = merger.companion_files(document, {**reader_options, **added_options})
        return merger.choose_file(Written(document, report, companions, data=data), requested)
    except (CannotMerge, ArithmeticError, ValueError) as error:  # for example a rate or lens of 0 or NaN
        return str(error)


def _without_extra_clips(scene: Scene, before: Scene, report: LossReport) -> Scene:
    """Return the scene with at most as many clips as the original has, or one; further clips are reported."""
    most = max(len(before.clips), 1)
    for clip in scene.clips[most:]:
        report.add(Outcome.DROPPED, f"/clips/{clip.name}", "the format can store only one clip")
    return scene if len(scene.clips) <= most else replace(scene, clips=scene.clips[:most])


def _rewritten_table(edit: Edit) -> tuple[Document, Mapping[str, object]]:
    """Return a document of one table, written anew, and further options that its readers need: changed companions."""
    written = edit.merger.write(edit.after, edit.original._replace(changes=frozenset(edit.changes)))
    report_edits(edit, LossReport(""), written, (), ())
    return written.document, written.reader_options


def _merged_records(edit: Edit) -> tuple[Document, Mapping[str, object]]:
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
    report_removed_unknown(edit, edited.document, ours)
    report_edits(edit, base.report, theirs, edited.changed, untouched)
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
                parts = parts_of(after, path)
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
