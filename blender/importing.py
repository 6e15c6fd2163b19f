# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds a scene as Blender objects, and its clips as actions."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import bpy
import numpy as np

import keyframer
from keyframer.exchange.fcurves import (
    ClipCurves,
    DerivedProperty,
    FCurves,
    NodeTransform,
    clip_curves,
    initial_transforms,
)
from keyframer.exchange.kit.cameras_lights import dimming_difference, unit_intensities
from keyframer.exchange.kit.colors import linear_color
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.declared_fields import Capabilities, StoredAs
from keyframer.formats.kit.unsupported_features import report_dropped
from keyframer.posing.bounds_and_duration import clip_span, scene_size
from keyframer.posing.local_matrices import aim_matrices
from keyframer.scene import Clip, Environment, Handedness, LightType, Node, NodeKind, Scene, Space
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import (
    AIM_BAKED,
    FIELD_KEPT,
    KEYS_CONVERTED,
    KEYS_RESAMPLED,
    LENGTHS_CONVERTED,
    LIGHT_CHANGED,
    MOTION_WRITTEN,
    PART_WRITTEN,
    SCALE_AXES_UNSUPPORTED,
    SKIN_CHANGED,
)
from keyframer.text import safe_text

from .animation import WXYZ, Target, make_action, play
from .armature import Armature, bone_nodes, bound_points
from .geometry import add_shape_keys, build_mesh, usable
from .identity import AIM, HELPER, add_note, mark
from .materials import Materials

_SYMBOL = 0.05
"""size of the symbols of cameras and empties, relative to the size of the scene"""
SENSOR = 36.0
"""millimetres: sensor width for converting fields of view to focal lengths"""
WATTS = "keyframer_watts"
"""custom property of lights: the power for a multiplier of 1, in Blender's unit"""
TARGET = "keyframer_target"
"""custom property of camera and light objects: the object of their target"""
CAPABILITIES = Capabilities(
    features=(
        *(
            "parents",
            "names",
            "dummies",
            "hidden nodes",
            "pivots",
            "scale axes",
            "scale_axes",
            "meshes",
            "smoothing",
            "vertex colours",
        ),
        *("cast shadows", "morphs", "skins", "materials", "textures", "cameras", "lights", "frames", "visible", "fov"),
        *("roll", "color", "multiplier", "hotspot", "falloff"),
    ),
    declared={
        part: (StoredAs(names, "data-blocks of Blender"),)
        for part, names in {
            "meshes": ("name",),
            "materials": (
                *("diffuse", "shininess", "shininess_strength", "transparency", "self_illumination", "two_sided"),
            ),
            "maps": (
                *("amount", "scale", "offset", "rotation_degrees", "mirror", "negative", "decal", "tiled"),
                *("alpha_source", "ignore_alpha"),
            ),
            "cameras": ("name", "fov_degrees", "roll_degrees", "clip"),
            "lights": (
                *("name", "color", "multiplier", "on", "hotspot_degrees", "falloff_degrees", "roll_degrees"),
                "casts_shadows",
            ),
            "clips": ("name",),
        }.items()
    },
    reported=("environment", "other maps", "raw channels"),
)
"""the parts of a scene that are imported; all others are reported as dropped"""
_LIGHTS = {LightType.OMNI: "POINT", LightType.SPOT: "SPOT", LightType.DIRECTIONAL: "SUN"}
_EMPTIES = {NodeKind.TARGET: "CIRCLE", NodeKind.DUMMY: "CUBE", NodeKind.AMBIENT: "SPHERE"}
_LENGTH_UNITS = {
    0.001: ("METRIC", "MILLIMETERS"),
    0.01: ("METRIC", "CENTIMETERS"),
    1.0: ("METRIC", "METERS"),
    1000.0: ("METRIC", "KILOMETERS"),
    0.0254: ("IMPERIAL", "INCHES"),
    0.3048: ("IMPERIAL", "FEET"),
}
"""system and unit in which Blender shows lengths as the numbers of the file, by metres per unit"""
_TOLERANCE = 1e-6
"""differences of weights and positions below this are treated as 0"""
_SHORTEST_UNIT, _LONGEST_UNIT = 1e-9, 1e9
"""limits of Blender's unit scale, in metres"""
_START_UP = {"Cube", "Light", "Camera"}
"""the objects of the scene that Blender starts with"""
_SMALLEST_ROLL = 1e-3
"""degrees: a smaller roll is none"""
_VERTICAL = 1e-4
"""a line of sight nearer to vertical is not left to Blender, which turns the object another way there"""
_MOST_AIMS = 500
"""maximum number of frames of a clip at which the lines of sight are looked at"""
_UNITS = {"position": "Blender unit", "rotation": "degree", "scale_axes": "degree", "lens": "mm"}
"""units of the errors of curves; errors of other curves are plain numbers"""
_CONJUGATE = np.diag([-1.0, -1.0, -1.0, 1.0])


