"""Merge an edited scene into its U3D (UTO!) document: how records are matched, and how edited nodes are written."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from keyframer.formats import bridge
from keyframer.formats.document import Document
from keyframer.formats.kit.frame_times import in_time_unit
from keyframer.formats.kit.key_tracks import single_key
from keyframer.formats.kit.scene_writing import CannotMerge, Written, first_clip, frames_per_second
from keyframer.formats.merging import RecordRules, Tree
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.scene import (
    Options,
    dialect_of_document,
    node_records,
    position_scale,
    segment_step,
    to_scene,
)
from keyframer.formats.uto3d.bridge.writing import DIALECTS, OriginalConventions, RecordWriter, WriteOptions
from keyframer.formats.uto3d.sections import Dialect, Main, RawRest, dialect_of
from keyframer.scene import Channel, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.scene.losses import CLIP_RANGE_CHANGED, RATE_CHANGED
from keyframer.wire.record import Record


class SceneRules(RecordRules):
    """Rules for the records of U3D (UTO!) scenes."""

    flags: ClassVar = {(r.Mesh, "flags"): 0, (r.Mesh, "edges"): 0}

    def kind(self, record: Record) -> object:
        return r.AnyController if isinstance(record, r.AnyController) else type(record)

    def key(self, record: Record) -> Hashable:
        has_owner = isinstance(record, (r.Controller, r.SampledController))
        return (record.owner_id, record.type) if has_owner else None  # type: ignore[attr-defined]

    def place(self, parent: Record | None, siblings: Sequence[Record], new: Record) -> int | None:
        """Return the position of a new record: before unreadable bytes, which reach to the end of the file."""
        return next((place for place, sibling in enumerate(siblings) if isinstance(sibling, RawRest)), None)


class Records(NamedTuple):
    """The records of a document that belong to parts of its scene."""

    nodes: list[Any]
    materials: list[r.Material]
    controllers: list[r.Controller | r.SampledController]


class Merger(bridge.Merger[Options]):
    rules = SceneRules()

    def read(self, document: Document, options: Options) -> tuple[Scene, Records]:
        kinds = (r.Controller, r.SampledController)
        controllers = [record for record in document.find(r.AnyController) if isinstance(record, kinds)]
        return to_scene(document, options), Records(
            list(node_records(document)), list(document.find(r.Material)), controllers
        )

    def tree(self, document: Document, scene: Scene, links: Records) -> Tree:
        parts = {id(record): ("nodes", number) for number, record in enumerate(links.nodes)}
        return Tree(document, parts | {id(record): ("materials", i) for i, record in enumerate(links.materials)})

    def write(self, scene: Scene, original: bridge.Original) -> Written:
        report = LossReport("uto3d")
        encoding = original.options.encoding or "cp1252"
        options = WriteOptions(dialect=_dialect_option(original.document), encoding=encoding)
        writer = RecordWriter(scene, first_clip(scene, report), options, report, _conventions(scene, original))
        document = writer.document()
        return Written(document, report, parts=writer.parts)

    def normalise(self, scene: Scene, before: Scene, report: LossReport) -> Scene:
        """Return the scene with camera rolls as keys; an edited frame rate or segment is rounded to whole numbers."""
        if not scene.clips or not before.clips:
            return scene
        edited_clip, original_clip = scene.clips[0], before.clips[0]
        step = max(round(original_clip.units_per_frame), 1)
        fps = frames_per_second(edited_clip)
        if (edited_clip.rate, edited_clip.units_per_frame) == (original_clip.rate, original_clip.units_per_frame):
            clip = edited_clip
        else:
            frame_rate = max(round(fps), 1)
            if original_clip.rate % frame_rate == 0:  # the same number of ticks per second: no time changes
                step = round(original_clip.rate / frame_rate)
            clip = in_time_unit(edited_clip, original_clip.unit, frame_rate * float(step), float(step))
            if round(fps) != fps:
                report.add(RATE_CHANGED["rounded"], "/clips/rate", fps=frame_rate, clip_fps=fps)
        first, last = (step * float(round(time / step)) for time in (clip.start, clip.end))
        changed = clip is not edited_clip or (clip.start, clip.end) != (original_clip.start, original_clip.end)
        if changed and (first, last) != (clip.start, clip.end):
            begin, end = first / step, last / step
            report.add(CLIP_RANGE_CHANGED["segment"], "/clips/segment", unit_name="frames", first=begin, last=end)
            clip = replace(clip, start=first, end=last)
        return _with_rolls(scene if clip is edited_clip else replace(scene, clips=[clip, *scene.clips[1:]]))

    def finish(self, document: Document) -> Document:
        """Return the document with the dialect of its records."""
        if isinstance(document.dialect, Dialect):
            try:
                document.dialect = dialect_of(document.find(Record))
            except ValueError as error:
                raise CannotMerge(str(error)) from None
        return document

    def keeps_layout(self, original: Document, requested: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        if not set(requested) <= {"dialect"}:
            return False
        return "dialect" not in requested or dialect_of_document(original).lights is DIALECTS[requested["dialect"]]


def _dialect_option(document: Document) -> str:
    """Return the value of the option ``dialect`` for the layout that the records of a document have."""
    dialect = dialect_of_document(document)
    names = {layout: name for name, layout in DIALECTS.items()}
    return names[dialect.lights] if dialect.lights is not None else "A" if dialect.is_flexporter else "B"


def _conventions(scene: Scene, original: bridge.Original) -> OriginalConventions:
    document, options, matching = original.document, original.options, original.matching
    records, materials, controllers = original.links
    main = document.first(Main)
    for new, old in matching.nodes.items():
        light = None if scene.nodes[new].light is None else scene.lights[scene.nodes[new].light or 0]
        if isinstance(records[old], r.FlexporterLight) and light is not None:
            old_light = original.scene.lights[original.scene.nodes[old].light or 0]
            cones = [(lamp.falloff_degrees, lamp.hotspot_degrees) for lamp in (light, old_light)]
            if cones[0] != cones[1]:
                raise CannotMerge("lights of the Flexporter have no cone")
    unrenamed_materials = original.unrenamed(scene, "materials")
    return OriginalConventions(
        records={new: records[old] for new, old in matching.nodes.items()},
        ids={new: records[old].id for new, old in {**matching.nodes, **matching.replacements}.items()},
        controllers={(controller.owner_id, controller.type): controller.id for controller in reversed(controllers)},
        materials={
            new: (materials[old].name if new in unrenamed_materials else b"", materials[old].id)
            for new, old in matching.materials.items()
        },
        names={new: records[old].name for new, old in original.unrenamed(scene).items()},
        reserved_names=tuple(records[old].name for old in matching.nodes.values()),
        next_id=max((record.id for record in [*records, *controllers]), default=0) + 1,
        next_material=max((*(material.id for material in materials), *_largest_material_ids(document)), default=0) + 1,
        position_scale=position_scale(document, options),
        flexporter=dialect_of_document(document).is_flexporter,
        untouched=original.untouched,
        step=1 if main is None else segment_step(document, main.last_frame, max(main.delta_time, 1)),
    )


def _largest_material_ids(document: Document) -> Iterator[int]:
    """Return the largest material id in the faces of each mesh, whether or not the material exists."""
    return (int(np.max(mesh.face_materials, initial=0)) for mesh in document.find(r.Mesh))


def _with_rolls(scene: Scene) -> Scene:
    """Return the scene with roll only as keys, because records cannot store it; existing roll tracks are kept."""
    clip = scene.clips[0]
    with_roll_track = {channel.node for channel in clip.channels if channel.track.kind == "roll"}
    node_by_camera = {
        node.camera: number
        for number, node in enumerate(scene.nodes)
        if node.camera is not None and scene.cameras[node.camera].roll_degrees
    }
    if not node_by_camera:
        return scene
    roll_channels = [
        Channel(number, single_key("roll", scene.cameras[camera].roll_degrees))
        for camera, number in node_by_camera.items()
        if number not in with_roll_track
    ]
    cameras = [replace(camera, roll_degrees=0.0) for camera in scene.cameras]
    return replace(
        scene, cameras=cameras, clips=[replace(clip, channels=[*clip.channels, *roll_channels]), *scene.clips[1:]]
    )
