"""Write a scene as an ASE document."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Array, Floats
from keyframer.curves import Interpolation, Track, Wrap, compile_track, even_times
from keyframer.formats.ase import FORMAT
from keyframer.formats.ase.bridge.declared_fields import (
    ATTENUATION,
    CAMERA,
    CAMERA_TRACKS,
    CAPABILITIES,
    CONE,
    ENVIRONMENT,
    EXCLUDES,
    LIGHT,
    LIGHT_SETTINGS,
    LIGHT_TRACKS,
    LIGHT_TYPES,
)
from keyframer.formats.ase.bridge.target_roll import Motion
from keyframer.formats.ase.bridge.tracks import TrackWriter
from keyframer.formats.ase.bridge.write_lines import block, float_line, line, quotable, shortest_decimals
from keyframer.formats.ase.bridge.write_materials import MaterialWriter
from keyframer.formats.ase.bridge.write_meshes import MeshWriter
from keyframer.formats.ase.dialect import Dialect
from keyframer.formats.ase.records import AseRecord, Block, Keys
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.frame_times import rate_of_keys
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
    whole_frame,
)
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.limits import ensure_budget, spend
from keyframer.maths import affine, quat
from keyframer.posing import Rig
from keyframer.posing.aim_constraints import is_aimed
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Camera, Clip, Handedness, Light, LightType, Node, NodeKind, Scene, Space
from keyframer.scene.loss_report import CannotWrite, LossReport, Outcome
from keyframer.text import counted

TICKS_PER_SECOND = 4800
_TRANSFORM = ("position", "rotation", "scale", "scale_axes")
_LIGHT_WORDS = {light_type: word for word, light_type in LIGHT_TYPES.items()}


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for writing."""

    keys: bool = False
    """whether positions, rotations and scales are written as keys (TCB, Bezier, linear), which few programs read, or
    with a value for every frame, as 3ds Max samples them"""
    max_error: float = DEFAULT_MAX_ERROR
    """allowed error of motion that keys cannot store exactly: a fraction of the scene's size"""

    def __post_init__(self) -> None:
        check_max_error(self.max_error)


class Writer(SceneWriter[WriteOptions]):
    options = WriteOptions
    capabilities = CAPABILITIES

    def from_scene(self, scene: Scene, options: WriteOptions) -> Written:
        """Write a scene as a document and report losses."""
        report = LossReport("ase")
        if not scene.nodes and not scene.materials:
            raise CannotWrite("nothing to write: the scene has no objects or materials")
        converted = in_space(scene, Space("z", Handedness.RIGHT, scene.space.metres_per_unit))
        converted = with_constant_shapes(converted, report)
        clip = first_clip(converted, report)
        report_dropped(converted, clip, report, CAPABILITIES.handled)
        writer = _SceneWriter(converted, clip, options, report)
        return Written(writer.document(), report, parts=writer.parts)


class OriginalConventions(NamedTuple):
    """Conventions of the original document."""

    names: Mapping[int, bytes]
    """stored names of nodes that were not renamed"""
    materials: Mapping[int, tuple[int, int]]
    """for each material the number in MATERIAL_REF and the id of a face that select it in the document"""
    sample_times: Mapping[int, Array]
    """times of sampled keys in the document, by the offset of their record"""
    matrices: Mapping[int, tuple[Floats, Floats]]
    """stored matrix of each node, and its rest matrix in the original scene: they differ slightly, because files have
    four decimals
    """
    untouched: Collection[int]
    """nodes that the edit does not affect: no record is written for them"""

    def merged_matrices(self, rest_matrices: Floats) -> Floats:
        """Return the matrices of nodes in the merged document: unchanged columns keep their stored values.

        A column is one line of the file (TM_ROW0 …).
        """
        merged = rest_matrices.copy()
        for number, (stored, original) in self.matrices.items():
            unchanged = (rest_matrices[number].astype(np.float32) == original.astype(np.float32)).all(axis=0)
            merged[number][:, unchanged] = stored[:, unchanged]
        return merged


def rest_world(scene: Scene) -> Floats:
    """Return (N, 4, 4) world matrices of all nodes at rest."""
    without_clips = Scene(nodes=scene.nodes, cameras=scene.cameras, lights=scene.lights, space=scene.space)
    return Rig(without_clips).world({}, 1)[0] if scene.nodes else np.empty((0, 4, 4))


