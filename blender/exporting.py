# SPDX-License-Identifier: GPL-3.0-or-later
"""Exports the current Blender scene: evaluates it frame by frame and reduces the samples to few keys."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
import numpy as np

import keyframer
from keyframer.curves.key_reduction import turn_degrees, vector_distance
from keyframer.editing.host_edits import TOLERANCE, HostScene, bring_in, reduced_track
from keyframer.exchange import Exporter
from keyframer.exchange.kit.colors import shown_color
from keyframer.formats.kit.coordinates import in_space
from keyframer.maths import affine, quat
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
    Mesh,
    Morph,
    Node,
    NodeKind,
    Scene,
    Skin,
    Space,
)  # fmt: skip
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.losses import (
    CLIPS_UNSUPPORTED,
    FIELD_UNSUPPORTED,
    KIND_CHANGED,
    MATERIAL_CONVERTED,
    NODES_UNSUPPORTED,
    NORMALS_CHANGED,
    SCALE_AXES_UNSUPPORTED,
    VERTEX_DATA_UNSUPPORTED,
)

from .animation import clip_actions, key_frames
from .identity import AIM, is_own, material_values, name_of, note, restored
from .importing import TARGET, WATTS, Options, rebuild, roll_degrees
from .reading import read_material

_LIGHTS = {"POINT": LightType.OMNI, "SPOT": LightType.SPOT, "SUN": LightType.DIRECTIONAL, "AREA": LightType.SPOT}
_SURFACES = ("MESH", "CURVE", "SURFACE", "META", "FONT")
_AIMED = 1e-4
"""largest difference between the direction of a camera or light and the direction to its target"""
_SMALLEST_ROLL = 1e-3
"""degrees: a smaller roll is none"""


def scene_of(context: Any, report: LossReport, *, selected: bool, animated: bool, scale: float) -> Scene:
    """Return the current Blender scene as a `Scene`; ``report`` gets everything that could not be exported."""
    reader = _Reader(context, report, _frames(context, animated), selected=selected)
    scene = reader.read()
    return scene if scale == 1.0 else in_space(scene, scene.space, scale)


def source_of(context: Any, format: str) -> tuple[Any, str]:
    """Return the collection of the imported file that an export into the original edits, or None and why there is
    none; without a reason if nothing was imported in this format."""
    found = [each for each in bpy.data.collections if "source" in note(each) and each.name in _children(context)]
    if len(found) > 1:
        return None, "several imported files are in the scene"
    if not found or note(found[0])["options"]["format"] != format:
        return None, ""
    noted = note(found[0])
    path = Path(noted["source"])
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None, f"{path.name}, which was imported, is not there any more"
    if digest != noted["sha256"]:
        return None, f"{path.name} changed after it was imported"
    return found[0], ""


def edited_original(context: Any, collection: Any, report: LossReport) -> Scene:
    """Return the imported file with what a user changed in Blender."""
    noted = note(collection)
    options = Options(**noted["options"])
    path, factor = Path(noted["source"]), float(noted["factor"])
    original = keyframer.load(path, format=options.format, **options.reader_options)
    with _other_scene(context) as temporary:
        builder = rebuild(temporary, original, path, options, factor)
        try:
            first, last = (temporary.scene.frame_start, temporary.scene.frame_end)
            frames = _frames(context, animated=True)
            frames = np.arange(min(first, frames[0]), max(last, frames[-1]) + 1.0)
            known = LossReport("blender")
            before = _Reader(temporary, known, frames).host()
        finally:
            builder.remove_new_blocks()
    found = LossReport("blender")
    after = _Reader(context, found, frames).host()
    usual = {(loss.path, loss.detail) for loss in known}
    report.losses += [loss for loss in found if (loss.path, loss.detail) not in usual]
    space = Space("z", Handedness.RIGHT, None, v_up=True)
    return bring_in(original, before, after, space, factor, options.fps, report)


@contextmanager
def _other_scene(context: Any) -> Iterator[Any]:
    """Work in a new scene, which is removed in the end."""
    window, shown = context.window, context.scene
    other = bpy.data.scenes.new("Keyframer")
    other.unit_settings.scale_length = shown.unit_settings.scale_length
    try:
        if window is None:
            with context.temp_override(scene=other, view_layer=other.view_layers[0]):
                yield bpy.context
        else:
            window.scene = other
            yield bpy.context
    finally:
        if window is not None:
            window.scene = shown
        bpy.data.scenes.remove(other)


def _children(context: Any) -> set[str]:
    return {each.name for each in context.scene.collection.children_recursive}


def _frames(context: Any, animated: bool) -> np.ndarray:
    first, last = context.scene.frame_start, context.scene.frame_end
    if not animated:
        first = last = context.scene.frame_current
    return np.arange(first, last + 1.0)


def save(scene: Scene, path: Path, exporter: Exporter, options: dict[str, Any]) -> LossReport:
    """Write a scene in the axes of a format; an existing file is replaced (Blender's file browser warns of it)."""
    return keyframer.save(scene, path, format=exporter.name, overwrite=True, **options)


class _Reader:
    """Reads the current Blender scene as a `Scene`, at some frames."""

    def __init__(self, context: Any, report: LossReport, frames: np.ndarray, *, selected: bool = False) -> None:
        self.context = context
        self.report = report
        chosen = [obj for obj in context.view_layer.objects if not selected or obj.select_get()]
        self.objects: list[Any] = sorted(chosen, key=_depth)
        self.frames = frames
        self.scene = Scene(space=Space("z", Handedness.RIGHT, _metres_per_unit(context.scene), v_up=True))
        self.numbers: dict[tuple[str, str], int] = {}
        """index of a node, by the names of its object and bone (no bone: an empty name)"""
        self.materials: dict[str, int] = {}
        self.meshes: dict[str, int] = {}
        """index of a mesh that objects may share, by the name of its data"""
        self.files_materials: dict[int, int] = {}
        """number in the imported file, by index"""

    def read(self) -> Scene:
        """Return the scene with its motion as tracks."""
        world, states = self._read_parts()
        if len(self.frames) > 1:
            self.scene.clips.append(self.clip)
            self._add_tracks(world, states)
        self._report_other_clips()
        return self.scene

    def host(self) -> HostScene:
        """Return the scene with its values at the frames."""
        world, states = self._read_parts()
        self.scene.clips.append(self.clip)
        helpers: set[int] = set()
        shown: dict[tuple[int, bool], list[tuple[bool, int]]] = {}
        for (name, bone), number in self.numbers.items():
            block = bpy.data.objects[name]
            holder = block.data.bones[bone] if bone else block
            noted = note(holder)
            if "helper" in noted or (bone and not noted):
                helpers.add(number)
            elif "node" in noted:
                shown.setdefault((int(noted["node"]), bool(bone)), []).append((not is_own(holder), number))
        # Of copies of an object the one with its name is the imported one, or the first one if all were renamed.
        chosen = {key: min(found)[1] for key, found in shown.items()}
        parts = {node: number for (node, is_bone), number in chosen.items() if not is_bone}
        moving = {number: node for (node, is_bone), number in chosen.items() if is_bone or (node, True) not in chosen}
        helpers |= set(chosen.values()) - set(moving)
        self._report_other_clips()
        return HostScene(
            self.scene, self.frames, world, states, self._keys(), moving, parts, helpers, self.files_materials
        )

    def _keys(self) -> dict[tuple[int, str], frozenset[float]]:
        """Return the frames of keys of nodes, by kind of track."""
        found: dict[tuple[int, str], frozenset[float]] = {}
        for (name, bone), number in self.numbers.items():
            obj = bpy.data.objects[name]
            if bone:
                path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].'
                paths = {path + name: kind for name, kind in _TRANSFORM_PATHS.items()}
                found |= {(number, paths[path]): frames for path, frames in key_frames(obj).items() if path in paths}
                continue
            moving = key_frames(_placed(obj))
            found |= {(number, kind): moving[path] for path, kind in _TRANSFORM_PATHS.items() if path in moving}
            of_data = {} if obj.data is None else key_frames(obj.data)
            found |= {
                (number, kind): of_data[path]
                for path, kinds in _DATA_PATHS.items()
                if path in of_data
                for kind in kinds
            }
            turned = key_frames(obj).get("rotation_euler")
            if turned is not None:
                found[number, "roll"] = turned
        return found

    def _read_parts(self) -> tuple[np.ndarray, dict[tuple[int, str], np.ndarray]]:
        """Read everything but motion; return world matrices and other values at the frames."""
        scene, blender_scene = self.scene, self.context.scene
        for obj in self.objects:
            self._add_node(obj)
        world, states = self._sample_frames()
        self._set_transforms(world)
        self.clip = Clip(
            name=blender_scene.name,
            start=float(blender_scene.frame_start),
            end=float(blender_scene.frame_end),
            rate=blender_scene.render.fps / blender_scene.render.fps_base,
        )
        for obj in self.objects:
            if (obj.name, "") in self.numbers:
                self._add_object_data(obj)
                self._aim(obj, world, states)
        self.length = TOLERANCE * scene_size(scene)
        background = self._background()
        if background is not None:
            scene.environment = Environment(background_color=background, uses={"background_color"})
        return world, states

    def _add_node(self, obj: Any) -> None:
        if note(obj).get("helper") == AIM:
            return
        kind = {"CAMERA": NodeKind.CAMERA, "LIGHT": NodeKind.LIGHT, "EMPTY": NodeKind.DUMMY}
        parent, placed = None, _placed(obj)
        if placed.parent is not None:
            bone = placed.parent_bone if placed.parent_type == "BONE" else ""
            above = placed.parent.name
            parent = self.numbers.get((above, bone), self.numbers.get((above, "")))
        if obj.instance_type != "NONE":
            self.report.add(NODES_UNSUPPORTED["instances"], f"/nodes/{name_of(obj)}/instances")
        self._append((obj.name, ""), Node(name_of(obj), kind.get(obj.type, NodeKind.OBJECT), parent))
        if obj.type == "ARMATURE":
            self.scene.nodes[-1].kind = NodeKind.DUMMY
            for bone in obj.pose.bones:  # parents come before their children
                parent_key = (obj.name, bone.parent.name if bone.parent else "")
                name = name_of(obj.data.bones[bone.name])
                self._append((obj.name, bone.name), Node(name, NodeKind.BONE, self.numbers[parent_key]))
        elif obj.type not in (*_SURFACES, "CAMERA", "LIGHT", "EMPTY"):
            self.report.add(NODES_UNSUPPORTED["content"], f"/nodes/{name_of(obj)}", kind=obj.type.lower())

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
                self.report.add(SCALE_AXES_UNSUPPORTED["shear"], f"/nodes/{node.name}", outcome=Outcome.APPROXIMATED)
            turn = quat.continuous(turn)
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
            planes = _clip_planes(obj.data)
            if obj.data.type != "PERSP":
                self.report.add(
                    KIND_CHANGED["projection"],
                    f"/cameras/{name_of(obj.data)}/{obj.data.type.lower()}",
                    outcome=Outcome.DROPPED,
                )
            if obj.data.shift_x or obj.data.shift_y:
                self.report.add(FIELD_UNSUPPORTED["value"], f"/cameras/{name_of(obj.data)}/shift", what="lens shift")
            scene.cameras.append(Camera(name_of(obj.data), fov_degrees=math.degrees(obj.data.angle_x), clip=planes))
        elif obj.type == "LIGHT":
            node.light = len(scene.lights)
            scene.lights.append(self._light(obj.data))
        elif obj.type in _SURFACES:
            self._surface(obj, node)

    def _aim(self, obj: Any, world: np.ndarray, states: dict[tuple[int, str], np.ndarray]) -> None:
        """Restore the target that a camera or light was imported with, if it points there at every frame."""
        target_object = _target(obj)
        if obj.type not in ("CAMERA", "LIGHT") or target_object is None:
            return
        number, target = self.numbers[obj.name, ""], self.numbers.get((target_object.name, ""))
        if target is None:
            return
        aimed = aim_matrices(self.scene, world[:, number, :3, 3], world[:, target, :3, 3], np.zeros(len(world)))
        ahead = world[:, number, :3, 2] / np.linalg.norm(world[:, number, :3, 2], axis=1, keepdims=True)
        if not np.abs(ahead - aimed[:, :3, 2]).max() < _AIMED:  # false for NaN, too
            return
        roll = roll_degrees(world[:, number], aimed)
        node = self.scene.nodes[number]
        roll = np.where(np.abs(roll) < _SMALLEST_ROLL, 0.0, roll)
        node.target, self.scene.nodes[target].kind = target, NodeKind.TARGET
        camera_or_light = self.scene.cameras[-1] if obj.type == "CAMERA" else self.scene.lights[-1]
        camera_or_light.roll_degrees = float(roll[0])
        states[number, "roll"] = roll[:, None]
        self.turns[number] = self.turns[number][:1]

    def _light(self, data: Any) -> Light:
        if data.type == "AREA":
            self.report.add(
                KIND_CHANGED["light"], f"/lights/{name_of(data)}", outcome=Outcome.APPROXIMATED, lights="area"
            )
        light = Light(name_of(data), _LIGHTS[data.type], tuple(shown_color(data.color).tolist()))
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
        is_shared = obj.type == "MESH" and obj.data.users > 1 and keys is None and not len(obj.modifiers)
        if is_shared and obj.data.name in self.meshes:
            node.mesh = self.meshes[obj.data.name]
            return
        if rig is None and keys is None:
            source = obj.evaluated_get(self.context.evaluated_depsgraph_get())
        else:
            source = obj
            others = [other.name for other in obj.modifiers if other != modifier]
            if others:
                self.report.add(
                    FIELD_UNSUPPORTED["modifiers"], f"/nodes/{name_of(obj)}/modifiers", modifiers=", ".join(others)
                )
        data = source.to_mesh()
        if data is None:
            return
        try:
            mesh = self._mesh(obj, data)
        finally:
            source.to_mesh_clear()
        node.mesh = len(self.scene.meshes)
        self.scene.meshes.append(mesh)
        if is_shared:
            self.meshes[obj.data.name] = node.mesh
        if keys is not None:
            shapes = [_column(block.data, "co", 3) for block in keys.key_blocks]
            mesh.positions = shapes[0]
            node.morph = Morph([block.name for block in keys.key_blocks], shapes)
        if rig is not None:
            node.skin = len(self.scene.skins)
            self.scene.skins.append(self._skin(obj, rig))

    def _mesh(self, obj: Any, data: Any) -> Mesh:
        self._report_layers(obj, data)
        data.calc_loop_triangles()
        triangles = data.loop_triangles
        loops = _column(triangles, "loops", 3, np.int32)
        polygon_of = _column(triangles, "polygon_index", 1, np.int32)[:, 0]
        mesh = Mesh(name_of(obj.data), _column(data.vertices, "co", 3), _column(triangles, "vertices", 3, np.int32))
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

    def _report_layers(self, obj: Any, data: Any) -> None:
        """Report data of a mesh that the old formats cannot store."""
        path = f"/meshes/{name_of(obj.data)}"
        for name, count in (("uv", len(data.uv_layers)), ("colors", len(data.color_attributes))):
            if count > 1:
                self.report.add(VERTEX_DATA_UNSUPPORTED["layers"], f"{path}/{name}", count=count)
        if data.has_custom_normals:
            self.report.add(NORMALS_CHANGED["groups"], f"{path}/normals")

    def _report_other_clips(self) -> None:
        """Report imported clips that the scene does not play."""
        blocks = [*bpy.data.objects, *bpy.data.cameras, *bpy.data.lights, *bpy.data.shape_keys]
        played = [block.animation_data.action for block in blocks if block.animation_data is not None]
        for action in clip_actions():
            if action not in played:
                self.report.add(CLIPS_UNSUPPORTED["not playing"], f"/clips/{action.name}")

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
            self.materials[material.name] = self._add_material(material)
        return self.materials[material.name]

    def _add_material(self, material: Any) -> int:
        """Add a material; what Blender cannot show of an imported one comes back. The parts of an imported material
        that look different in Blender, with and without images or vertex colours, are one again."""
        read, noted = read_material(material, self.report), note(material)
        number = noted.get("material") if is_own(material) or noted.get("shown") else None
        if "stored" in noted and "seen" in noted:
            read = restored(read, noted["stored"], noted["seen"])
        else:
            model = "a material of the time: colour, gloss, opacity, emission and images"
            self.report.add(MATERIAL_CONVERTED["model"], f"/materials/{material.name}", model=model)
        read.name = name_of(material)
        for index, known in self.files_materials.items():
            if known == number and material_values(self.scene.materials[index]) == material_values(read):
                return index
        index = len(self.scene.materials)
        self.scene.materials.append(read)
        if number is not None and number not in self.files_materials.values():
            self.files_materials[index] = int(number)
        return index

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
        degrees = math.degrees(TOLERANCE)
        for number, node in enumerate(self.scene.nodes):
            parent = 1.0 if node.parent is None else max(1.0, float(np.abs(world[0, node.parent, :3, :3]).max()))
            self._add_track(number, "position", self.positions[number], self.length / parent)
            self._add_track(number, "rotation", self.turns[number], degrees)
            self._add_track(number, "scale", self.scales[number], TOLERANCE)
        for (number, kind), values in states.items():
            node = self.scene.nodes[number]
            if (kind == "morph" and node.morph is None) or (kind == "fov" and node.camera is None):
                continue
            self._add_track(number, kind, values, degrees if kind in ("fov", "roll", "hotspot", "falloff") else 1e-4)

    def _add_track(self, number: int, kind: str, values: np.ndarray, tolerance: float) -> None:
        distance = turn_degrees if kind == "rotation" else vector_distance
        still = float(np.asarray(distance(values, values[:1])).max()) <= tolerance
        if not still or kind == "morph":
            self.clip.channels.append(Channel(number, reduced_track(kind, self.frames, values, tolerance)))


