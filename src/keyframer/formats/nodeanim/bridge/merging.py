"""Merge an edited scene into its node animation: nodes are matched, and keys are written in the units of the file."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from keyframer.curves import Interpolation
from keyframer.formats import bridge
from keyframer.formats._scene_differences import tracks_by_node_and_kind
from keyframer.formats.document import Document
from keyframer.formats.kit.frame_times import in_time_unit_of
from keyframer.formats.kit.scene_writing import CannotMerge, Written, first_clip
from keyframer.formats.merging import RecordRules, Tree
from keyframer.formats.nodeanim.bridge.reading import (
    Options,
    copyright_in,
    interpolation_of,
    radians_per_unit,
)
from keyframer.formats.nodeanim.bridge.writing import UNITS, NodeWriter, OriginalConventions, WriteOptions, Writer
from keyframer.formats.nodeanim.dialect import Dialect
from keyframer.formats.nodeanim.records import Node
from keyframer.scene import Scene
from keyframer.scene.loss_report import LossReport, Outcome


class NodeRules(RecordRules):
    """Rules for the records of node animations."""

    flags: ClassVar = {(Node, "flags"): 0}


class Merger(bridge.Merger[Options]):
    rules = NodeRules()

    def tree(self, document: Document, scene: Scene, links: None) -> Tree:
        return Tree(document, {id(record): ("nodes", number) for number, record in enumerate(document.find(Node))})

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        document, before, options, matching = original[:4]
        report = LossReport("nodeanim")
        dialect = document.dialect if isinstance(document.dialect, Dialect) else Dialect()
        write_options = WriteOptions(
            dialect,
            UNITS[before.clips[0].unit],
            options.rotation_keys,
            options.up,
            options.handedness,
            options.encoding,
        )
        records = list(document.find(Node))
        interpolations: dict[int, Interpolation] = {
            new: interpolation_of(records[old]) for new, old in matching.nodes.items()
        }
        tracks = tracks_by_node_and_kind(before.clips[0]) or {}
        rotations = {new: tracks.get((old, "rotation")) for new, old in matching.nodes.items()}
        forms = {new: track.form for new, track in rotations.items() if track is not None}
        conventions = OriginalConventions(
            interpolations, forms, radians_per_unit(records, options) != 1.0, original.untouched
        )
        writer = NodeWriter(scene, first_clip(scene, report), write_options, dialect, report, conventions)
        written_document = writer.document()
        if "rotation_keys" in writer.reader_options:
            raise CannotMerge("the new rotation keys could be read only with the option rotation_keys")
        return Written(written_document, report, parts=writer.parts)

    def capabilities(self, original: Document) -> bridge.Capabilities:
        return Writer.capabilities

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene with times in the file's unit, and with one name for scene and clip.

        The copyright becomes the notice in the author text (`copyright_in`).
        """
        scene = in_time_unit_of(scene, before)
        notice = copyright_in(scene.author)
        if scene.copyright != notice:
            if scene.copyright != before.copyright:
                report.add(Outcome.DROPPED, "/copyright", "the copyright can be stored only as part of the author text")
            scene = replace(scene, copyright=notice)
        if not scene.clips or not before.clips:
            return scene
        clip = scene.clips[0]
        if scene.title != before.title:
            return replace(scene, clips=[replace(clip, name=scene.title), *scene.clips[1:]])
        return replace(scene, title=clip.name) if clip.name != before.clips[0].name else scene
