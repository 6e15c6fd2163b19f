"""Read a scene from a U3D (UTO!) document."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from keyframer.catalogue import (
    DATA_RATE_INVALID,
    DATA_SCALE_INVALID,
    LINK_DUPLICATE_ID,
    LINK_PARENT_CYCLE,
    LINK_PARENT_MISSING,
    LINK_TARGET_CYCLE,
    LINK_UNRESOLVED_ID,
    LINK_UNRESOLVED_NAME,
)
from keyframer.formats.document import Document
from keyframer.formats.kit.scene_reading import Reporter, UniqueNames
from keyframer.formats.kit.scene_writing import rest_world
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge import objects
from keyframer.formats.uto3d.bridge.controllers import plain_track, read_controller
from keyframer.formats.uto3d.bridge.skins import bone_ids, read_skin
from keyframer.formats.uto3d.sections import Dialect, FileHeader, Main
from keyframer.issues import Severity
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Channel, Clip, Handedness, LightType, Material, Node, NodeKind, Scene, Space
from keyframer.text import counted, decode_name
from keyframer.wire.record import Record

_SPACE = Space("y", Handedness.LEFT)
"""the axes of 3ds Max, with y and z swapped"""

_KINDS: dict[type[Record], NodeKind] = {
    r.Mesh: NodeKind.OBJECT,
    r.Camera: NodeKind.CAMERA,
    r.CameraTarget: NodeKind.TARGET,
    r.AnyLight: NodeKind.LIGHT,
    r.Bone: NodeKind.BONE,
}


@dataclass(frozen=True, slots=True)
class Options:
    """Options for reading; the defaults match the known exporters."""

    scale_position_keys: str = "auto"
    """``yes`` applies the global scale to position keys, ``no`` does not; ``auto``: yes for files of the Flexporter
    (recognised by their layout), which applied it only to nodes and vertices"""
    fov_keys: str = "auto"
    """``degrees``, or ``radians`` as in linear keys of the Flexporter; ``auto``: radians in linear controllers
    whose values are all below 3.2"""
    encoding: str = "cp1252"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("scale_position_keys", ("auto", "yes", "no")),
            ("fov_keys", ("auto", "degrees", "radians")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")


def to_scene(document: Document, options: Options) -> Scene:
    """Return the scene of a document, in the left-handed space of the file."""
    scene = Scene(source_format="uto3d", space=_SPACE)
    _Builder(document, options, scene).build()
    return scene


def dialect_of_document(document: Document) -> Dialect:
    return document.dialect if isinstance(document.dialect, Dialect) else Dialect()


def position_scale(document: Document, options: Options) -> float:
    """Return the factor of position keys: the global scale, or 1 if it is invalid or not to be applied (`Options`)."""
    main = document.first(Main)
    scale = 1.0 if main is None else float(main.global_scale)
    choice = options.scale_position_keys
    must_scale = choice == "yes" or (choice == "auto" and dialect_of_document(document).is_flexporter)
    return scale if must_scale and math.isfinite(scale) and scale != 0 else 1.0


def segment_step(document: Document, last_frame: int, delta: int) -> int:
    """Return 1 if MAIN stores its first and last frame in ticks, or ``delta``, the ticks of a frame, if in frames.

    The Flexporter writes frames. The MAXScript exporter may write ticks, which is assumed if the last frame is a
    multiple of ``delta`` and no key is later.
    """
    keys = (controller.keys.time for controller in document.find(r.Controller) if controller.has_keys)
    last_key = max((int(times.max()) for times in keys if len(times)), default=0)
    in_ticks = not dialect_of_document(document).is_flexporter and last_frame % delta == 0 and last_frame >= last_key
    return 1 if in_ticks else delta


def node_records(document: Document) -> list[Record]:
    """Return the records that become nodes, in the order of the nodes of the scene."""
    return [record for record in document.find(Record) if isinstance(record, tuple(_KINDS))]


class _Builder:
    """Builds the scene of one document."""

    def __init__(self, document: Document, options: Options, scene: Scene) -> None:
        self.document = document
        self.options = options
        self.scene = scene
        self.reporter = Reporter(document, scene.issues)
        self.records: list[Record] = []
        """the record of each node"""
        self.by_id: dict[int, int] = {}
        self.duplicates: dict[int, int] = {}
        """ids that several records have, with the node of the second record"""
        self.flexporter = dialect_of_document(document).is_flexporter

    def build(self) -> None:
        materials = self._materials()
        self._nodes()
        self._resolve_links()
        self._attach_parts(materials)
        self._clip()
        self._skins()
        header = self.document.first(FileHeader)
        if header is not None:
            version = f"{header.version_major}.{header.version_minor}"
            self.scene.extras["uto3d"] = {"version": version, "dialect": str(self.document.dialect)}

    def _text(self, raw: bytes) -> str:
        return decode_name(raw, self.options.encoding)

    def _materials(self) -> dict[int, int]:
        numbers: dict[int, int] = {}
        for record in self.document.find(r.Material):
            numbers.setdefault(record.id, len(self.scene.materials))
            material = Material(self._text(record.name), raw_name=record.name)
            self.reporter.mark(material, "uto3d", record, {"id": record.id})
            self.scene.materials.append(material)
        return numbers

    def _nodes(self) -> None:
        names = UniqueNames()
        for record in self.document.find(Record):
            kind = next((kind for cls, kind in _KINDS.items() if isinstance(record, cls)), None)
            if kind is None:
                continue
            placed = cast("r.Placed | r.Aimed", record)
            number = len(self.records)
            self.records.append(record)
            node = Node(names.claim(self._text(placed.name)), kind)
            objects.read_node_fields(self.reporter, record, placed, node)
            self.scene.nodes.append(node)
            if placed.id in self.by_id:
                self.duplicates.setdefault(placed.id, number)
            self.by_id.setdefault(placed.id, number)

    def _resolve_links(self) -> None:
        """Set parents and targets, and report invalid ones. Ids refer to nodes of all sections; 0 and -1 mean none."""
        used_ids: set[int] = set()
        for record, node in zip(self.records, self.scene.nodes, strict=True):
            parent = cast("r.Placed | r.Aimed", record).parent_id
            if parent in (0, -1):
                continue
            used_ids.add(parent)
            node.parent = self.by_id.get(parent)
            if node.parent is None:  # a parent may be missing: exporters leave out groups and helpers
                name = repr(node.name)
                self.reporter.report(LINK_PARENT_MISSING, record, "parent_id", parent=parent, name=name)
        targets_by_name: dict[bytes, int] = {}
        for number, record in enumerate(self.records):
            if isinstance(record, r.CameraTarget):
                targets_by_name.setdefault(record.name, number)
        for record, node in zip(self.records, self.scene.nodes, strict=True):
            self._aim(record, node, used_ids, targets_by_name)
        order = evaluation_order(self.scene.nodes)
        for number in order.cut:
            node = self.scene.nodes[number]
            self.reporter.report(LINK_PARENT_CYCLE, self.records[number], "parent_id", name=repr(node.name))
            node.parent = None
        for number in order.untargeted:
            self.reporter.report(LINK_TARGET_CYCLE, self.records[number], name=repr(self.scene.nodes[number].name))
        self._report_duplicate_ids(used_ids)

    def _report_duplicate_ids(self, used_ids: set[int]) -> None:
        """Report duplicate ids, as errors if something refers to them; the first record is used."""
        if not self.duplicates:
            return
        for controller in self.document.find(r.AnyController):
            if isinstance(controller, (r.Controller, r.SampledController)):
                used_ids.add(controller.owner_id)
        for mesh in self.document.find(r.Mesh):
            if mesh.flags & r.SKINNED:
                used_ids.update(np.unique(bone_ids(mesh)).tolist())
        for duplicate_id, second in self.duplicates.items():
            node, first = self.scene.nodes[second], self.scene.nodes[self.by_id[duplicate_id]]
            args = {"what": "id", "id": duplicate_id, "name": repr(node.name), "other": repr(first.name)}
            severity = Severity.ERROR if duplicate_id in used_ids else None
            self.reporter.report(LINK_DUPLICATE_ID, self.records[second], "id", severity=severity, **args)

    def _aim(self, record: Record, node: Node, used_ids: set[int], targets_by_name: dict[bytes, int]) -> None:
        if isinstance(record, (r.Camera, r.Light)):
            if record.target_id in (0, -1):
                return
            used_ids.add(record.target_id)
            node.target = self.by_id.get(record.target_id)
            if node.target is None:
                self.reporter.report(LINK_UNRESOLVED_ID, record, "target_id", kind="target", id=record.target_id)
        elif isinstance(record, r.FlexporterLight) and "target" in record.types.get(record.type, ""):
            # The record has no target id; 3ds Max names the target of Spot01 "Spot01.Target".
            node.target = targets_by_name.get(record.name + b".Target")
            if node.target is None:
                name = repr(self._text(record.name + b".Target"))
                self.reporter.report(LINK_UNRESOLVED_NAME, record, kind="target", name=name)

    def _attach_parts(self, materials: dict[int, int]) -> None:
        scene = self.scene
        for record, node in zip(self.records, scene.nodes, strict=True):
            if isinstance(record, r.Mesh):
                node.mesh = len(scene.meshes)
                mesh = objects.read_mesh(self.reporter, record, node.name, materials, len(scene.materials))
                scene.meshes.append(mesh)
            elif isinstance(record, r.Camera):
                node.camera = len(scene.cameras)
                scene.cameras.append(objects.read_camera(self.reporter, record, node.name, self.flexporter))
            elif isinstance(record, r.AnyLight):
                node.light = len(scene.lights)
                light = objects.read_light(self.reporter, record, node.name)
                scene.lights.append(light)
                if light.type is LightType.OMNI:
                    node.target = None

    def _clip(self) -> None:
        main = self.document.first(Main)
        if main is None:
            return
        delta = main.delta_time if main.delta_time > 0 else 160
        rate = main.frame_rate if main.frame_rate > 0 else 30
        if delta != main.delta_time or rate != main.frame_rate:
            stored_rate = f"{counted(main.frame_rate, 'frame')} of {counted(main.delta_time, 'tick')} per second"
            self.reporter.report(DATA_RATE_INVALID, main, "frame_rate", rate=stored_rate)
        clip = Clip(unit="tick", rate=float(delta * rate), units_per_frame=float(delta))
        clip.extras["uto3d"] = {
            "first_frame": main.first_frame,
            "last_frame": main.last_frame,
            "global_scale": float(main.global_scale),
        }
        self._channels(clip, main)
        step = segment_step(self.document, main.last_frame, delta)
        clip.start, clip.end = float(main.first_frame * step), float(main.last_frame * step)
        self.scene.clips.append(clip)

    def _channels(self, clip: Clip, main: Main) -> None:
        scale = float(main.global_scale)
        if not math.isfinite(scale) or scale == 0:
            self.reporter.report(DATA_SCALE_INVALID, main, "global_scale", scale=scale)
        factor = position_scale(self.document, self.options)
        orphans: list[dict[str, object]] = []
        for record in self.document.find(r.AnyController):
            tracks = read_controller(self.reporter, record, self.options.fov_keys, factor)
            if isinstance(record, r.NoController):
                continue
            assert isinstance(record, (r.Controller, r.SampledController))
            owner = self.by_id.get(record.owner_id)
            if owner is None:
                self.reporter.report(LINK_UNRESOLVED_ID, record, "owner_id", kind="owner", id=record.owner_id)
                plain = [plain_track(track) for track in tracks]
                orphans.append({"owner_id": record.owner_id, "id": record.id, "type": record.type, "tracks": plain})
                continue
            clip.channels += [Channel(owner, track) for track in tracks]
        if orphans:
            clip.extras["uto3d"]["controllers_without_owner"] = orphans

    def _skins(self) -> None:
        skinned = [
            i for i, record in enumerate(self.records) if isinstance(record, r.Mesh) and record.flags & r.SKINNED
        ]
        if not skinned:
            return
        world = rest_world(self.scene)
        bones: dict[int, int] = {}
        for number, record in enumerate(self.records):
            if isinstance(record, r.Bone):
                bones.setdefault(record.id, number)
        for number in skinned:
            node = self.scene.nodes[number]
            record = self.records[number]
            assert isinstance(record, r.Mesh)
            assert node.mesh is not None
            skin = read_skin(self.reporter, record, self.scene.meshes[node.mesh], bones, world)
            if skin is not None:
                skin.extras["uto3d"] = self.reporter.location_of(record)
                node.skin = len(self.scene.skins)
                self.scene.skins.append(skin)
