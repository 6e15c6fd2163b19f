# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports the current Blender scene: evaluates it frame by frame and reduces the samples to few keys."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import bpy
import numpy as np

import keyframer
from keyframer.curves import RotationForm, Track
from keyframer.curves.key_reduction import fewest_keys, sample_together, turn_degrees, vector_distance
from keyframer.exchange import Exporter
from keyframer.exchange.kit.colors import shown_color
from keyframer.formats.kit.coordinates import in_space
from keyframer.maths import affine
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.posing.local_matrices import aim_matrices
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Environment,
    Handedness,
    Light,
    LightType,
    Material,
    Mesh,
    Morph,
    Node,
    NodeKind,
    Scene,
    Skin,
    Space,
    TextureMap,
)  # fmt: skip
from keyframer.scene.loss_report import LossReport, Outcome

from .animation import clip_actions
from .importing import TARGET, WATTS

_LIGHTS = {"POINT": LightType.OMNI, "SPOT": LightType.SPOT, "SUN": LightType.DIRECTIONAL, "AREA": LightType.SPOT}
_SURFACES = ("MESH", "CURVE", "SURFACE", "META", "FONT")
_AIMED = 1e-4
"""largest difference between the direction of a camera or light and the direction to its target"""
_TOLERANCE = 1e-5
"""largest error of reduced keys at a frame: relative to the size of the scene, or in radians"""


def scene_of(context: Any, report: LossReport, *, selected: bool, animated: bool, scale: float) -> Scene:
    """Return the current Blender scene as a `Scene`; ``report`` gets everything that could not be exported."""
    return _Reader(context, report, selected, animated).read(scale)


def save(scene: Scene, path: Path, exporter: Exporter, options: dict[str, Any]) -> LossReport:
    """Write a scene in the axes of a format; an existing file is replaced (Blender's file browser warns of it)."""
    return keyframer.save(scene, path, format=exporter.name, overwrite=True, **options)