def write_records(scene: Scene, conventions: OriginalConventions) -> Written:
    """Write a scene in the space of ASE files, to be merged into its original document."""
    report = LossReport("ase")
    scene = with_constant_shapes(scene, report)
    writer = _SceneWriter(scene, first_clip(scene, report), WriteOptions(), report, conventions)
    return Written(writer.document(), report, parts=writer.parts)


class _SceneWriter:
    """Writes one scene as a document."""

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
        self.report = report
        self.conventions = conventions
        keys = options.keys or conventions is not None
        self.rate = max(round(frames_per_second(clip)), 1) if keys else rate_of_keys(clip)
        self.ticks_per_frame = max(round(TICKS_PER_SECOND / (frames_per_second(clip) if keys else self.rate)), 1)
        rules = KeyRules(float(self.rate * self.ticks_per_frame), float(self.ticks_per_frame))
        self.fitter = KeyFitter(clip, rules, Tolerance.of(scene, options.max_error), report)
        sample_times = None if conventions is None else conventions.sample_times
        self.tracks = TrackWriter(self.fitter, self.ticks_per_frame, keys, sample_times)
        self.materials = MaterialWriter(scene, report, None if conventions is None else conventions.materials)
        self.rest_matrices = rest_world(scene)
        motion = Motion(scene)
        self.tracks_by_node = motion.tracks
        matrices = self.rest_matrices if conventions is None else conventions.merged_matrices(self.rest_matrices)
        self.meshes = MeshWriter(motion, matrices, self.materials, self.fitter, report)
        self.embedded_targets = self._find_embedded_targets()
        self.names = self._claim_names()
        self.moving = self._moving_nodes()
        self._sampled_frames: tuple[Floats, Floats] | None = None
        self.parts: dict[int, Hashable] = {}
        """node or material of each record"""

    def _claim_names(self) -> list[bytes]:
        stored_names = {} if self.conventions is None else self.conventions.names
        unique_names = UniqueByteNames(encoding="utf-8", reserved=stored_names.values())
        names = dict(stored_names)
        for number in sorted(range(len(self.scene.nodes)), key=lambda number: number in self.embedded_targets):
            if number in stored_names:
                continue
            node = self.scene.nodes[number]
            wanted = quotable(node.name)
            if self.conventions is None and number in self.embedded_targets:  # readers know a target by its name
                wanted = names[self.embedded_targets[number]] + b".Target"
            name = unique_names.claim(wanted.decode("utf-8", "replace"))
            if unique_names.decode(name) != node.name:
                self.report.add(
                    Outcome.APPROXIMATED, plain_path("nodes", node.name), f"renamed to {unique_names.decode(name)}"
                )
            names[number] = name
        return [names[number] for number in range(len(names))]

    def _find_embedded_targets(self) -> dict[int, int]:
        """Return the targets that are written inside the block of their camera or light, and the number of that node.

        These targets have one user, and no parent, children or content.
        """
        users = Counter(node.target for node in self.scene.nodes if node.target is not None)
        parents = {node.parent for node in self.scene.nodes}
        return {
            node.target: number
            for number, node in enumerate(self.scene.nodes)
            if node.target is not None
            and is_aimed(self.scene, node)
            and users[node.target] == 1
            and (target := self.scene.nodes[node.target]).kind is NodeKind.TARGET
            and target.parent is None
            and node.target not in parents
            and (target.mesh, target.camera, target.light) == (None, None, None)
        }

    def document(self) -> Document:
        records: list[AseRecord] = [
            line("3DSMAX_ASCIIEXPORT", 200),
            line("COMMENT", b"AsciiExport Version  2,00 - keyframer"),
            self._scene_block(),
            self.materials.material_list(),
        ]
        untouched = () if self.conventions is None else self.conventions.untouched
        for number, node in enumerate(self.scene.nodes):
            if number not in self.embedded_targets and number not in untouched:
                record = self._node(number, node)
                self.parts[id(record)] = ("nodes", number)
                records.append(record)
        self.parts |= self.materials.parts
        return Document(FORMAT, list(records), dialect=Dialect())

    def _scene_block(self) -> Block:
        environment = self.scene.environment
        first, last = self._segment()
        lines = [
            line("SCENE_FILENAME", quotable(self.scene.title)),
            line("SCENE_FIRSTFRAME", first),
            line("SCENE_LASTFRAME", last),
            line("SCENE_FRAMESPEED", self.rate),
            line("SCENE_TICKSPERFRAME", self.ticks_per_frame),
        ]
        if environment.background_color is not None and "background_color" not in environment.uses:
            self.report.add(
                Outcome.DROPPED,
                "/environment/background_color",
                "ASE stores the background colour only if it is in use",
            )
            environment = replace(environment, background_color=None)
        if environment.uses - {name for name in ("background_color",) if environment.background_color is not None}:
            self.report.add(
                Outcome.DROPPED,
                "/environment/uses",
                "ASE cannot store which parts of the environment are in use, except for the background colour",
            )
        return block("SCENE", *lines, *write_declared_fields(environment, ENVIRONMENT))

    def _segment(self) -> tuple[int, int]:
        times = [float(value) / self.ticks_per_frame for value in self.fitter.times([self.clip.start, self.clip.end])]
        first, last = (whole_frame(time) for time in times)
        if [float(first), float(last)] != times:
            message = f"the active segment became frames {first} to {last}"
            self.report.add(Outcome.APPROXIMATED, "/clips/segment", message)
        return first, last

    def _node(self, number: int, node: Node) -> Block:
        name = self.names[number]
        head: list[AseRecord | None] = [line("NODE_NAME", name)]
        if node.parent is not None:
            head.append(line("NODE_PARENT", self.names[node.parent]))
        if node.camera is not None:
            return self._camera(number, node, head, self.scene.cameras[node.camera])
        if node.light is not None and self.scene.lights[node.light].type is not LightType.AMBIENT:
            return self._light(number, node, head, self.scene.lights[node.light])
        tail = [*self._animation(number, node), self._visibility(number, node)]
        transform = self._transform(name, self.rest_matrices[number])
        if node.mesh is not None or node.kind is NodeKind.OBJECT:
            if node.kind is not NodeKind.OBJECT:
                self._report_kind(node, "an object")
            return block("GEOMOBJECT", *head, transform, *self.meshes.records(number, node, self.names, tail))
        if node.kind not in (NodeKind.DUMMY, NodeKind.BONE):
            self._report_kind(node, "a dummy")
        kind = b"Bone" if node.kind is NodeKind.BONE else b"Dummy"
        return block("HELPEROBJECT", *head, line("HELPER_CLASS", kind), transform, *tail)

    def _report_kind(self, node: Node, written_as: str) -> None:
        message = f"the {node.kind.noun} is written as {written_as}"
        self.report.add(Outcome.BAKED, plain_path("nodes", node.name), message, extras=node.extras)

    def _transform(self, name: bytes, world: Floats) -> Block:
        position, rotation, scale, axes = affine.decompose_sheared(world)
        lines: list[AseRecord] = [line("NODE_NAME", name)]
        lines += [line(f"INHERIT_{component}", 0, 0, 0) for component in ("POS", "ROT", "SCL")]
        lines += [float_line(f"TM_ROW{row}", world[:3, row]) for row in range(4)]
        lines.append(float_line("TM_POS", position))
        for turn, axis, angle in ((rotation, "TM_ROTAXIS", "TM_ROTANGLE"), (axes, "TM_SCALEAXIS", "TM_SCALEAXISANG")):
            length = float(np.linalg.norm(turn[:3]))
            half_angle = math.atan2(length, float(turn[3]))
            direction = turn[:3] / length if length > 0 else np.zeros(3)
            lines += [float_line(axis, direction), float_line(angle, 0.0 - 2 * half_angle)]
            if axis == "TM_ROTAXIS":
                lines.append(float_line("TM_SCALE", scale))
        return block("NODE_TM", *lines)

    def _animation(self, number: int, node: Node, aim_keys: Keys | None = None) -> list[AseRecord]:
        tracks = {kind: track for kind, track in self.tracks_by_node.get(number, {}).items() if kind in _TRANSFORM}
        if is_aimed(self.scene, node):
            tracks.pop("rotation", None)
        controllers = self.tracks.controllers(node, tracks)
        if aim_keys is not None:
            controllers.insert(1 if controllers and b"_POS_" in controllers[0].keyword else 0, aim_keys)
        if not controllers:
            return []
        animation = block("TM_ANIMATION", line("NODE_NAME", self.names[number]), *controllers)
        self.parts[id(animation)] = ("nodes", number, "animation")
        return [animation]

    def _visibility(self, number: int, node: Node) -> Block | None:
        track = self.tracks_by_node.get(number, {}).get("visible")
        if track is None or not len(track.times):
            if not node.hidden:
                return None
            keys = Keys(b"CONTROL_FLOAT_SAMPLE", np.zeros(1, np.int64), np.zeros((1, 1)))
            return block("NODE_VISIBILITY_TRACK", keys)
        path = f"{plain_path('nodes', node.name)}/visible"
        times = self.fitter.times(track.times)
        shown = (track.values.reshape(len(times), -1)[:, :1] > 0).astype(np.float64)
        finite = np.isfinite(times)
        times, shown = np.rint(times[finite]), shown[finite]
        exact = bool((times == self.fitter.times(track.times)[finite]).all()) and bool(finite.all())
        exact &= track.interpolation is Interpolation.STEP or len(times) < 2
        self.report.add(Outcome.EXACT if exact else Outcome.APPROXIMATED, path, counted(len(times), "step key"))
        if len(times) == 1:  # one key would be read as the rest state
            times, shown = np.array([times[0], times[0] + self.ticks_per_frame]), np.repeat(shown, 2, axis=0)
        return block("NODE_VISIBILITY_TRACK", Keys(b"CONTROL_FLOAT_SAMPLE", times.astype(np.int64), shown))

    # Cameras and lights

    def _target_and_animation(self, number: int, node: Node) -> tuple[Block | None, list[AseRecord]]:
        """Return the transform of the target (None without one), and the animations of the node and of its target."""
        if not is_aimed(self.scene, node):
            return None, self._animation(number, node)
        target = node.target
        embedded = target is not None and self.embedded_targets.get(target) == number
        target_name = self.names[target] if embedded and target is not None else self.names[number] + b".Target"
        stored_target = self._stored_target(node)
        matrix = np.eye(4)
        matrix[:3, 3] = self.rest_matrices[target, :3, 3] if target is not None else stored_target
        aim_keys, frames = self._sampled_aim(number, node)
        animation = self._animation(number, node, aim_keys)
        if embedded and target is not None:
            matrix = self.rest_matrices[target]
            target_node = self.scene.nodes[target]
            animation += self._animation(target, target_node)
            if target_node.hidden or "visible" in self.tracks_by_node.get(target, {}):
                message = "targets cannot be hidden in this format"
                self.report.add(Outcome.DROPPED, f"{plain_path('nodes', target_node.name)}/hidden", message)
        else:
            message = "the stored target became a node" if target is None else "a separate target was added"
            self.report.add(Outcome.BAKED, f"{plain_path('nodes', node.name)}/target", message)
            if frames is not None and target is not None:
                times, world = frames
                keys = Keys(b"CONTROL_POS_TRACK", times.astype(np.int64), shortest_decimals(world[:, target, :3, 3]))
                animation.append(block("TM_ANIMATION", line("NODE_NAME", target_name), keys))
        transform = self._transform(target_name, matrix)
        if embedded and target is not None:
            self.parts[id(transform)] = ("nodes", target)
        return transform, animation

    def _stored_target(self, node: Node) -> tuple[float, float, float]:
        owner: Camera | Light | None = None
        if node.camera is not None:
            owner = self.scene.cameras[node.camera]
        elif node.light is not None:
            owner = self.scene.lights[node.light]
        return (0.0, 0.0, 0.0) if owner is None or owner.target is None else owner.target

    def _sampled_aim(self, number: int, node: Node) -> tuple[Keys | None, tuple[Floats, Floats] | None]:
        """Return the rotation sampled at each frame, and the times of the frames with the world matrices of all nodes.

        Both are None if neither the node nor its target moves. As in files of 3ds Max, the roll is stored
        only in this rotation.
        """
        if not self.moving[number] and not (node.target is not None and self.moving[node.target]):
            return None, None
        times, world = self._sample_frames()
        spend("keys", len(times))
        parent = np.eye(4) if node.parent is None else world[:, node.parent]
        local = affine.multiply(affine.inverse(parent), world[:, number])
        turns_xyzw = affine.decompose(local)[1]
        if "roll" in self.tracks_by_node.get(number, {}):
            message = f"sampled at {counted(len(times), 'frame')}, because the node is aimed at a target"
            self.report.add(Outcome.BAKED, f"{plain_path('nodes', node.name)}/roll", message)
        return self.tracks.sampled_rotation(times, quat.to_matrix3(turns_xyzw)), (times, world)

    def _moving_nodes(self) -> list[bool]:
        """Return for each node whether it or one of its ancestors has a transform or roll track."""
        order = evaluation_order(self.scene.nodes)
        moving = [
            bool(set(self.tracks_by_node.get(number, ())) & {*_TRANSFORM, "roll"})
            for number in range(len(self.scene.nodes))
        ]
        for number in order.flat.tolist():
            parent = int(order.parents[number])
            moving[number] = moving[number] or (parent >= 0 and moving[parent])
        return moving

    def _sample_frames(self) -> tuple[Floats, Floats]:
        """Return the ticks of all frames with motion, and the world matrices at these times."""
        if self._sampled_frames is None:
            first, last = (float(value) for value in self.fitter.times(self._span()))
            times = np.rint(even_times(first, last, self.ticks_per_frame, numbers=16 * len(self.scene.nodes)))
            ensure_budget("keys", len(times))
            spend("samples", 16 * len(times) * len(self.scene.nodes))
            rig = Rig(self.scene)
            self._sampled_frames = times, rig.world(rig.sample(times / self.fitter.factor), len(times))
        return self._sampled_frames

    def _span(self) -> tuple[float, float]:
        """Return the first and last time at which a node may move."""
        tracks = [
            track
            for by_kind in self.tracks_by_node.values()
            for kind, track in by_kind.items()
            if kind in (*_TRANSFORM, "roll")
        ]
        times = np.concatenate([track.times[np.isfinite(track.times)] for track in tracks])
        if any(track.wrap is not Wrap.SINGLE for track in tracks) or not len(times):
            return self.fitter.span
        return max(float(times.min()), self.fitter.span[0]), min(float(times.max()), self.fitter.span[1])

    def _settings(
        self, number: int, node: Node, name: str, lines: list[AseRecord], keywords: dict[str, str]
    ) -> list[Block]:
        """Return the block of the settings at rest (``lines``), and a block of those at each key.

        ``keywords`` has the keyword of each kind of track.
        """
        blocks = [block(name, line("TIMEVALUE", 0), *lines)]
        tracks: dict[str, Track] = {}
        for kind in keywords:
            track = self.tracks_by_node.get(number, {}).get(kind)
            fitted = None if track is None else self.tracks.linear_track(node, kind, track)
            if fitted is not None:
                tracks[kind] = fitted
        if tracks:
            times = np.unique(np.concatenate([track.times for track in tracks.values()]))
            if len(times) == 1:
                times = np.append(times, times + self.ticks_per_frame)
            samples = {kind: compile_track(track)(times) for kind, track in tracks.items()}
            frames = []
            for row, time in enumerate(times.tolist()):
                values = {kind: np.radians(rows[row]) if kind == "fov" else rows[row] for kind, rows in samples.items()}
                changed = [float_line(keywords[kind], value) for kind, value in values.items()]
                frames.append(block(name, line("TIMEVALUE", round(time)), *changed))
            blocks.append(block(name.replace("SETTINGS", "ANIMATION"), *frames))
        return blocks

    def _camera(self, number: int, node: Node, head: list[AseRecord | None], camera: Camera) -> Block:
        target, animation = self._target_and_animation(number, node)
        position = self.rest_matrices[number, :3, 3]
        distance = 0.0 if target is None else float(np.linalg.norm(position - _position(target)))
        lines = [*write_declared_fields(camera, CAMERA), float_line("CAMERA_TDIST", distance)]
        settings = self._settings(number, node, "CAMERA_SETTINGS", lines, CAMERA_TRACKS)
        kind = line("CAMERA_TYPE", b"Free" if target is None else b"Target")
        transform = self._transform(self.names[number], self.rest_matrices[number])
        tail = (*animation, self._visibility(number, node))
        return block("CAMERAOBJECT", *head, kind, transform, target, *settings, *tail)

    def _light(self, number: int, node: Node, head: list[AseRecord | None], light: Light) -> Block:
        target, animation = self._target_and_animation(number, node)
        kind = b"Target" if target is not None and light.type is LightType.SPOT else _LIGHT_WORDS[light.type]
        has_ranges = light.inner_range is not None or light.outer_range is not None
        if has_ranges and not light.attenuated:
            path = f"{plain_path('nodes', node.name)}/ranges"
            self.report.add(Outcome.DROPPED, path, "ASE stores ranges only for lights with attenuation")
        lines = write_declared_fields(light, LIGHT_SETTINGS)
        lines += write_declared_fields(light, (*CONE, *ATTENUATION))
        settings = self._settings(number, node, "LIGHT_SETTINGS", lines, LIGHT_TRACKS)
        return block(
            "LIGHTOBJECT",
            *head,
            line("LIGHT_TYPE", kind),
            self._transform(self.names[number], self.rest_matrices[number]),
            target,
            *write_declared_fields(light, LIGHT),
            *settings,
            *write_declared_fields(light, EXCLUDES),
            *animation,
            self._visibility(number, node),
        )


def _position(transform: Block) -> Floats:
    return np.array(transform.vector(b"TM_ROW3") or (0.0, 0.0, 0.0))