@dataclass
class Options:
    """Options of the import."""

    scale: float = 1.0
    convert_unit: bool = False
    """convert lengths to the unit of the Blender scene, instead of keeping the numbers"""
    fps: float | None = None
    salvage: bool = False
    bake: bool = False
    format: str | None = None
    reader_options: dict[str, Any] = field(default_factory=dict)
    """options of the format"""


@dataclass(eq=False)
class ImportResult:
    """The result of an import: objects by node index, the armature, actions and the report."""

    scene: Scene
    """in Blender's axes"""
    collection: Any
    objects: dict[int, Any]
    armature: Armature | None
    actions: list[Any]
    report: LossReport
    factor: float
    """length in Blender of a unit of the file"""
    tracks: str
    """how many tracks kept their keys, were fitted, and were sampled"""


def import_file(context: Any, path: Path, options: Options) -> ImportResult:
    """Read a file and build it; raises `FormatError`, OSError or ValueError if it cannot be read."""
    scene = keyframer.load(path, format=options.format, salvage=options.salvage, **options.reader_options)
    built = build(context, scene, path, options)
    add_source(built, scene, path, options)
    return built


def build(context: Any, scene: Scene, path: Path, options: Options) -> ImportResult:
    """Build a scene in a new collection; if this fails, all new data-blocks are removed."""
    metres = scene.space.metres_per_unit
    if metres is not None and not _SHORTEST_UNIT <= metres <= _LONGEST_UNIT:
        metres = None
    factor = options.scale
    if options.convert_unit and metres is not None:
        scene_unit = context.scene.unit_settings.scale_length
        factor, metres = factor * metres / scene_unit, scene_unit
    host_space = Space("z", Handedness.RIGHT, metres, v_up=True)
    builder = _Builder(context, in_space(scene, host_space, factor), path, options)
    try:
        return builder.build(factor)
    except BaseException:
        builder.remove_new_blocks()
        raise


def add_source(built: ImportResult, scene: Scene, path: Path, options: Options) -> None:
    """Note at the collection which file its objects show, for an export into the original."""
    if scene.origin is not None and not options.salvage:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        stated = {**asdict(options), "format": scene.source_format}
        add_note(built.collection, source=str(path.absolute()), sha256=digest, options=stated, factor=built.factor)


def rebuild(context: Any, scene: Scene, path: Path, options: Options, factor: float) -> _Builder:
    """Build a scene again, as it was imported; the caller removes it with `_Builder.remove_new_blocks`."""
    host_space = Space("z", Handedness.RIGHT, None, v_up=True)
    builder = _Builder(context, in_space(scene, host_space, factor), path, options)
    try:
        builder.build()
    except BaseException:
        builder.remove_new_blocks()
        raise
    return builder