class _Reader:
    """Reads the current Blender scene as a `Scene`."""

    def __init__(self, context: Any, report: LossReport, selected: bool, animated: bool) -> None:
        self.context = context
        self.report = report
        chosen = [obj for obj in context.view_layer.objects if not selected or obj.select_get()]
        self.objects: list[Any] = sorted(chosen, key=_depth)
        blender_scene = context.scene
        first, last = blender_scene.frame_start, blender_scene.frame_end
        if not animated:
            first = last = blender_scene.frame_current
        self.frames = np.arange(first, last + 1.0)
        self.scene = Scene(space=Space("z", Handedness.RIGHT, _metres_per_unit(blender_scene), v_up=True))
        self.numbers: dict[tuple[str, str], int] = {}
        """index of a node, by the names of its object and bone (no bone: an empty name)"""
        self.materials: dict[str, int] = {}

    def read(self, scale: float) -> Scene:
        scene, blender_scene = self.scene, self.context.scene
        for obj in self.objects:
            self._add_node(obj)
        world, states = self._sample_frames()
        self._set_transforms(world)
        self.clip = Clip(
            name=blender_scene.name,
            start=float(self.frames[0]),
            end=float(self.frames[-1]),
            rate=blender_scene.render.fps / blender_scene.render.fps_base,
        )
        for obj in self.objects:
            self._add_object_data(obj)
            self._aim(obj, world, states)
        if len(self.frames) > 1:
            scene.clips.append(self.clip)
            self.length = _TOLERANCE * scene_size(scene)
            self._add_tracks(world, states)
        self._report_other_clips()
        background = self._background()
        if background is not None:
            scene.environment = Environment(background_color=background, uses={"background_color"})
        return scene if scale == 1.0 else in_space(scene, scene.space, scale)

    def _add_node(self, obj: Any) -> None:
        kind = {"CAMERA": NodeKind.CAMERA, "LIGHT": NodeKind.LIGHT, "EMPTY": NodeKind.DUMMY}
        parent = None
        if obj.parent is not None:
            bone = obj.parent_bone if obj.parent_type == "BONE" else ""
            parent = self.numbers.get((obj.parent.name, bone), self.numbers.get((obj.parent.name, "")))
        if obj.instance_type != "NONE":
            detail = "instances are not written; make them real objects first"
            self.report.add(Outcome.DROPPED, f"/nodes/{obj.name}/instances", detail)
        self._append((obj.name, ""), Node(obj.name, kind.get(obj.type, NodeKind.OBJECT), parent))
        if obj.type == "ARMATURE":
            self.scene.nodes[-1].kind = NodeKind.DUMMY
            for bone in obj.pose.bones:  # parents come before their children
                parent_key = (obj.name, bone.parent.name if bone.parent else "")
                self._append((obj.name, bone.name), Node(bone.name, NodeKind.BONE, self.numbers[parent_key]))
        elif obj.type not in (*_SURFACES, "CAMERA", "LIGHT", "EMPTY"):
            self.report.add(
                Outcome.DROPPED, f"/nodes/{obj.name}", f"the content of a {obj.type.lower()} is not exported"
            )

    def _append(self, key: tuple[str, str], node: Node) -> None:
        self.numbers[key] = len(self.scene.nodes)
        self.scene.nodes.append(node)

    def _sample_frames(self) -> tuple[np.ndarray, dict[tuple[int, str], np.ndarray]]:
        """Return (T, N, 4, 4) world matrices at all frames, and other animated values (T, k) by node and kind."""
        blender_scene = self.context.scene
        current = blender_scene.frame_current, blender_scene.frame_subframe
        world = np.empty((len(self.frames), len(self.scene.nodes), 4, 4))
        states: dict[tuple[int, str], list[Any]] = {}
        for row, frame in enumerate(self.frames.tolist()):
            if len(self.frames) > 1:
                blender_scene.frame_set(int(frame))
            graph = self.context.evaluated_depsgraph_get()
            for (name, bone), number in self.numbers.items():
                obj = bpy.data.objects[name].evaluated_get(graph)
                matrix = obj.matrix_world @ obj.pose.bones[bone].matrix if bone else obj.matrix_world
                world[row, number] = np.array(matrix)
                if not bone:
                    for kind, value in self._states(bpy.data.objects[name]).items():
                        states.setdefault((number, kind), []).append(value)
        if len(self.frames) > 1:
            blender_scene.frame_set(current[0], subframe=current[1])
        return world, {key: np.array(rows, np.float64).reshape(len(rows), -1) for key, rows in states.items()}

    def _states(self, obj: Any) -> dict[str, Any]:
        """Return the values of an object that can be animated, other than its transform."""
        animated_values: dict[str, Any] = {"visible": not obj.hide_render}
        if obj.type == "CAMERA":
            animated_values["fov"] = math.degrees(obj.data.angle_x)
        elif obj.type == "LIGHT":
            animated_values["color"] = shown_color(obj.data.color).tolist()
            animated_values["multiplier"] = obj.data.energy / _watts(obj.data)
            if obj.data.type == "SPOT":
                animated_values["falloff"] = math.degrees(obj.data.spot_size)
                animated_values["hotspot"] = animated_values["falloff"] * (1.0 - obj.data.spot_blend)
        elif obj.type == "MESH" and obj.data.shape_keys is not None:
            weights = [key.value for key in obj.data.shape_keys.key_blocks[1:]]
            animated_values["morph"] = [1.0 - sum(weights), *weights]
        return animated_values

    def _set_transforms(self, world: np.ndarray) -> None:
        """Set local transforms at the first frame, and keep those of all frames for the keys."""
        self.positions, self.turns, self.scales = {}, {}, {}
        for number, node in enumerate(self.scene.nodes):
            local = world[:, number]
            if node.parent is not None:
                local = affine.inverse(world[:, node.parent]) @ local
            position, turn, size = affine.decompose(local)
            if np.abs(affine.compose(position, turn, size) - local).max() > 1e-4 * max(1.0, float(np.abs(size).max())):
                detail = "shear cannot be stored and is removed"
                self.report.add(Outcome.APPROXIMATED, f"/nodes/{node.name}", detail)
            flips = np.where(np.sum(turn[1:] * turn[:-1], axis=1) < 0, -1.0, 1.0)
            turn = turn * np.concatenate([[1.0], np.cumprod(flips)])[:, None]
            self.positions[number], self.turns[number], self.scales[number] = position, turn, size
            node.position, node.rotation_xyzw, node.scale = position[0], turn[0], size[0]

    # Object data

    def _add_object_data(self, obj: Any) -> None:
        scene = self.scene
        number = self.numbers[obj.name, ""]
        node = scene.nodes[number]
        node.hidden = bool(obj.hide_render)
        if obj.type == "CAMERA":
            node.camera = len(scene.cameras)
            planes = (obj.data.clip_start, obj.data.clip_end)
            if obj.data.type != "PERSP":
                detail = "written as a perspective camera"
                self.report.add(Outcome.DROPPED, f"/cameras/{obj.data.name}/{obj.data.type.lower()}", detail)
            if obj.data.shift_x or obj.data.shift_y:
                self.report.add(Outcome.DROPPED, f"/cameras/{obj.data.name}/shift", "lens shift cannot be stored")
            scene.cameras.append(Camera(obj.data.name, fov_degrees=math.degrees(obj.data.angle_x), clip=planes))
        elif obj.type == "LIGHT":
            node.light = len(scene.lights)
            scene.lights.append(self._light(obj.data))
        elif obj.type in _SURFACES:
            self._surface(obj, node)

    def _aim(self, obj: Any, world: np.ndarray, states: dict[tuple[int, str], np.ndarray]) -> None:
        """Restore the target that a camera or light was imported with, if it points there at every frame."""
        target_object = obj.get(TARGET)
        if obj.type not in ("CAMERA", "LIGHT") or not isinstance(target_object, bpy.types.Object):
            return
        number, target = self.numbers[obj.name, ""], self.numbers.get((target_object.name, ""))
        if target is None:
            return
        aimed = aim_matrices(self.scene, world[:, number, :3, 3], world[:, target, :3, 3], np.zeros(len(world)))
        axes = world[:, number, :3, :3] / np.linalg.norm(world[:, number, :3, :3], axis=1, keepdims=True)
        if not np.abs(axes[:, :, 2] - aimed[:, :3, 2]).max() < _AIMED:  # false for NaN, too
            return
        across, up = (np.sum(axes[:, :, 0] * aimed[:, :3, axis], axis=1) for axis in (0, 1))
        roll = np.degrees(np.unwrap(-np.arctan2(up, across)))
        node = self.scene.nodes[number]
        node.target, self.scene.nodes[target].kind = target, NodeKind.TARGET
        camera_or_light = self.scene.cameras[-1] if obj.type == "CAMERA" else self.scene.lights[-1]
        camera_or_light.roll_degrees = float(roll[0])
        states[number, "roll"] = roll[:, None]
        self.turns[number] = self.turns[number][:1]

    def _light(self, data: Any) -> Light:
        if data.type == "AREA":
            self.report.add(Outcome.APPROXIMATED, f"/lights/{data.name}", "an area light is written as a spot light")
        light = Light(data.name, _LIGHTS[data.type], tuple(shown_color(data.color).tolist()))
        light.multiplier = data.energy / _watts(data)
        light.casts_shadows = bool(data.use_shadow)
        if light.type is LightType.SPOT:
            light.falloff_degrees = math.degrees(data.spot_size) if data.type == "SPOT" else 120.0
            light.hotspot_degrees = light.falloff_degrees * (1.0 - getattr(data, "spot_blend", 0.5))
        return light

    def _surface(self, obj: Any, node: Node) -> None:
        """Add the mesh of an object. An exported armature becomes a skin, and shape keys become a morph; modifiers are
        applied only if the object has neither."""
        modifier = next(
            (candidate for candidate in obj.modifiers if candidate.type == "ARMATURE" and candidate.object), None
        )
        keys = obj.data.shape_keys if obj.type == "MESH" else None
        rig = modifier.object if modifier is not None and (modifier.object.name, "") in self.numbers else None
        if rig is None and keys is None:
            source = obj.evaluated_get(self.context.evaluated_depsgraph_get())
        else:
            source = obj
            others = [other.name for other in obj.modifiers if other != modifier]
            if others:
                detail = f"not applied to a mesh with a skin or shape keys: {', '.join(others)}"
                self.report.add(Outcome.DROPPED, f"/nodes/{obj.name}/modifiers", detail)
        data = source.to_mesh()
        if data is None:
            return
        try:
            mesh = self._mesh(obj, data)
        finally:
            source.to_mesh_clear()
        node.mesh = len(self.scene.meshes)
        self.scene.meshes.append(mesh)
        if keys is not None:
            shapes = [_column(block.data, "co", 3) for block in keys.key_blocks]
            mesh.positions = shapes[0]
            node.morph = Morph([block.name for block in keys.key_blocks], shapes)
        if rig is not None:
            node.skin = len(self.scene.skins)
            self.scene.skins.append(self._skin(obj, rig))

    def _mesh(self, obj: Any, data: Any) -> Mesh:
        self._report_layers(data)
        data.calc_loop_triangles()
        triangles = data.loop_triangles
        loops = _column(triangles, "loops", 3, np.int32)
        polygon_of = _column(triangles, "polygon_index", 1, np.int32)[:, 0]
        mesh = Mesh(data.name, _column(data.vertices, "co", 3), _column(triangles, "vertices", 3, np.int32))
        groups, _ = data.calc_smooth_groups(use_bitflags=True)
        smooth = _column(data.polygons, "use_smooth", 1, np.bool_)[:, 0]
        if len(polygon_of):
            mesh.smoothing = np.where(smooth, np.array(groups, np.int64) & 0xFFFFFFFF, 0)[polygon_of]
            starts, totals = (_column(data.polygons, name, 1, np.int32)[:, 0] for name in ("loop_start", "loop_total"))
            corner = loops - starts[polygon_of][:, None]
            is_edge = np.roll(corner, -1, axis=1) == (corner + 1) % totals[polygon_of][:, None]
            mesh.edges = is_edge @ np.array([1, 2, 4])
        if data.uv_layers.active is not None and len(polygon_of):
            mesh.uv = _column(data.uv_layers.active.uv, "vector", 2)
            mesh.uv_corners = loops
        colors = data.color_attributes.active_color
        if colors is not None and len(polygon_of):
            mesh.colors = shown_color(_column(colors.data, "color", 4)[:, :3])
            mesh.color_corners = loops if colors.domain == "CORNER" else mesh.corners
        numbers = [self._material(slot.material) for slot in obj.material_slots]
        if numbers and len(polygon_of):
            chosen = _column(triangles, "material_index", 1, np.int32)[:, 0]
            mesh.face_materials = np.array(numbers)[np.minimum(chosen, len(numbers) - 1)]
        return mesh

    def _report_layers(self, data: Any) -> None:
        """Report data of a mesh that the old formats cannot store."""
        for name, count in (("uv", len(data.uv_layers)), ("colors", len(data.color_attributes))):
            if count > 1:
                self.report.add(
                    Outcome.DROPPED, f"/meshes/{data.name}/{name}", f"only the active one of {count} layers is exported"
                )
        if data.has_custom_normals:
            detail = "custom normals become smoothing groups"
            self.report.add(Outcome.APPROXIMATED, f"/meshes/{data.name}/normals", detail)

    def _report_other_clips(self) -> None:
        """Report imported clips that the scene does not play."""
        blocks = [*bpy.data.objects, *bpy.data.cameras, *bpy.data.lights, *bpy.data.shape_keys]
        played = [block.animation_data.action for block in blocks if block.animation_data is not None]
        for action in clip_actions():
            if action not in played:
                self.report.add(Outcome.DROPPED, f"/clips/{action.name}", "only the clip that is playing is exported")

    def _skin(self, obj: Any, rig: Any) -> Skin:
        bones = [bone.name for bone in rig.data.bones]
        group_of = {group.index: bones.index(group.name) for group in obj.vertex_groups if group.name in bones}
        rows = [
            (vertex.index, group_of[entry.group], entry.weight)
            for vertex in obj.data.vertices
            for entry in vertex.groups
            if entry.group in group_of and entry.weight > 0
        ]
        vertices, joints, weights = np.array(rows, np.float64).reshape(-1, 3).T
        # The rest pose of bones is relative to the armature object, that of the mesh to its own object.
        binds = [
            np.array((rig.matrix_world @ rig.data.bones[name].matrix_local).inverted() @ obj.matrix_world)
            for name in bones
        ]
        numbers = [self.numbers[rig.name, name] for name in bones]
        parts = vertices.astype(np.int64), joints.astype(np.int64), weights
        return Skin(obj.name, numbers, np.array(binds).reshape(-1, 4, 4), *parts)

    def _material(self, material: Any) -> int:
        if material is None:
            return -1
        if material.name not in self.materials:
            self.materials[material.name] = len(self.scene.materials)
            self.scene.materials.append(_read_material(material, self.report))
            self.report.add(
                Outcome.APPROXIMATED,
                f"/materials/{material.name}",
                "only colour, gloss, opacity, emission and images are exported",
            )
        return self.materials[material.name]

    def _background(self) -> tuple[float, float, float] | None:
        world = self.context.scene.world
        if world is None or world.node_tree is None:
            return None
        nodes = [node for node in world.node_tree.nodes if node.type == "BACKGROUND"]
        if not nodes or nodes[0].inputs["Color"].is_linked:
            return None
        return tuple(shown_color(nodes[0].inputs["Color"].default_value[:3]).tolist())

    # Keys

    def _add_tracks(self, world: np.ndarray, states: dict[tuple[int, str], np.ndarray]) -> None:
        degrees = math.degrees(_TOLERANCE)
        for number, node in enumerate(self.scene.nodes):
            parent = 1.0 if node.parent is None else max(1.0, float(np.abs(world[0, node.parent, :3, :3]).max()))
            self._add_track(number, "position", self.positions[number], self.length / parent)
            self._add_track(number, "rotation", self.turns[number], degrees)
            self._add_track(number, "scale", self.scales[number], _TOLERANCE)
        for (number, kind), values in states.items():
            node = self.scene.nodes[number]
            if (kind == "morph" and node.morph is None) or (kind == "fov" and node.camera is None):
                continue
            self._add_track(number, kind, values, degrees if kind in ("fov", "roll", "hotspot", "falloff") else 1e-4)

    def _add_track(self, number: int, kind: str, values: np.ndarray, tolerance: float) -> None:
        if kind == "visible":
            changes = np.flatnonzero(np.diff(values[:, 0], prepend=np.nan) != 0)
            if len(changes) > 1:
                steps = keyframer.Interpolation.STEP
                track = Track(kind, self.frames[changes], values[changes, 0], steps)
                self.clip.channels.append(Channel(number, track))
            return
        turning = kind == "rotation"
        distance = turn_degrees if turning else vector_distance
        if float(distance(values, values[:1]).max()) <= tolerance and kind != "morph":
            return
        form = RotationForm.QUATERNION_ABSOLUTE if turning else RotationForm.NONE
        samples = values[:, 0] if keyframer.curves.track.KINDS[kind] == 1 else values
        largest_change = 120.0 if turning else np.inf
        search = fewest_keys(kind, self.frames, samples, form, tolerance, distance, largest_change)
        ((track, _),) = sample_together([search])
        self.clip.channels.append(Channel(number, track))


