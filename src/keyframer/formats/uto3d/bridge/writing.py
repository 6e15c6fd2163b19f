"""Write a scene as a U3D (UTO!) document."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Track, compile_track
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.free_aims import FreeAim, free_aim
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules
from keyframer.formats.kit.mesh_writing import with_constant_shapes
from keyframer.formats.kit.scene_writing import (
    DEFAULT_MAX_ERROR,
    Tolerance,
    UniqueByteNames,
    Written,
    check_max_error,
    first_clip,
    frames_per_second,
    plain_path,
    rest_world,
    whole_frame,
)
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.formats.uto3d import FORMAT
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.controllers import write_controllers
from keyframer.formats.uto3d.bridge.objects import CAPABILITIES, record_of, write_surface
from keyframer.formats.uto3d.bridge.skins import bind_pose, with_bones, write_skin
from keyframer.formats.uto3d.document import TICKS_PER_SECOND, new_document
from keyframer.formats.uto3d.sections import BoneSection, FileHeader, LightLayout, Section, dialect_of
from keyframer.scene import Clip, Handedness, LightType, Node, NodeKind, Scene, Space
from keyframer.scene.loss_report import CannotWrite, LossReport, LossType
from keyframer.scene.losses import (
    AIM_CONVERTED,
    CLIP_RANGE_CHANGED,
    LIGHTS_UNSUPPORTED,
    NODE_ADDED,
    TRANSFORM_APPLIED,
)
from keyframer.wire.record import Record

STORED_TRACKS = (*r.CONTROLLED.values(), "scale_axes")
"""tracks that controllers can store"""
DIALECTS = {"A": LightLayout.FLEXPORTER, "B": LightLayout.MAXSCRIPT, "literal": LightLayout.LITERAL}
"""the layout of each value of the option ``dialect``"""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for writing; the defaults follow the MAXScript exporter."""

    dialect: str = "B"
    """layout: ``A`` of the Flexporter plug-in, ``B`` of the MAXScript exporter, ``literal`` of the specification"""
    encoding: str = "cp1252"
    max_error: float = DEFAULT_MAX_ERROR
    """allowed error of motion that keys cannot store exactly: a fraction of the scene's size"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)
        if self.dialect not in DIALECTS:
            raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, not {self.dialect!r}")


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions
    capabilities = CAPABILITIES

    def write(self, scene: Scene, options: WriteOptions) -> Written:
        """Return a document of the scene, and the loss report."""
        report = LossReport("uto3d")
        if not scene.nodes and not scene.materials:
            raise CannotWrite("nothing to write: the scene has no objects or materials")
        converted = in_space(scene, Space("y", Handedness.LEFT, scene.space.metres_per_unit))
        converted = with_bones(with_constant_shapes(converted, report))
        clip = first_clip(converted, report)
        report_dropped(converted, clip, report, CAPABILITIES.handled)
        writer = RecordWriter(converted, clip, options, report)
        return Written(writer.document(), report, parts=writer.parts)


@dataclass(frozen=True, eq=False)
class OriginalConventions:
    """Conventions of the original document. Node numbers are those of the scene that is written."""

    records: Mapping[int, Any] = field(default_factory=dict)
    """records of nodes in the original document"""
    ids: Mapping[int, int] = field(default_factory=dict)
    """object ids of these nodes, and of nodes that replace another"""
    controllers: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """ids of controllers by owner and type"""
    materials: Mapping[int, tuple[bytes, int]] = field(default_factory=dict)
    """names and ids of materials in the original document"""
    names: Mapping[int, bytes] = field(default_factory=dict)
    """stored names of nodes that were not renamed"""
    reserved_names: tuple[bytes, ...] = ()
    """stored names of the original nodes that remain"""
    next_id: int = 1
    next_material: int = 1
    position_scale: float = 1.0
    """factor by which readers multiply position keys"""
    flexporter: bool = False
    untouched: Collection[int] = ()
    """unchanged nodes, for which no record is written"""
    step: int = 1
    """ticks per unit of the stored first and last frame: 1 if they are in ticks"""


class RecordWriter:
    """Writes the document of a scene; in a merge, only the nodes that the edit affects."""

    def __init__(
        self,
        scene: Scene,
        clip: Clip,
        options: WriteOptions,
        report: LossReport,
        conventions: OriginalConventions | None = None,
    ) -> None:
        self.scene = scene
        self.clip = clip
        self.layout = DIALECTS[options.dialect]
        self.report = report
        self.merges = conventions is not None
        self.conventions = conventions or OriginalConventions()
        self.names = UniqueByteNames(encoding=options.encoding, reserved=self.conventions.reserved_names)
        self.encoding = options.encoding
        self.frame_rate = max(round(frames_per_second(clip)), 1)
        self.delta = max(round(TICKS_PER_SECOND / frames_per_second(clip)), 1)
        if self.merges:
            self.delta = max(round(clip.units_per_frame), 1)
        rules = KeyRules(float(self.frame_rate * self.delta), float(self.delta), full_turns=False)
        self.fitter = KeyFitter(clip, rules, Tolerance.of(scene, options.max_error), report)
        self.records: list[Record] = []
        self.ids: dict[int, int] = {}
        """node number to object id"""
        self.target_tracks: dict[int, Track] = {}
        """positions of new targets, by object id"""
        self.next_id = self.conventions.next_id
        self.parts: dict[int, tuple[str, int]] = {}
        """node or material of each record, by the record's `id`"""

    @cached_property
    def rest_matrices(self) -> Floats:
        """The world matrices of all nodes at rest, for new nodes, targets and skins."""
        return rest_world(self.scene)

    def document(self) -> Document:
        nodes = [(i, node) for i, node in enumerate(self.scene.nodes) if node.kind is not NodeKind.AMBIENT]
        if len(nodes) < len(self.scene.nodes):
            self.report.add(LIGHTS_UNSUPPORTED["ambient"], "/lights/ambient")
        self.ids = dict(self.conventions.ids)
        for number, _ in nodes:
            if number not in self.ids:
                self.ids[number], self.next_id = self.next_id, self.next_id + 1
        nodes = [(number, node) for number, node in nodes if number not in self.conventions.untouched]
        materials = self._materials()
        bound = bind_pose(self.scene, self.rest_matrices) if self.scene.skins else {}
        records_by_node = {number: self._node(number, node, bound.get(number), materials) for number, node in nodes}
        self.records += records_by_node.values()
        self.parts |= {id(record): ("nodes", number) for number, record in records_by_node.items()}
        self._aim(records_by_node)
        controllers = self._controllers(nodes, set(bound))
        first, last = self._segment(controllers)
        document = new_document(
            *self.records,
            *controllers,
            first_frame=first,
            last_frame=last,
            frame_rate=self.frame_rate,
            delta_time=self.delta,
        )
        if self.layout is LightLayout.FLEXPORTER:
            _remove_empty_sections(document)
        return document

    def _materials(self) -> list[int]:
        """Write the materials. Return the id of each by number."""
        known = self.conventions.materials
        names = UniqueByteNames(encoding=self.encoding, reserved=[name for name, _ in known.values()])
        next_id, ids = self.conventions.next_material, []
        for number, material in enumerate(self.scene.materials):
            name, material_id = known.get(number, (b"", next_id))
            next_id += number not in known
            record = r.Material(name or names.claim(material.name, material.raw_name, "material"), material_id)
            self.parts[id(record)] = ("materials", number)
            self.records.append(record)
            ids.append(material_id)
        return ids

    def _node(self, number: int, node: Node, bind: tuple[Any, Any, Any] | None, materials: list[int]) -> Record:
        record = record_of(self.scene, node, self.layout, self.report)
        original_record = self.conventions.records.get(number)
        if isinstance(record, r.Mesh) and isinstance(original_record, r.Mesh):
            record = type(original_record)()
        placed: Any = record
        placed.name = self.conventions.names.get(number) or self.names.claim_for(node, self.report)
        placed.id = self.ids[number]
        placed.parent_id = -1 if node.parent is None else self.ids.get(node.parent, -1)
        placed.hidden = int(node.hidden)
        transform = (node.position, node.rotation_xyzw, node.scale) if bind is None else bind
        placed.position, placed.rotation, placed.scale = (_tuple(part) for part in transform)
        placed.pivot = _tuple(self.rest_matrices[number, :3, 3]) if original_record is None else original_record.pivot
        if isinstance(record, r.Mesh) and node.mesh is not None:
            mesh = self.scene.meshes[node.mesh]
            write_surface(record, mesh, node.pivot, materials)
            if np.any(node.pivot):
                path = f"{plain_path('nodes', node.name)}/pivot"
                self.report.add(TRANSFORM_APPLIED["pivot"], path, extras=node.extras)
            if node.skin is not None:
                write_skin(record, self.scene, node, self.ids, self.fitter.tolerance, self.report)
        return record

    def _aim(self, records_by_node: dict[int, Record]) -> None:
        """Set targets: by id for cameras, by id and position for lights, by name for lights of the Flexporter."""
        for number, record in records_by_node.items():
            node = self.scene.nodes[number]
            target = None if node.target is None else records_by_node.get(node.target)
            point = self._target_point(number, node)
            placed: Any = record
            if isinstance(record, r.Light):
                if record.type and target is None and self._is_free_and_moves(number, node):
                    target = self._moving_target(number, node)
                    point = np.asarray(target.position)
                elif record.type and point is not None:
                    self._report_if_free(node)
                placed.target_id = -1 if target is None else target.id  # type: ignore[attr-defined]
                if record.type and point is not None:
                    record.target_position = _tuple(point)  # type: ignore[assignment]
            elif isinstance(record, (r.Camera, r.FlexporterLight)):
                if isinstance(record, r.FlexporterLight) and record.type not in (1, 4):
                    continue
                if target is None and node.light is not None and self._is_free_and_moves(number, node):
                    target = self._moving_target(number, node)
                elif target is None and point is not None:
                    target = self._new_target(node, point, NODE_ADDED["stored target"])
                if isinstance(record, r.Camera):
                    placed.target_id = -1 if target is None else target.id  # type: ignore[attr-defined]
                elif target is not None:
                    target.name = record.name + b".Target"  # type: ignore[attr-defined]

    def _report_if_free(self, node: Node) -> None:
        light = self.scene.lights[node.light or 0]
        if node.target is None and light.target is None:
            self.report.add(NODE_ADDED["target at rest"], f"{plain_path('nodes', node.name)}/target")

    def _target_point(self, number: int, node: Node) -> Floats | None:
        """Return the target point of a camera or light at rest, in scene space; None without one."""
        light_target = None if node.light is None else self.scene.lights[node.light].target
        if number in self.conventions.records and light_target is not None:
            return np.array(light_target)
        if node.target is not None:
            return np.asarray(self.rest_matrices[node.target, :3, 3])
        if node.camera is not None:
            camera_target = self.scene.cameras[node.camera].target
            return None if camera_target is None else np.array(camera_target)
        if node.light is not None:
            light = self.scene.lights[node.light]
            if light.target is not None:
                return np.array(light.target)
            if light.type in (LightType.SPOT, LightType.DIRECTIONAL):
                matrix = self.rest_matrices[number]
                return np.asarray(matrix[:3, 3] + matrix[:3, 2])  # left-handed: along +Z
        return None

    def _new_target(self, node: Node, point: Floats, kind: LossType, aim: FreeAim | None = None) -> r.CameraTarget:
        target = r.CameraTarget(self.names.claim(f"{node.name}.Target"), self.next_id)
        target.position = target.pivot = _tuple(point)  # type: ignore[assignment]
        self.next_id += 1
        self.records.append(target)
        outcome, error = (None, None) if aim is None else (aim.outcome, aim.error_degrees or None)
        self.report.add(kind, f"{plain_path('nodes', node.name)}/target", outcome=outcome, error=error)
        return target

    def _is_free_and_moves(self, number: int, node: Node) -> bool:
        """Return whether a new light without any target moves, or one of its ancestors."""
        if number in self.conventions.records or node.target is not None:
            return False
        if self.scene.lights[node.light or 0].target is not None:
            return False
        moving = {channel.node for channel in self.clip.channels if channel.track.kind in STORED_TRACKS}
        ancestor: int | None = number
        while ancestor is not None and ancestor not in moving:
            ancestor = self.scene.nodes[ancestor].parent
        return ancestor is not None

    def _moving_target(self, number: int, node: Node) -> r.CameraTarget:
        """Add a target in front of a light that moves."""
        aim = free_aim(self.scene, number, self.fitter)
        target = self._new_target(node, compile_track(aim.position)([0.0])[0], AIM_CONVERTED["target"], aim)
        self.target_tracks[target.id] = aim.position
        return target

    def _controllers(self, nodes: list[tuple[int, Node]], bound: set[int]) -> list[r.Controller]:
        keep_flags = self.scene.source_format == FORMAT.name
        controllers: list[r.Controller] = []
        written = {number for number, _ in nodes}
        clips = self.scene.clips[:1]
        channels = [channel for clip in clips for channel in clip.channels if channel.node in written]
        self.fitter.fit_ahead(channel.track for channel in channels if channel.track.kind in STORED_TRACKS)
        for number, node in nodes:
            tracks: dict[str, Track] = {}
            for channel in self.scene.channels_of(number):
                kind = channel.track.kind
                if kind in STORED_TRACKS and kind not in tracks:
                    path = f"{plain_path('nodes', node.name)}/{kind}"
                    fitted = self.fitter.fit(channel.track, path)
                    if fitted is not None:
                        tracks[kind] = fitted
            node_controllers = write_controllers(self.scene, node, tracks, number in bound, keep_flags, self.report)
            for controller in node_controllers:
                controller.owner_id = self.ids[number]
                original_id = self.conventions.controllers.get((controller.owner_id, controller.type))
                controller.id = self.next_id if original_id is None else original_id
                self.next_id += original_id is None
                if controller.type == r.POSITION and self.conventions.position_scale != 1.0:
                    scaled = controller.keys.value / self.conventions.position_scale
                    controller.keys = controller.keys.replace(value=scaled)
            controllers += node_controllers
        for owner, position in self.target_tracks.items():
            (controller,) = write_controllers(
                self.scene, Node("target"), {"position": position}, False, keep_flags, self.report
            )
            controller.owner_id, controller.id = owner, self.next_id
            self.next_id += 1
            controllers.append(controller)
        return controllers

    def _segment(self, controllers: list[r.Controller]) -> tuple[int, int]:
        """Return the first and last frame in the unit that readers assume."""
        last_key = max(
            (int(controller.keys.time.max()) for controller in controllers if len(controller.keys)), default=0
        )
        times = (float(value) for value in self.fitter.times([self.clip.start, self.clip.end]))
        begin, end = (time if math.isfinite(time) else 0.0 for time in times)
        flexporter = self.conventions.flexporter if self.merges else dialect_of(self.records).is_flexporter

        def in_ticks(last: int) -> bool:
            return not flexporter and last % self.delta == 0 and last >= last_key

        for step in dict.fromkeys((self.conventions.step, self.delta, 1) if self.merges else (self.delta, 1)):
            first, last = whole_frame(begin / step), whole_frame(end / step)
            exact = first * step == begin and last * step == end
            if exact and in_ticks(last) == (step == 1):
                return first, last
        first, last = whole_frame(begin / self.delta), whole_frame(end / self.delta)
        unit = "frames"
        if in_ticks(last):
            first, last, unit = first * self.delta, -(-round(end) // self.delta) * self.delta, "ticks"
        self.report.add(CLIP_RANGE_CHANGED["segment"], "/clips/segment", unit_name=unit, first=first, last=last)
        return first, last


def _remove_empty_sections(document: Document) -> None:
    """Remove sections without records, except BONE, as the Flexporter does."""
    header = document.first(FileHeader)
    assert header is not None
    header.children = [
        part
        for part in header.children
        if not isinstance(part, Section) or part.children or isinstance(part, BoneSection)
    ]


def _tuple(values: Any) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