class _Builder:
    """Builds the objects and actions of one scene."""

    def __init__(self, context: Any, scene: Scene, path: Path, options: Options) -> None:
        self.context = context
        self.scene = scene
        self.path = path
        self.options = options
        self.report = LossReport("blender")
        self.existing_blocks = set(_blocks())
        names = {obj.name for obj in context.scene.objects}
        self.has_other_objects = len(names) > 0
        self.is_start_up = names == _START_UP
        self.size = scene_size(scene)
        self.materials = Materials(scene.materials, path.parent, self.report)
        self.collection = bpy.data.collections.new(path.name)
        context.scene.collection.children.link(self.collection)
        self.transforms: list[NodeTransform] = initial_transforms(scene)
        self.pose = keyframer.pose(scene, frames=[self._first_frame()])
        self.intensities = unit_intensities(scene, self.pose.world[0], self.pose.visible[0])
        self.objects: dict[int, Any] = {}
        self.armature: Armature | None = None
        self.targets: dict[tuple[int, str], list[Target]] = {}
        self.meshes: dict[tuple[object, ...], Any] = {}
        self.aim_helpers: set[Any] = set()
        """the empties that are aimed in the place of a camera or light"""
        self.aim_worlds: list[np.ndarray] | None = None
        self.tracking: set[int] = set()
        """the cameras and lights that Blender aims at their targets"""
        self.nodes_with_weight_sum: set[int] = set()
        """nodes whose morph weights do not always sum to 1"""

    def _first_frame(self) -> float:
        """Return the first frame of the first clip; 0 without clips."""
        if not self.scene.clips:
            return 0.0
        clip = self.scene.clips[0]
        return clip_span(clip)[0] / (clip.units_per_frame or 1.0)

    def remove_new_blocks(self) -> None:
        """Remove all data-blocks that did not exist before the import."""
        bpy.data.batch_remove([block for block in _blocks() if block not in self.existing_blocks])

    def build(self, factor: float = 1.0) -> ImportResult:
        clips = [self._curves(number) for number in range(len(self.scene.clips))]
        self._find_weight_sums(clips)
        parents = [transform.parent for transform in self.transforms]
        bones = bone_nodes(self.scene, parents)
        layer = _layer_of(self.context.view_layer.layer_collection, self.collection)
        self.context.view_layer.active_layer_collection = layer
        if bones:
            self.armature = Armature(self.context, self.scene, bones, parents, self.pose.world[0])
            self.armature.object.name = self.path.stem
            for number in bones:
                self._place_bone(number)
        for number in range(len(self.scene.nodes)):
            self._add(number)
        for number in range(len(self.scene.nodes)):
            self._place_object(number)
        for number in self._aimed():
            self._aim(number)
        for clip in clips:  # a constraint turns what tracks a target
            clip.curves = [each for each in clip.curves if each.name != "rotation" or each.node not in self.tracking]
        self._environment()
        self._report_conversion(clips)
        counts = Counter(curves.how for clip in clips for curves in clip.curves)
        tracks = f"tracks: {counts['exact']} kept, {counts['fitted']} fitted, {counts['sampled']} sampled"
        actions = self._animate(clips)
        self._set_frames(clips)
        self._set_unit()
        self._show_distant_objects()
        self.context.view_layer.update()
        self._note_parts()
        parts = self.scene, self.collection, self.objects, self.armature, actions, self.report
        return ImportResult(*parts, factor, tracks)

    def _note_parts(self) -> None:
        """Note at every data-block which part of the scene it shows."""
        mark(self.collection, self.collection.name)
        for number, obj in self.objects.items():
            mark(obj, self.scene.nodes[number].name, node=number)
        for obj in self.collection.objects:
            if obj not in self.objects.values():
                mark(obj, obj.name, helper=AIM if obj in self.aim_helpers else HELPER)
        if self.armature is not None:
            for number, name in self.armature.bone_of.items():
                mark(self.armature.object.data.bones[name], self.scene.nodes[number].name, node=number)
        for number, obj in self.objects.items():
            node = self.scene.nodes[number]
            for part, index in ((self.scene.meshes, node.mesh), (self.scene.cameras, node.camera)):
                if index is not None and obj.type in ("MESH", "CAMERA"):
                    mark(obj.data, part[index].name)
            if obj.type == "CAMERA" and node.camera is not None:
                clip = self.scene.cameras[node.camera].clip
                add_note(obj.data, clip=clip, clip_shown=[obj.data.clip_start, obj.data.clip_end])
            if obj.type == "LIGHT" and node.light is not None:
                mark(obj.data, self.scene.lights[node.light].name)

    # Objects

    def _is_bone(self, number: int) -> bool:
        return self.armature is not None and number in self.armature.bone_of

    def _place_bone(self, number: int) -> None:
        assert self.armature is not None
        transform = self.transforms[number]
        pose = self.armature.object.pose.bones[self.armature.bone_of[number]]
        for name, target in self.armature.targets(number).items():
            value = target.matrix @ _values(transform)[name] + target.offset
            setattr(pose, target.path.rpartition(".")[2], value.tolist())
            self.targets[number, name] = [target]
        if transform.scale_axes_xyzw is not None:
            path = f"/nodes/{self.scene.nodes[number].name}/scale_axes"
            self.report.add(SCALE_AXES_UNSUPPORTED["bones"], path)

    def _add(self, number: int) -> None:
        """Add the objects of a node: its mesh, camera and light, or an empty; nothing for a bone without these."""
        node = self.scene.nodes[number]
        objects = [self._mesh_object(number)] if node.mesh is not None else []
        objects += [self._camera_object(number)] if node.camera is not None else []
        objects += [self._light_object(number)] if self._has_light_object(node) else []
        if not objects:
            if self._is_bone(number):
                return
            empty = bpy.data.objects.new(safe_text(node.name), None)
            empty.empty_display_size = _SYMBOL * self.size
            empty.empty_display_type = _EMPTIES.get(node.kind, "PLAIN_AXES")
            objects = [empty]
        for obj in objects:
            obj.rotation_mode = "QUATERNION"
            self.collection.objects.link(obj)
            obj.visible_shadow = node.mesh is None or self.scene.meshes[node.mesh].casts_shadows
            obj.hide_render = obj.hide_viewport = not self.pose.visible[0, number]
            steps = [Target(obj, name, -np.eye(1), np.ones(1)) for name in ("hide_viewport", "hide_render")]
            self.targets.setdefault((number, "visible"), []).extend(steps)
        self.objects[number] = objects[0]
        for other in objects[1:]:
            other.parent = objects[0]

    def _has_light_object(self, node: Node) -> bool:
        return node.light is not None and self.scene.lights[node.light].type in _LIGHTS

    def _place_object(self, number: int) -> None:
        """Set parent and transform of the object of a node; bind it to the armature if it has a skin."""
        obj, transform = self.objects.get(number), self.transforms[number]
        if obj is None:
            return
        node = self.scene.nodes[number]
        if node.skin is not None and node.mesh is not None and self.armature is not None:
            self._bind(number, obj)
            return
        if self._is_bone(number):
            assert self.armature is not None
            self.armature.attach(obj, number)
            return
        moved = turned = sized = obj  # the objects that get location, rotation and scale
        if transform.scale_axes_xyzw is not None:
            moved, sized = self._helper(node, "place"), self._helper(node, "scale")
            obj.parent, sized.parent, turned = sized, moved, moved
            axes = transform.scale_axes_xyzw
            sized.rotation_quaternion = (WXYZ @ axes).tolist()
            obj.rotation_quaternion = (WXYZ @ _CONJUGATE @ axes).tolist()
            self.targets[number, "scale_axes"] = [
                Target(sized, "rotation_quaternion", WXYZ),
                Target(obj, "rotation_quaternion", WXYZ @ _CONJUGATE),
            ]
        if transform.parent is not None:
            if self._is_bone(transform.parent):
                assert self.armature is not None
                self.armature.attach(moved, transform.parent)
            else:
                moved.parent = self.objects[transform.parent]
        moved.location = transform.position.tolist()
        turned.rotation_quaternion = (WXYZ @ transform.rotation_xyzw).tolist()
        sized.scale = transform.scale.tolist()
        self.targets[number, "position"] = [Target(moved, "location", np.eye(3))]
        self.targets[number, "rotation"] = [Target(turned, "rotation_quaternion", WXYZ)]
        self.targets[number, "scale"] = [Target(sized, "scale", np.eye(3))]

    def _aimed(self) -> list[int]:
        """Return the cameras and lights that are aimed at an object."""
        return [
            number
            for number, node in enumerate(self.scene.nodes)
            if node.target in self.objects
            and number in self.objects
            and self.objects[number].type in ("CAMERA", "LIGHT")
        ]

    def _aim(self, number: int) -> None:
        """Let a camera or light track its target, if Blender points it where the file does: not if the line of sight is
        ever vertical. With a roll, an empty in its place is aimed, and the object turns about its own axis."""
        node, obj = self.scene.nodes[number], self.objects[number]
        assert node.target is not None
        obj[TARGET] = self.objects[node.target]
        rolls = self._rolls(number)
        if rolls is None or self._is_bone(number):
            return
        aimed = obj
        if np.abs(rolls).max() > _SMALLEST_ROLL:
            aimed = self._helper(node, "aim")
            self.aim_helpers.add(aimed)
            aimed.parent, aimed.parent_type, aimed.parent_bone = obj.parent, obj.parent_type, obj.parent_bone
            aimed.matrix_parent_inverse = obj.matrix_parent_inverse.copy()
            aimed.location, aimed.scale = obj.location, obj.scale
            obj.parent, obj.parent_type = aimed, "OBJECT"
            obj.matrix_parent_inverse.identity()
            obj.location, obj.scale, obj.rotation_mode = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), "XYZ"
            obj.rotation_euler = (0.0, 0.0, -math.radians(rolls[0]))
            self.targets[number, "position"] = [Target(aimed, "location", np.eye(3))]
            self.targets[number, "scale"] = [Target(aimed, "scale", np.eye(3))]
            self.targets[number, "roll angle"] = [Target(obj, "rotation_euler", np.array([[0.0], [0.0], [1.0]]))]
        constraint = aimed.constraints.new("TRACK_TO")
        constraint.target, constraint.track_axis, constraint.up_axis = obj[TARGET], "TRACK_NEGATIVE_Z", "UP_Y"
        self.targets.pop((number, "rotation"), None)
        self.tracking.add(number)

    def _rolls(self, number: int) -> np.ndarray | None:
        """Return the rolls of an aimed node in degrees, at the frames of all clips; None if it is ever vertical."""
        target = self.scene.nodes[number].target
        rolls = []
        for world in self._worlds():
            eye, goal = world[:, number, :3, 3], world[:, target, :3, 3]
            across = np.hypot(*(goal - eye).T[:2])
            if not (across > _VERTICAL * np.linalg.norm(goal - eye, axis=1)).all():
                return None
            aimed = aim_matrices(self.scene, eye, goal, np.zeros(len(world)))
            rolls.append(roll_degrees(world[:, number], aimed))
        return np.concatenate(rolls)

    def _worlds(self) -> list[np.ndarray]:
        """Return the world matrices (T, N, 4, 4) at frames of each clip."""
        if self.aim_worlds is None:
            self.aim_worlds = []
            for number, clip in enumerate(self.scene.clips or [Clip()]):
                begin, end = (time / (clip.units_per_frame or 1.0) for time in clip_span(clip))
                frames = np.linspace(begin, end, min(int(end - begin) + 1, _MOST_AIMS) or 1)
                self.aim_worlds.append(keyframer.pose(self.scene, frames=frames, clip=number).world)
        return self.aim_worlds

    def _helper(self, node: Node, suffix: str) -> Any:
        """Add an empty for what Blender objects do not have: scale axes, and a roll about the line of sight."""
        empty = bpy.data.objects.new(safe_text(f"{node.name} ({suffix})"), None)
        empty.rotation_mode, empty.empty_display_size = "QUATERNION", 0.1 * _SYMBOL * self.size
        self.collection.objects.link(empty)
        return empty

    # Meshes

    def _mesh_object(self, number: int) -> Any:
        node = self.scene.nodes[number]
        assert node.mesh is not None
        mesh = self.scene.meshes[node.mesh]
        colored = mesh.colors is not None and len(mesh.colors) > 0
        mapped = mesh.uv is not None and len(mesh.uv) > 0
        used = [-1] if mesh.face_materials is None else sorted(set(np.asarray(mesh.face_materials).tolist()))
        slots = [self.materials.get(material, colored=colored, mapped=mapped) for material in used]
        slot_of = {material: slot for slot, material in enumerate(used)}
        shift = np.zeros(3) if node.skin is not None else usable(node.pivot)
        points = usable(mesh.positions) - shift
        # Nodes with the same pivot share a mesh, unless they have a morph or a skin.
        key = (node.mesh, *shift.tolist(), number if node.morph is not None or node.skin is not None else None)
        if key not in self.meshes:
            name = safe_text(mesh.name or node.name)
            self.meshes[key] = build_mesh(mesh, name, points, slots if slots != [None] else [], slot_of)
        data = self.meshes[key]
        obj = bpy.data.objects.new(safe_text(node.name), data)
        if node.morph is not None and node.morph.names:
            self._add_shapes(number, obj, points, shift)
        return obj

    def _add_shapes(self, number: int, obj: Any, points: np.ndarray, shift: np.ndarray) -> None:
        morph = self.scene.nodes[number].morph
        assert morph is not None
        with_sum = number in self.nodes_with_weight_sum
        names = add_shape_keys(obj, points, morph, shift, sums=with_sum)
        count = len(morph.names)
        matrix = np.concatenate([np.eye(count), np.ones((1, count))]) if with_sum else np.eye(count)
        offset = np.where(np.arange(len(names)) < count, 0.0, -1.0)
        weights = self.pose.morph_weights.get(number)
        keys = obj.data.shape_keys
        targets = []
        for row, name in enumerate(names):
            if weights is not None:
                keys.key_blocks[name].value = float(matrix[row] @ weights[0] + offset[row])
            path = f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'
            targets.append(Target(keys, path, matrix[row : row + 1], offset[row : row + 1]))
        self.targets[number, "morph"] = targets

    def _find_weight_sums(self, clips: list[ClipCurves]) -> None:
        """Find the nodes whose morph weights do not sum to 1 at the first frame or at a key."""
        first = {node: weights[:1] for node, weights in self.pose.morph_weights.items()}
        keyed = [(curves.node, curves.values) for clip in clips for curves in clip.curves if curves.name == "morph"]
        for node, values in [*first.items(), *keyed]:
            if np.abs(values.sum(axis=1) - 1.0).max(initial=0.0) > _TOLERANCE:
                self.nodes_with_weight_sum.add(node)

    def _bind(self, number: int, obj: Any) -> None:
        """Bind a skinned mesh to the armature."""
        assert self.armature is not None
        node = self.scene.nodes[number]
        assert node.skin is not None
        skin = self.scene.skins[node.skin]
        blocks = [] if obj.data.shape_keys is None else list(obj.data.shape_keys.key_blocks)
        for part in [obj.data.vertices, *(block.data for block in blocks)]:
            points = np.empty(3 * len(part), np.float32)
            part.foreach_get("co", points)
            bound_at, error = bound_points(skin, points.reshape(-1, 3).astype(np.float64))
            part.foreach_set("co", bound_at.astype(np.float32).reshape(-1))
        if error > _TOLERANCE:
            self.report.add(SKIN_CHANGED["bind positions"], f"/skins/{skin.name}", error=error, unit="Blender unit")
        obj.data.update()
        self.armature.bind(obj, node.skin)

    # Cameras and lights

    def _camera_object(self, number: int) -> Any:
        node = self.scene.nodes[number]
        assert node.camera is not None
        camera = self.scene.cameras[node.camera]
        data = bpy.data.cameras.new(safe_text(camera.name or node.name))
        data.sensor_fit, data.sensor_width = "HORIZONTAL", SENSOR
        data.lens = float(_lens(number, self.pose.camera_fov_degrees[:1, node.camera])[0])
        data.display_size = _SYMBOL * self.size
        data.clip_start, data.clip_end = 1e-4 * self.size, 100.0 * self.size  # ranges in files are mostly those of fog
        self.targets[number, "lens"] = [Target(data, "lens", np.eye(1))]
        obj = bpy.data.objects.new(safe_text(node.name), data)
        if self.context.scene.camera is None or self.is_start_up:
            self.context.scene.camera, self.is_start_up = obj, False
        return obj

    def _light_object(self, number: int) -> Any:
        node = self.scene.nodes[number]
        assert node.light is not None
        light = self.scene.lights[node.light]
        data = bpy.data.lights.new(safe_text(light.name or node.name), _LIGHTS[light.type])
        data[WATTS] = self._watts(number)
        data.color = linear_color(self.pose.light_colors[0, node.light]).tolist()
        data.energy = float(self._energy(number, self.pose.light_multipliers[:1, node.light])[0])
        data.use_shadow = light.casts_shadows
        self.targets[number, "light color"] = [Target(data, "color", np.eye(3))]
        self.targets[number, "energy"] = [Target(data, "energy", np.eye(1))]
        if light.type is LightType.SPOT:
            cones = (self.pose.light_hotspot_degrees, self.pose.light_falloff_degrees)
            data.spot_size, data.spot_blend = _cone(number, *(degrees[:1, node.light] for degrees in cones))[0]
            for row, name in enumerate(("spot_size", "spot_blend")):
                self.targets.setdefault((number, "cone"), []).append(Target(data, name, np.eye(2)[row : row + 1]))
        path = f"/lights/{light.name}"
        if light.type is LightType.DIRECTIONAL:
            self.report.add(PART_WRITTEN["part"], path, extras=light.extras)
        else:
            self.report.add(LIGHT_CHANGED["dimming"], path, extras=light.extras, difference=dimming_difference(light))
        return bpy.data.objects.new(safe_text(node.name), data)

    def _watts(self, number: int) -> float:
        """Return the power for a multiplier of 1, with which the light is as bright at the centre of the scene as the
        original light was everywhere.
        """
        light = self.scene.nodes[number].light
        assert light is not None
        sun = self.scene.lights[light].type is LightType.DIRECTIONAL
        return self.intensities[light] * (1.0 if sun else 4.0 * math.pi)

    def _energy(self, number: int, multiplier: np.ndarray) -> np.ndarray:
        light = self.scene.nodes[number].light
        assert light is not None
        on = 1.0 if self.scene.lights[light].on else 0.0
        return self._watts(number) * on * np.nan_to_num(np.asarray(multiplier, np.float64))

    # Environment

    def _environment(self) -> None:
        environment = self.scene.environment
        shown_fields = {"background_color"} & environment.uses
        if environment.background_color is not None and shown_fields:
            world = bpy.data.worlds.new(self.path.stem)
            world.use_nodes = True
            color = linear_color(environment.background_color).tolist()
            background = next(node for node in world.node_tree.nodes if node.type == "BACKGROUND")
            background.inputs["Color"].default_value = (*color, 1.0)
            world.color = color
            if self.context.scene.world is None or self.context.scene.world.users <= 1:
                self.context.scene.world = world
        for name in (item.name for item in fields(Environment) if item.name not in ("uses", "extras", *shown_fields)):
            value = getattr(environment, name)
            if value is not None and value != (0.0, 0.0, 0.0):
                path = f"/environment/{name}"
                self.report.add(FIELD_KEPT["field"], path, outcome=Outcome.DROPPED, extras=environment.extras)

    # Motion

    def _curves(self, number: int) -> ClipCurves:
        derived = (
            DerivedProperty("lens", ("fov",), _lens, 1e-4 * SENSOR),
            DerivedProperty("light color", ("color",), lambda _, values: linear_color(values), 1e-3),
            DerivedProperty("energy", ("multiplier",), self._energy, 1e-3 * max(self.intensities, default=1.0)),
            DerivedProperty("cone", ("hotspot", "falloff"), _cone, 1e-4),
            DerivedProperty("roll angle", ("roll",), lambda _, degrees: -np.radians(degrees), 1e-5),
        )
        options = self.options
        return clip_curves(self.scene, number, fps=options.fps, bake=options.bake, derived=derived)

    def _animate(self, clips: list[ClipCurves]) -> list[Any]:
        """Add an action for each clip that has curves; the first one plays."""
        actions: list[Any] = []
        animated = dict.fromkeys((curves.node, curves.name) for clip in clips for curves in clip.curves)
        for number, clip in enumerate(clips):
            if len(clips) > 1:
                self._add_constant_keys(number, clip, list(animated))
            if not clip.curves:
                continue
            name = safe_text(clip.name) or self.path.stem
            action, slots = make_action(clip, name, self.collection.name, self.targets)
            if not actions:
                play(slots, action)
            actions.append(action)
        return actions

    def _add_constant_keys(self, number: int, clip: ClipCurves, animated: list[tuple[int, str]]) -> None:
        """Add a key for every position, rotation and scale that only other clips animate: users can switch clips."""
        in_clip = {(curves.node, curves.name) for curves in clip.curves}
        transforms = initial_transforms(self.scene, number)
        for node, name in animated:
            values = _values(transforms[node])
            if (node, name) not in in_clip and name in values:
                row = values[name][None]
                clip.curves.append(FCurves(node, name, "LINEAR", np.array([clip.first]), row, row[:0], row[:0]))

    def _set_frames(self, clips: list[ClipCurves]) -> None:
        """Set rate and frame range of the scene from the first clip."""
        if not clips:
            return
        scene, clip = self.context.scene, clips[0]
        fps = min(max(clip.fps, 0.01), 32_000.0)
        scene.render.fps = max(1, round(fps))
        scene.render.fps_base = scene.render.fps / fps
        first, last = math.floor(clip.first), math.ceil(clip.last)
        scene.frame_start, scene.frame_end = max(first, 0), max(last, first, 0)
        scene.frame_set(first)

    def _set_unit(self) -> None:
        """Set the unit of a new Blender scene to that of the file: numbers stay as they are."""
        settings, metres = self.context.scene.unit_settings, self.scene.space.metres_per_unit
        if metres is None or math.isclose(settings.scale_length, metres, rel_tol=1e-6):
            return
        if self.has_other_objects and settings.scale_length != 1.0:
            self.report.add(
                LENGTHS_CONVERTED["other unit"],
                "/space/unit",
                outcome=Outcome.DROPPED,
                metres=metres,
                kept=settings.scale_length,
            )
            return
        settings.scale_length = metres
        system, length_unit = _LENGTH_UNITS.get(float(f"{metres:.6g}"), ("METRIC", "ADAPTIVE"))
        settings.system, settings.length_unit = system, length_unit
        self.report.add(LENGTHS_CONVERTED["unit taken"], "/space/unit", outcome=Outcome.EXACT, metres=metres)

    def _show_distant_objects(self) -> None:
        """Move the far end of all 3D views behind the imported objects."""
        areas = (area for screen in bpy.data.screens for area in screen.areas)
        for view in (space for area in areas for space in area.spaces if space.type == "VIEW_3D"):
            view.clip_end = max(view.clip_end, 10.0 * self.size)

    def _report_conversion(self, clips: list[ClipCurves]) -> None:
        """Report how motion was converted, which parts were dropped, and which targets were baked."""
        kinds = {"fitted": KEYS_CONVERTED["fitted"], "sampled": KEYS_RESAMPLED["sampled"]}
        for converted in clips:
            for curves in converted.curves:
                path = f"/nodes/{self.scene.nodes[curves.node].name}/{curves.name}"
                keys = f"{len(curves.frames)} key{'s' if len(curves.frames) > 1 else ''}"
                error = curves.error if curves.how == "fitted" else None
                if (curves.node, curves.name) in self.targets:
                    kind, unit = kinds.get(curves.how, MOTION_WRITTEN["keys"]), _UNITS.get(curves.name, "1")
                    self.report.add(kind, path, error=error, unit=unit, keys=keys)
        for clip in self.scene.clips:
            for channel in clip.raw_channels:
                path = f"/clips/{clip.name}/{channel.name}"
                self.report.add(FIELD_KEPT["raw channel"], path, outcome=Outcome.DROPPED)
        lines = set()
        for clip in self.scene.clips or [Clip()]:
            dropped = LossReport("blender")
            report_dropped(self.scene, clip, dropped, CAPABILITIES.handled, "Blender")
            self.report.losses += [loss for loss in dropped if loss not in lines]
            lines |= set(dropped)
        for number, node in enumerate(self.scene.nodes):
            is_aimed = node.target is not None and (node.camera is not None or self._has_light_object(node))
            if is_aimed and number in self.objects:
                path = f"/nodes/{node.name}/target"
                if number in self.tracking:
                    self.report.add(MOTION_WRITTEN["aim"], path, extras=node.extras)
                else:
                    self.report.add(AIM_BAKED["rotation"], path, extras=node.extras, target="an empty")