def _metres_per_unit(blender_scene: Any) -> float | None:
    """Return the unit of a Blender scene: 0.0254, not the 0.025399999693 that single precision makes of it."""
    settings = blender_scene.unit_settings
    return None if settings.system == "NONE" else float(str(np.float32(settings.scale_length)))


def _depth(obj: Any) -> int:
    depth, parent = 0, obj.parent
    while parent is not None:
        depth, parent = depth + 1, parent.parent
    return depth


def _watts(data: Any) -> float:
    """Return the power for a multiplier of 1: the value from the import, or else 1000 W (pi W/m2 for suns)."""
    default_watts = math.pi if data.type == "SUN" else 1000.0
    known = data.get(WATTS)
    return float(known) if isinstance(known, float) and known > 0 else default_watts


def _column(rows: Any, name: str, width: int, kind: Any = np.float32) -> np.ndarray:
    """Return a property of all elements of a Blender collection as an array (n, width)."""
    values = np.empty(len(rows) * width, kind)
    rows.foreach_get(name, values)
    return values.reshape(-1, width).astype(np.float64 if kind is np.float32 else kind)


def _read_material(material: Any, report: LossReport) -> Material:
    """Read colour, gloss, opacity, emission and images of the Principled BSDF; in a material without it, only the
    colour in the viewport."""
    nodes = list(material.node_tree.nodes) if material.node_tree is not None else []
    shader = next((node for node in nodes if node.type == "BSDF_PRINCIPLED"), None)
    if shader is None:
        return Material(material.name, diffuse=tuple(shown_color(material.diffuse_color[:3]).tolist()))
    inputs = shader.inputs
    created = Material(material.name, diffuse=tuple(shown_color(inputs["Base Color"].default_value[:3]).tolist()))
    created.transparency = 1.0 - min(max(inputs["Alpha"].default_value, 0.0), 1.0)
    created.two_sided = not material.use_backface_culling
    rough = min(max(inputs["Roughness"].default_value, 0.05), 1.0)
    # The roughness for an exponent of 2^(10 s) is sqrt(2 / (exponent + 2)); see `roughness` in the library.
    created.shininess = min(max(math.log2(max(2.0 / rough**2 - 2.0, 1.0)) / 10.0, 0.0), 1.0)
    created.shininess_strength = min(2.0 * max(inputs["Specular IOR Level"].default_value, 0.0), 1.0)
    created.self_illumination = min(max(inputs["Emission Strength"].default_value, 0.0), 1.0)
    written: list[Any] = []
    for socket, slot in _SLOTS.items():
        image = next((image for image in _images_behind(inputs[socket]) if image not in written), None)
        is_supported = slot != "bump" or any(link.from_node.type == "BUMP" for link in inputs[socket].links)
        if image is not None and is_supported:
            created.maps[slot] = TextureMap(Path(bpy.path.abspath(image.filepath) or image.name).name)
            written.append(image)
    unsupported = {image.name for socket in inputs for image in _images_behind(socket) if image not in written}
    for name in sorted(unsupported):
        report.add(Outcome.DROPPED, f"/materials/{material.name}/images", f"{name} cannot be stored in this material")
    return created


_SLOTS = {"Base Color": "texture1", "Alpha": "opacity", "Emission Color": "self_illumination", "Normal": "bump"}
"""inputs of the shader whose images are written; an image is written once"""


def _images_behind(socket: Any) -> list[Any]:
    """Return the images that a socket is linked to, directly or through other nodes."""
    waiting, seen, images = [link.from_node for link in socket.links], set(), []
    while waiting:
        node = waiting.pop(0)
        if node.name in seen:
            continue
        seen.add(node.name)
        if node.type == "TEX_IMAGE" and node.image is not None:
            images.append(node.image)
        waiting += [link.from_node for entry in node.inputs for link in entry.links]
    return images