_TRANSFORM_PATHS = {"location": "position", "rotation_quaternion": "rotation", "scale": "scale"}
_DATA_PATHS = {
    "lens": ("fov",),
    "color": ("color",),
    "energy": ("multiplier",),
    "spot_size": ("falloff", "hotspot"),
}
"""kinds of tracks by the property of an object or of its data"""


def _clip_planes(data: Any) -> tuple[float, float] | None:
    """Return the clip planes of a camera: those of the file, which Blender may not show, unless they were changed."""
    noted, shown = note(data), [data.clip_start, data.clip_end]
    if noted.get("clip_shown") == shown:
        return None if noted["clip"] is None else (noted["clip"][0], noted["clip"][1])
    return shown[0], shown[1]


def _placed(obj: Any) -> Any:
    """Return the object that has the position of a camera or light: itself, or the helper that is aimed for it."""
    return obj.parent if obj.parent is not None and note(obj.parent).get("helper") == AIM else obj


def _target(obj: Any) -> Any:
    """Return the object that a camera or light is aimed at, by a constraint or as it was imported."""
    for constraint in _placed(obj).constraints:
        if constraint.type == "TRACK_TO" and constraint.enabled and constraint.target is not None:
            return constraint.target
    stated = obj.get(TARGET)
    return stated if isinstance(stated, bpy.types.Object) else None


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
