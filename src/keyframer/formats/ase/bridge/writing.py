"""Write a scene as an ASE document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track, Wrap, compile_track, even_times
from keyframer.formats.ase import FORMAT
from keyframer.formats.ase.bridge.declared_fields import (
    ATTENUATION,
    CAMERA,
    CAMERA_TRACKS,
    CAPABILITIES,
    CONE,
    ENVIRONMENT,
    LIGHT,
    LIGHT_SETTINGS,
    LIGHT_TRACKS,
    LIGHT_TYPES,
    block,
    float_line,
    line,
    quotable,
    shortest_decimals,
)
from keyframer.formats.ase.bridge.scene import ROUNDING
from keyframer.formats.ase.bridge.tracks import TRANSFORM, Motion
from keyframer.formats.ase.bridge.write_objects import MaterialWriter, MeshWriter
from keyframer.formats.ase.bridge.write_tracks import Rest, TrackWriter
from keyframer.formats.ase.document import Dialect
from keyframer.formats.ase.records import AseRecord, Block, Keys, Line
from keyframer.formats.bridge import SceneWriter
from keyframer.formats.document import Document
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.frame_times import rate_of_keys
from keyframer.formats.kit.free_aims import largest_angle, unit
from keyframer.formats.kit.key_tracks import KeyFitter, KeyRules
from keyframer.formats.kit.mesh_writing import bind_world, with_constant_shapes
from keyframer.formats.kit.repeated_tracks import last_moment, moments_to_check
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
from keyframer.limits import ensure_budget, spend
from keyframer.maths import affine, quat
from keyframer.maths.trigonometry import arctan2
from keyframer.posing import Rig
from keyframer.posing.evaluation_order import evaluation_order
from keyframer.scene import Camera, Clip, Handedness, Light, LightType, Node, NodeKind, Scene, Space
from keyframer.scene.cameras_lights import is_aimed
from keyframer.scene.loss_report import CannotWrite, LossReport, Outcome
from keyframer.scene.losses import (
    AIM_BAKED,
    CLIP_RANGE_CHANGED,
    ENVIRONMENT_UNSUPPORTED,
    FIELD_UNSUPPORTED,
    KEYS_CONVERTED,
    KIND_CHANGED,
    MOTION_WRITTEN,
    NODE_ADDED,
)
from keyframer.text import counted

TICKS_PER_SECOND = 4800
_MOST_CHECKED = 300
"""moments between frames, and keys, at which the direction of cameras and lights is measured"""
_NOISY_DEGREES = 1e-5
"""smaller errors are those of rounding"""
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

    def write(self, scene: Scene, options: WriteOptions) -> Written:
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
        step = None if conventions is None else _sample_step(clip, self.ticks_per_frame)
        self.tracks = TrackWriter(self.fitter, self.ticks_per_frame, keys, step)
        self.materials = MaterialWriter(scene, report, None if conventions is None else conventions.materials)
        self.rest_matrices, self.rebound = rest_world(scene), set[int]()
        """world matrices at rest as they are written, and the nodes that rest elsewhere: skins are bound at rest"""
        if conventions is None and scene.skins:
            self.rest_matrices, self.rebound = bind_world(scene, self.rest_matrices)
            parents = {node.parent for node in scene.nodes}
            for number, node in enumerate(scene.nodes):
                if node.skin is not None and number not in parents:  # vertices without a bone stay where they are
                    self.rest_matrices[number] = np.eye(4)
        motion = Motion(scene)
        self.tracks_by_node = motion.tracks
        matrices = self.rest_matrices if conventions is None else conventions.merged_matrices(self.rest_matrices)
        self.meshes = MeshWriter(motion, matrices, self.materials, self.fitter, report)
        self.embedded_targets = self._find_embedded_targets()
        self.names = self._claim_names()
        self.moving = self._moving_nodes()
        self.parts: dict[int, Hashable] = {}
        """node or material of each record"""

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
            names[number] = unique_names.claim_for(node, self.report, wanted.decode("utf-8", "replace"))
        return [names[number] for number in range(len(names))]

    def _moving_nodes(self) -> list[bool]:
        """Return for each node whether it or one of its ancestors has a transform or roll track."""
        order = evaluation_order(self.scene.nodes)
        moving = [
            bool(set(self.tracks_by_node.get(number, ())) & {*TRANSFORM, "roll"})
            for number in range(len(self.scene.nodes))
        ]
        for number in order.flat.tolist():
            parent = int(order.parents[number])
            moving[number] = moving[number] or (parent >= 0 and moving[parent])
        return moving

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
        times = [float(value) / self.ticks_per_frame for value in self.fitter.times([self.clip.start, self.clip.end])]
        first, last = (whole_frame(time) for time in times)
        if [float(first), float(last)] != times:
            self.report.add(CLIP_RANGE_CHANGED["segment"], "/clips/segment", unit_name="frames", first=first, last=last)
        if environment.background_color is not None and "background_color" not in environment.uses:
            self.report.add(ENVIRONMENT_UNSUPPORTED["unused background"], "/environment/background_color")
            environment = replace(environment, background_color=None)
        if environment.uses - ({"background_color"} if environment.background_color is not None else set()):
            self.report.add(ENVIRONMENT_UNSUPPORTED["uses"], "/environment/uses")
        return block(
            "SCENE",
            line("SCENE_FILENAME", quotable(self.scene.title)),
            line("SCENE_FIRSTFRAME", first),
            line("SCENE_LASTFRAME", last),
            line("SCENE_FRAMESPEED", self.rate),
            line("SCENE_TICKSPERFRAME", self.ticks_per_frame),
            *write_declared_fields(environment, ENVIRONMENT),
        )

    def _node(self, number: int, node: Node) -> Block:
        head = [line("NODE_NAME", self.names[number])]
        if node.parent is not None:
            head.append(line("NODE_PARENT", self.names[node.parent]))
        if node.camera is not None:
            return self._camera(number, node, head, self.scene.cameras[node.camera])
        if node.light is not None and self.scene.lights[node.light].type is not LightType.AMBIENT:
            return self._light(number, node, head, self.scene.lights[node.light])
        tail = [*self._animation(number, node), self._visibility(number, node)]
        transform = self._transform(self.names[number], self.rest_matrices[number])
        if node.mesh is not None or node.kind is NodeKind.OBJECT:
            if node.kind is not NodeKind.OBJECT:
                self._report_kind(node, "an object")
            return block("GEOMOBJECT", *head, transform, *self.meshes.records(number, node, self.names, tail))
        if node.kind not in (NodeKind.DUMMY, NodeKind.BONE):
            self._report_kind(node, "a dummy")
        kind = line("HELPER_CLASS", b"Bone" if node.kind is NodeKind.BONE else b"Dummy")
        return block("HELPEROBJECT", *head, kind, transform, *tail)

    def _report_kind(self, node: Node, written_as: str) -> None:
        reason = f"the node is a {node.kind.noun}"
        path = plain_path("nodes", node.name)
        self.report.add(KIND_CHANGED["reason"], path, extras=node.extras, kind=written_as, reason=reason)

    def _transform(self, name: bytes, world: Floats) -> Block:
        position, rotation, scale, axes = affine.decompose_sheared(world)
        lines: list[AseRecord] = [line("NODE_NAME", name)]
        lines += [line(f"INHERIT_{component}", 0, 0, 0) for component in ("POS", "ROT", "SCL")]
        lines += [float_line(f"TM_ROW{row}", world[:3, row]) for row in range(4)]
        lines.append(float_line("TM_POS", position))
        for turn, axis, angle in ((rotation, "TM_ROTAXIS", "TM_ROTANGLE"), (axes, "TM_SCALEAXIS", "TM_SCALEAXISANG")):
            length = float(quat.length_of(turn[:3]))
            half_angle = float(arctan2(length, turn[3]))
            direction = turn[:3] / length if length > 0 else np.zeros(3)
            lines += [float_line(axis, direction), float_line(angle, 0.0 - 2 * half_angle)]
            if axis == "TM_ROTAXIS":
                lines.append(float_line("TM_SCALE", scale))
        return block("NODE_TM", *lines)

    def _animation(self, number: int, node: Node, aim_keys: Keys | None = None) -> list[AseRecord]:
        tracks = {kind: track for kind, track in self.tracks_by_node.get(number, {}).items() if kind in TRANSFORM}
        if is_aimed(self.scene, node):
            tracks.pop("rotation", None)
        controllers = self.tracks.controllers(node, tracks, self._rest(number, node))
        if aim_keys is not None:
            controllers.insert(1 if controllers and b"_POS_" in controllers[0].keyword else 0, aim_keys)
        if not controllers:
            return []
        animation = block("TM_ANIMATION", line("NODE_NAME", self.names[number]), *controllers)
        self.parts[id(animation)] = ("nodes", number, "animation")
        return [animation]

    def _rest(self, number: int, node: Node) -> Rest:
        """Return the transform of a node in the file."""
        local = self.rest_matrices[number]
        if node.parent is not None:
            local = affine.multiply(affine.inverse(self.rest_matrices[node.parent]), local)
        position, rotation, scale, axes, _ = affine.decompose_with_axes(local, ROUNDING, 1.0)
        return Rest(position, rotation, scale, axes, number in self.rebound)

    def _visibility(self, number: int, node: Node) -> Block | None:
        track = self.tracks_by_node.get(number, {}).get("visible")
        if track is None or not len(track.times):
            if not node.hidden:
                return None
            times, shown = np.zeros(1), np.zeros((1, 1))
        else:
            stored_times = self.fitter.times(track.times)
            finite = np.isfinite(stored_times)
            times = np.rint(stored_times[finite])
            shown = (track.values.reshape(len(stored_times), -1)[finite, :1] > 0).astype(np.float64)
            exact = np.array_equal(times, stored_times) and (
                track.interpolation is Interpolation.STEP or len(times) < 2
            )
            path = f"{plain_path('nodes', node.name)}/visible"
            kind = MOTION_WRITTEN["keys"] if exact else KEYS_CONVERTED["other keys"]
            self.report.add(kind, path, count=len(track.times), keys=counted(len(times), "step key"))
            if len(times) == 1:  # one key would be read as the rest state
                times, shown = np.array([times[0], times[0] + self.ticks_per_frame]), np.repeat(shown, 2, axis=0)
        return block("NODE_VISIBILITY_TRACK", Keys(b"CONTROL_FLOAT_SAMPLE", times.astype(np.int64), shown))

    # Cameras and lights

    def _camera(self, number: int, node: Node, head: list[Line], camera: Camera) -> Block:
        target, animation = self._target_and_animation(number, node, camera)
        position = self.rest_matrices[number, :3, 3]
        distance = 0.0
        if target is not None:
            distance = float(quat.length_of(position - np.array(target.vector(b"TM_ROW3") or (0.0, 0.0, 0.0))))
        lines = [*write_declared_fields(camera, CAMERA), float_line("CAMERA_TDIST", distance)]
        return block(
            "CAMERAOBJECT",
            *head,
            line("CAMERA_TYPE", b"Free" if target is None else b"Target"),
            self._transform(self.names[number], self.rest_matrices[number]),
            target,
            *self._settings(number, node, "CAMERA_SETTINGS", lines, CAMERA_TRACKS),
            *animation,
            self._visibility(number, node),
        )

    def _light(self, number: int, node: Node, head: list[Line], light: Light) -> Block:
        target, animation = self._target_and_animation(number, node, light)
        kind = b"Target" if target is not None and light.type is LightType.SPOT else _LIGHT_WORDS[light.type]
        if not light.attenuated and (light.inner_range, light.outer_range) != (None, None):
            path = f"{plain_path('nodes', node.name)}/ranges"
            self.report.add(FIELD_UNSUPPORTED["light ranges"], path)
        lines = write_declared_fields(light, (*LIGHT_SETTINGS, *CONE, *ATTENUATION))
        excluded = [line("LIGHT_EXCLUDED", quotable(name)) for name in light.excludes]
        exclude_list = block("LIGHT_EXCLUDELIST", line("LIGHT_NUMEXCLUDED", len(excluded)), *excluded)
        return block(
            "LIGHTOBJECT",
            *head,
            line("LIGHT_TYPE", kind),
            self._transform(self.names[number], self.rest_matrices[number]),
            target,
            *write_declared_fields(light, LIGHT),
            *self._settings(number, node, "LIGHT_SETTINGS", lines, LIGHT_TRACKS),
            exclude_list if excluded else None,
            *animation,
            self._visibility(number, node),
        )

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

    def _target_and_animation(
        self, number: int, node: Node, aimed: Camera | Light
    ) -> tuple[Block | None, list[AseRecord]]:
        """Return the transform of the target (None without one), and the animations of the node and of its target."""
        if not is_aimed(self.scene, node):
            return None, self._animation(number, node)
        target = node.target
        frames = None
        if self.moving[number] or (target is not None and self.moving[target]):
            frames = self._sampled_frames
        animation = self._animation(number, node, None if frames is None else self._sampled_aim(number, node, *frames))
        if target is not None and self.embedded_targets.get(target) == number:
            target_node = self.scene.nodes[target]
            animation += self._animation(target, target_node)
            if target_node.hidden or "visible" in self.tracks_by_node.get(target, {}):
                self.report.add(FIELD_UNSUPPORTED["hidden target"], f"{plain_path('nodes', target_node.name)}/hidden")
            transform = self._transform(self.names[target], self.rest_matrices[target])
            self.parts[id(transform)] = ("nodes", target)
            return transform, animation
        target_name, matrix = self.names[number] + b".Target", np.eye(4)
        kind = NODE_ADDED["stored target"]
        if target is None:
            matrix[:3, 3] = (0.0, 0.0, 0.0) if aimed.target is None else aimed.target
        else:
            kind = NODE_ADDED["target"]
            matrix[:3, 3] = self.rest_matrices[target, :3, 3]
            if frames is not None:
                times, world = frames
                keys = Keys(b"CONTROL_POS_TRACK", times.astype(np.int64), shortest_decimals(world[:, target, :3, 3]))
                animation.append(block("TM_ANIMATION", line("NODE_NAME", target_name), keys))
        self.report.add(kind, f"{plain_path('nodes', node.name)}/target")
        return self._transform(target_name, matrix), animation

    def _sampled_aim(self, number: int, node: Node, times: Floats, world: Floats) -> Keys:
        """Return the rotation of an aimed node at each frame. As in files of 3ds Max, only this stores the roll."""
        spend("keys", len(times))
        rest = self._rest(number, node)
        axes_at_rest = quat.to_matrix3(rest.axes_xyzw)
        stretch = axes_at_rest * rest.scale @ axes_at_rest.T
        turns_xyzw = _turns(world, number, node.parent, stretch)
        moments, between = self._between_frames
        above = np.eye(4)[None] if node.parent is None else between[:, node.parent]
        turned = affine.multiply(above[:, :3, :3], quat.to_matrix3(_sampled_at(times, turns_xyzw, moments)) @ stretch)
        axes = (2,) if node.camera is None else (1, 2)
        error = max(largest_angle(unit(turned[:, :, axis]), unit(between[:, number, :3, axis])) for axis in axes)
        outcome = Outcome.APPROXIMATED if error > _NOISY_DEGREES else Outcome.BAKED
        path = f"{plain_path('nodes', node.name)}/roll"
        self.report.add(AIM_BAKED["frames"], path, outcome=outcome, error=error, count=len(times))
        return self.tracks.sampled_rotation(times, turns_xyzw)

    @cached_property
    def _sampled_frames(self) -> tuple[Floats, Floats]:
        """The ticks of all frames with motion, and the world matrices of all nodes at these times."""
        tracks = [
            track
            for by_kind in self.tracks_by_node.values()
            for kind, track in by_kind.items()
            if kind in (*TRANSFORM, "roll")
        ]
        begin, end = self.fitter.span
        times = np.concatenate([track.times[np.isfinite(track.times)] for track in tracks])
        if len(times) and all(track.wrap is Wrap.SINGLE for track in tracks):
            begin, end = max(float(times.min()), begin), min(float(times.max()), end)
        begin = min(begin, self.clip.start)  # rotations are increments: readers expect the first at the start
        first, last = (float(value) for value in self.fitter.times([begin, end]))
        ticks = np.rint(even_times(first, last, self.ticks_per_frame, numbers=16 * len(self.scene.nodes)))
        ensure_budget("keys", len(ticks))
        self._last_moment = min((last_moment(track, end) for track in tracks), default=end)
        return ticks, self._world_at(ticks / self.fitter.factor)

    @cached_property
    def _between_frames(self) -> tuple[Floats, Floats]:
        """Moments at and between these frames, in ticks, and the world matrices of all nodes there."""
        ticks, _ = self._sampled_frames
        tracks = [channel.track for channel in self.clip.channels]
        moments = moments_to_check(tracks, ticks / self.fitter.factor, _MOST_CHECKED)
        return self.fitter.times(moments), self._world_at(moments)

    def _world_at(self, moments: Floats) -> Floats:
        spend("samples", 16 * len(moments) * len(self.scene.nodes))
        rig = Rig(self.scene)
        return rig.world(rig.sample(np.minimum(moments, self._last_moment)), len(moments))


def _turns(world: Floats, number: int, parent: int | None, stretch: Floats) -> Floats:
    """Return the rotations (T, 4) of an aimed node relative to its parent, from the world matrices of all nodes.

    ``stretch`` (3, 3) is its scale at rest, about axes of its own if its parent shears it. The line of sight is right.
    """
    matrices = np.eye(4) if parent is None else world[:, parent]
    local = affine.multiply(affine.inverse(matrices), world[:, number])
    return quat.multiply(_orientation(local[:, :3, :3]), quat.conjugate(_orientation(stretch)))


def _orientation(linear: Floats) -> Floats:
    """Return the rotation of matrices (..., 3, 3) whose z axis is theirs, and whose y axis is as near as possible."""
    sides = np.where(affine.determinant(linear) < 0, -1.0, 1.0)[..., None] * linear[..., 0]
    matrices = np.zeros((*linear.shape[:-2], 4, 4))
    matrices[..., :3, :3] = np.stack([linear[..., 2], sides, linear[..., 1]], axis=-1)
    return quat.multiply(affine.decompose(matrices)[1], (0.5, 0.5, 0.5, 0.5))


def _sampled_at(ticks: Floats, turns_xyzw: Floats, moments: Floats) -> Floats:
    """Return rotations that are sampled at these ticks at other moments."""
    track = Track("rotation", ticks, turns_xyzw, Interpolation.SAMPLED, form=RotationForm.QUATERNION_ABSOLUTE)
    return compile_track(track)(moments)


def _sample_step(clip: Clip, ticks_per_frame: int) -> float:
    """Return the smallest time between two samples of a clip whose times are ticks, as readers find it."""
    sampled = [channel.track for channel in clip.channels if channel.track.interpolation is Interpolation.SAMPLED]
    steps = np.concatenate([np.zeros(1), *(np.diff(track.times) for track in sampled if track.kind in TRANSFORM)])
    return float(min(steps[steps > 0], default=ticks_per_frame))