def roll_degrees(world: np.ndarray, aimed: np.ndarray) -> np.ndarray:
    """Return the roll (T,) of matrices (T, 4, 4) about their lines of sight, compared with aimed ones without roll."""
    axes = world[:, :3, 0] / np.linalg.norm(world[:, :3, 0], axis=1, keepdims=True)
    across, up = (np.sum(axes * aimed[:, :3, axis], axis=1) for axis in (0, 1))
    return np.asarray(np.degrees(np.unwrap(-np.arctan2(up, across))))


def _values(transform: NodeTransform) -> dict[str, np.ndarray]:
    """Return position, rotation and scale, by the names of their curves."""
    return {"position": transform.position, "rotation": transform.rotation_xyzw, "scale": transform.scale}


def _blocks() -> Iterator[Any]:
    """Return all data-blocks of the kinds that an import adds."""
    kinds = ("objects", "meshes", "materials", "cameras", "lights", "armatures", "images", "worlds", "actions")
    return (block for kind in (*kinds, "collections") for block in getattr(bpy.data, kind))


def _layer_of(layer: Any, collection: Any) -> Any:
    """Return the entry of a collection in the view layer."""
    return next(child for child in layer.children if child.collection == collection)


def _lens(_: int, fov_degrees: np.ndarray) -> np.ndarray:
    """Return focal lengths in millimetres."""
    finite_degrees = np.nan_to_num(np.asarray(fov_degrees, np.float64), nan=48.0)
    return 0.5 * SENSOR / np.tan(0.5 * np.radians(np.clip(finite_degrees, 0.01, 172.0)))


def _cone(_: int, hotspot_degrees: np.ndarray, falloff_degrees: np.ndarray) -> np.ndarray:
    """Return (T, 2) the size of the cone in radians, and the fraction of its soft edge."""
    outer = np.clip(np.nan_to_num(np.asarray(falloff_degrees, np.float64).reshape(-1), nan=45.0), 1.0, 180.0)
    inner = np.clip(np.nan_to_num(np.asarray(hotspot_degrees, np.float64).reshape(-1)), 0.0, outer)
    return np.column_stack([np.radians(outer), 1.0 - inner / outer])
