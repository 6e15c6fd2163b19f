"""Runs inside Blender (bpy): installs the extension from its zip as users do, and carries out requests.

Arguments: the zip, a JSON file with a list of requests, a folder for answers. The answer to request n is ``n.json``,
and ``n.npz`` for its arrays. Exchanges only files with the tests.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

import bpy  # type: ignore[import-not-found]
import numpy as np

MODULE = "bl_ext.user_default.keyframer_legacy_formats"
MOST_VERTICES = 40


def install(archive: str) -> None:
    bpy.ops.extensions.package_install_files(filepath=archive, repo="user_default", enable_on_install=True)


def extension_module(name: str) -> Any:
    return importlib.import_module(f"{MODULE}.{name}")


def new_file() -> None:
    bpy.ops.wm.read_homefile(use_empty=True)


def carry_out(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    return globals()[f"do_{request['do']}"](request, arrays)  # type: ignore[no-any-return]


class ImportRecorder:
    """Records what the import operator builds."""

    def __init__(self) -> None:
        self.built: list[Any] = []
        self._module = extension_module("importing")
        self._build = self._module.build

    def __enter__(self) -> ImportRecorder:
        def build(*arguments: Any) -> Any:
            self.built.append(self._build(*arguments))
            return self.built[-1]

        self._module.build = build
        return self

    def __exit__(self, *_: object) -> None:
        self._module.build = self._build


def run_import(request: dict[str, Any]) -> tuple[set[str], list[Any], str]:
    """Return the result of the operator, what it built, and what it reported or raised."""
    output = io.StringIO()
    with ImportRecorder() as watched, contextlib.redirect_stdout(output):
        try:
            result = bpy.ops.import_scene.keyframer(**request["operator"])
        except RuntimeError as error:  # how Blender hands reported errors to scripts
            return {"ERROR"}, watched.built, str(error)
    return result, watched.built, ""


def do_play(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Import, then record every node at some frames."""
    new_file()
    bpy.context.scene.unit_settings.scale_length = request.get("metres", 1.0)
    if request.get("others"):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new("Other", None))
    result, built, messages = run_import(request)
    if not built:
        return {"result": sorted(result), "said": messages}
    if request.get("action") is not None:
        actions = {action.name: action for action in built[-1].actions}
        bpy.ops.keyframer.play_clip(action=built[-1].actions[request["action"]].name)
        assert actions
    record_frames(built[-1], request["frames"], request.get("points"), arrays)
    stage = bpy.context.scene
    return {
        "result": sorted(result),
        "fps": stage.render.fps / stage.render.fps_base,
        "range": [stage.frame_start, stage.frame_end],
        "actions": [action.name for action in built[-1].actions],
        "texts": [text.name for text in bpy.data.texts],
        "tracks": built[-1].tracks,
        "summary": built[-1].report.summary(),
        "losses": [f"{loss} [{loss.type.key}]" for loss in built[-1].report],
        "curves": count_curves(),
        "unit": unit_of(stage),
        "clips": [clips(seeing) for seeing in (*bpy.data.cameras, *views())],
        "aspect": stage.render.resolution_x / stage.render.resolution_y,
        "materials": {material.name: shader_values(material) for material in bpy.data.materials},
        "meshes": {key: describe(thing) for key, thing in built[-1].objects.items() if thing.type == "MESH"},
    }


def unit_of(stage: Any) -> list[Any]:
    return [getattr(stage.unit_settings, name) for name in ("scale_length", "system", "length_unit")]


def clips(seeing: Any) -> list[float]:
    """Return the distances between which a camera or a 3D view shows objects."""
    return [seeing.clip_start, seeing.clip_end]


def views() -> list[Any]:
    areas = [area for screen in bpy.data.screens for area in screen.areas]
    return [space for area in areas for space in area.spaces if space.type == "VIEW_3D"]


def count_curves() -> dict[str, int]:
    """Count the F-curves of all actions, by the property they animate."""
    counts: dict[str, int] = {}
    for action in bpy.data.actions:
        for layer in action.layers:
            for strip in layer.strips:
                for bag in strip.channelbags:
                    for curve in bag.fcurves:
                        name = curve.data_path.rpartition(".")[2]
                        counts[name] = counts.get(name, 0) + 1
    return counts


def shader_values(material: Any) -> dict[str, Any]:
    """Return the inputs of the shader that are not images."""
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    names = ("Base Color", "Alpha", "Emission Strength")
    plain = {name: shader.inputs[name].default_value for name in names}
    return {name: value if isinstance(value, float) else list(value) for name, value in plain.items()}


def describe(thing: Any) -> dict[str, Any]:
    data = thing.data
    return {
        "faces": len(data.polygons),
        "uv": len(data.uv_layers),
        "colors": len(data.color_attributes),
        "edges_sharp": sum(edge.use_edge_sharp for edge in data.edges),
        "smooth": sum(face.use_smooth for face in data.polygons),
        "materials": [material.name if material else None for material in data.materials],
        "shape_keys": len(data.shape_keys.key_blocks) if data.shape_keys else 0,
        "groups": len(thing.vertex_groups),
        "images": sum(
            node.type == "TEX_IMAGE" for material in data.materials if material for node in material.node_tree.nodes
        ),
    }


def record_frames(built: Any, frames: list[float], points: Any, arrays: dict[str, np.ndarray]) -> None:
    """Record world matrices, vertices, visibility and lenses of all nodes at frames, in ``arrays``."""
    rows: dict[str, list[Any]] = {}
    for place, frame in enumerate(frames):
        whole = int(np.floor(frame))
        bpy.context.scene.frame_set(whole, subframe=frame - whole)
        graph = bpy.context.evaluated_depsgraph_get()
        for number in range(len(built.scene.nodes)):
            if built.armature is not None and number in built.armature.bone_of:
                rig = built.armature.object.evaluated_get(graph)
                matrix = rig.matrix_world @ rig.pose.bones[built.armature.bone_of[number]].matrix
                rows.setdefault(f"world {number}", []).append(np.array(matrix))
            thing = built.objects.get(number)
            if thing is None:
                continue
            seen = thing.evaluated_get(graph)
            matrix = np.array(seen.matrix_world)
            follows_bones = any(modifier.type == "ARMATURE" for modifier in thing.modifiers)
            if not follows_bones and (built.armature is None or number not in built.armature.bone_of):
                rows.setdefault(f"world {number}", []).append(matrix)
            rows.setdefault(f"hidden {number}", []).append(thing.hide_render and thing.hide_viewport)
            if thing.type == "MESH":
                rows.setdefault(f"vertices {number}", []).append(thinned(points_of(seen, matrix)))
                rows.setdefault(f"corners {number}", []).append(points_of(seen, matrix)[thinned(corners_of(seen))])
            if thing.type == "LIGHT":
                rows.setdefault(f"light {number}", []).append(light_values(thing, seen.data))
            if thing.type == "CAMERA" and points is not None:
                shown = project(thing, points[str(number)][place])
                rows.setdefault(f"projected {number}", []).append(shown)
    arrays.update({name: np.array(found) for name, found in rows.items()})
    for number, thing in built.objects.items():
        if thing.type == "MESH":
            values = np.empty(9 * len(thing.data.polygons), np.float32)
            thing.data.corner_normals.foreach_get("vector", values)
            arrays[f"normals {number}"] = values.reshape(-1, 3, 3)
            for layer in thing.data.uv_layers:
                arrays[f"uv {number}"] = np.array([item.vector for item in layer.uv]).reshape(-1, 3, 2)
            for attribute in thing.data.color_attributes:
                arrays[f"colors {number}"] = np.array([item.color for item in attribute.data]).reshape(-1, 3, 4)


def light_values(thing: Any, seen: Any) -> list[float]:
    """Return multiplier, linear colour, and the full angles of falloff and hotspot in degrees."""
    falloff = np.degrees(seen.spot_size) if seen.type == "SPOT" else 0.0
    hotspot = falloff * (1.0 - seen.spot_blend) if seen.type == "SPOT" else 0.0
    return [seen.energy / thing.data["keyframer_watts"], *seen.color, falloff, hotspot]


def points_of(seen: Any, matrix: np.ndarray) -> np.ndarray:
    values = np.empty(3 * len(seen.data.vertices), np.float32)
    seen.data.vertices.foreach_get("co", values)
    return values.reshape(-1, 3).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]


def corners_of(seen: Any) -> np.ndarray:
    """Return the vertices of all corners of faces, in the order of the faces."""
    numbers = np.empty(len(seen.data.loops), np.int32)
    seen.data.loops.foreach_get("vertex_index", numbers)
    return numbers


def thinned(rows: np.ndarray) -> np.ndarray:
    return rows[:: max(1, len(rows) // MOST_VERTICES)]


def project(camera: Any, points: list[list[float]]) -> list[list[float]]:
    from bpy_extras.object_utils import world_to_camera_view  # type: ignore[import-not-found]
    from mathutils import Vector  # type: ignore[import-not-found]

    return [list(world_to_camera_view(bpy.context.scene, camera, Vector(point))) for point in points]


def do_images(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the names of loaded images, by material."""
    found = {}
    for material in bpy.data.materials:
        images = [node.image for node in material.node_tree.nodes if node.type == "TEX_IMAGE"]
        found[material.name] = [[image.name, *image.size] for image in images if image is not None]
    return found


def do_mappings(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return scale, angle and offset of the mapping nodes of images, by material."""
    mappings: dict[str, Any] = {}
    for material in bpy.data.materials:
        for node in material.node_tree.nodes:
            if node.type == "MAPPING":
                values = {name: list(node.inputs[name].default_value) for name in ("Scale", "Rotation", "Location")}
                mappings[material.name] = values
    return mappings


def do_operate(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Import into a new file, and return what the operator reported."""
    new_file()
    result, built, messages = run_import(request)
    texts = {text.name: text.as_string() for text in bpy.data.texts}
    return {
        "result": sorted(result),
        "built": len(built),
        "said": messages,
        "texts": texts,
        "objects": len(bpy.data.objects),
    }


def do_round_trip(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Import, export, import again, and record both imports."""
    new_file()
    _, built, messages = run_import(request)
    if not built:
        return {"said": messages}
    names = [node.name for node in built[0].scene.nodes]
    first: dict[str, np.ndarray] = {}
    record_frames(built[0], request["frames"], None, first)
    exported = bpy.ops.export_scene.keyframer(filepath=request["target"], into="NEW")
    new_file()
    _, again, messages = run_import({"operator": {"filepath": request["target"]}})
    if not again:
        return {"exported": sorted(exported), "said": messages}
    second: dict[str, np.ndarray] = {}
    record_frames(again[0], request["frames"], None, second)
    arrays.update({f"first {name}": found for name, found in first.items()})
    arrays.update({f"second {name}": found for name, found in second.items()})
    return {
        "exported": sorted(exported),
        "said": messages,
        "names": [names, [node.name for node in again[0].scene.nodes]],
    }


def do_build(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Build a pickled scene; return the losses that are not exact, and a description of all data in Blender."""
    new_file()
    importing = extension_module("importing")
    scene = pickle.loads(Path(request["pickle"]).read_bytes())
    built = importing.build(bpy.context, scene, Path(request["path"]), importing.Options())
    losses = [f"{loss.path}: {loss.type.key} {loss.args}" for loss in built.report if loss.outcome.value != "exact"]
    return {"said": losses, "held": describe_all_data()}


HOLDERS = ("objects", "meshes", "materials", "cameras", "lights", "armatures", "shape_keys", "images", "worlds")
IGNORED_PROPERTIES = {"session_uid", "is_evaluated", "tag"}


def describe_all_data() -> list[str]:
    """Return every simple property of every data-block, the numbers of meshes, shape keys and bones, the nodes of
    materials and worlds, and the keys of actions, as text."""
    described = [
        f"{block.name} {line}"
        for holder in HOLDERS
        for block in getattr(bpy.data, holder)
        for line in property_lines(block)
    ]
    for mesh in bpy.data.meshes:
        for attribute in (each for each in mesh.attributes if each.name != ".select_edge"):  # never set
            name = {"FLOAT_VECTOR": "vector", "FLOAT2": "vector", "FLOAT_COLOR": "color"}.get(
                attribute.data_type, "value"
            )
            values = [getattr(item, name) for item in attribute.data]
            described.append(f"{mesh.name}.{attribute.name} {[text(value) for value in values]}")
    for keys in bpy.data.shape_keys:
        for block in keys.key_blocks:
            described.append(f"{keys.name}.{block.name} {[text(point.co) for point in block.data]} {text(block.value)}")
    for thing in bpy.data.objects:
        described += [
            f"{thing.name} modifier {line}" for modifier in thing.modifiers for line in property_lines(modifier)
        ]
        groups = {group.index: group.name for group in thing.vertex_groups}
        for vertex in thing.data.vertices if thing.type == "MESH" else ():
            described += [
                f"{thing.name} {vertex.index} {groups[each.group]} {text(each.weight)}" for each in vertex.groups
            ]
        for bone in thing.pose.bones if thing.type == "ARMATURE" else ():
            described += [f"{thing.name} pose {line}" for line in property_lines(bone)]
    for owner in [*bpy.data.materials, *bpy.data.worlds]:
        for node in owner.node_tree.nodes if owner.node_tree else ():
            described += [f"{owner.name}.{node.name} {line}" for line in property_lines(node)]
            described += [
                f"{owner.name}.{node.name}.{socket.name} {line}"
                for socket in node.inputs
                for line in property_lines(socket)
            ]
        for link in owner.node_tree.links if owner.node_tree else ():
            described.append(
                f"{owner.name} {link.from_node.name} {link.from_socket.name} {link.to_node.name} {link.to_socket.name}"
            )
    for action in bpy.data.actions:
        described += [f"{action.name} {line}" for line in property_lines(action)]
        for bag in (bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags):
            for curve in bag.fcurves:
                keys = [
                    (text(point.co), text(point.handle_left), point.interpolation) for point in curve.keyframe_points
                ]
                described.append(f"{action.name} {bag.slot.identifier} {curve.data_path} {curve.array_index} {keys}")
    stage = bpy.context.scene
    return [*described, *property_lines(stage), *property_lines(stage.render)]


def property_lines(block: Any) -> list[str]:
    """Return the simple properties of a block, including those that a user added."""
    rows = [f"{name} {text(value)}" for name, value in block.items()] if isinstance(block, bpy.types.ID) else []
    names = [prop.identifier for prop in block.bl_rna.properties if prop.type != "COLLECTION"]
    return rows + [f"{name} {text(getattr(block, name))}" for name in names if name not in IGNORED_PROPERTIES]


def text(value: Any) -> str:
    """Return a value with few digits; for another block its name."""
    if isinstance(value, bpy.types.bpy_struct):
        return str(getattr(value, "name", type(value).__name__))
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, str | int | None):
        return str(value)
    return f"[{', '.join(text(item) for item in value)}]" if hasattr(value, "__len__") else type(value).__name__


def do_export(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Import, select some objects by name, and export."""
    new_file()
    run_import(request)
    for thing in bpy.data.objects:
        thing.select_set(thing.name in request["select"])
    try:
        result = sorted(bpy.ops.export_scene.keyframer(**request["exporter"]))
        text = bpy.data.texts[f"Keyframer: {Path(request['exporter']['filepath']).name}"].as_string()
        return {"result": result, "said": "", "text": text, "unit": unit_of(bpy.context.scene)}
    except RuntimeError as error:
        return {"result": ["ERROR"], "said": str(error)}


def do_edit(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Import a file, make the edits of `EDITS` that are named, with their arguments, and export; return the report.

    ``again`` imports and exports the result so many times more; ``remove`` removes the source before the export.
    """
    source = request["source"]
    for _ in range(1 + request.get("again", 0)):
        new_file()
        _, built, messages = run_import({"operator": {"filepath": source}})
        if not built:
            return {"result": ["ERROR"], "said": messages}
        for name, *arguments in request.get("edits", ()):
            EDITS[name](*arguments)
        if request.get("remove"):
            Path(source).unlink()
        result = sorted(bpy.ops.export_scene.keyframer(filepath=request["target"], **request.get("options", {})))
        source = request["target"]
    text = bpy.data.texts[f"Keyframer: {Path(request['target']).name}"].as_string()
    left = [len(bpy.data.scenes), sum(name.endswith(".001") for name in [thing.name for thing in bpy.data.objects])]
    return {"result": result, "said": messages, "text": text, "left": left}


def do_own_gltf(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Import a GLB with Blender's own importer, and export it with Blender's own exporter, at a rate."""
    new_file()
    bpy.ops.import_scene.gltf(filepath=request["source"])
    bpy.context.scene.render.fps = request["fps"]
    options = {"export_cameras": True, "export_lights": True, "export_extras": request["extras"]}
    bpy.ops.export_scene.gltf(filepath=request["target"], **options)
    return {}


def curve_of(name: str, path: str, index: int) -> Any:
    """Return the F-curve that an object plays, or the empty that is aimed in its place."""
    thing = bpy.data.objects[name]
    if thing.animation_data is None:
        thing = thing.parent
    data = thing.animation_data
    curves = data.action.layers[0].strips[0].channelbag(data.action_slot).fcurves
    return next(curve for curve in curves if (curve.data_path, curve.array_index) == (path, index))


def move_key(name: str, path: str, index: int, key: int, by: float) -> None:
    curve = curve_of(name, path, index)
    point = curve.keyframe_points[key]
    for part in (point.co, point.handle_left, point.handle_right):
        part[1] += by
    curve.update()


def insert_key(name: str, frame: float, by: list[float]) -> None:
    thing = bpy.data.objects[name]
    bpy.context.scene.frame_set(int(frame))
    thing.location = [value + more for value, more in zip(thing.location, by, strict=True)]
    thing.keyframe_insert("location", frame=frame)


def set_place(name: str, path: str, values: list[float]) -> None:
    setattr(bpy.data.objects[name], path, values)


def set_color(number: int, color: list[float]) -> None:
    material = next(each for each in bpy.data.materials if json.loads(each["keyframer"])["material"] == number)
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = (*color, 1.0)


def set_image(number: int, file: str) -> None:
    material = next(each for each in bpy.data.materials if json.loads(each["keyframer"])["material"] == number)
    node = material.node_tree.nodes.new("ShaderNodeTexImage")
    node.image = bpy.data.images.new(file, 4, 4)
    shader = next(each for each in material.node_tree.nodes if each.type == "BSDF_PRINCIPLED")
    material.node_tree.links.new(node.outputs[0], shader.inputs["Base Color"])


def move_vertex(name: str, vertex: int, by: list[float]) -> None:
    point = bpy.data.objects[name].data.vertices[vertex]
    point.co = [value + more for value, more in zip(point.co, by, strict=True)]


def rename(name: str, new: str) -> None:
    bpy.data.objects[name].name = new


def remove(name: str) -> None:
    bpy.data.objects.remove(bpy.data.objects[name])


def add_triangle(name: str, parent: str, place: list[float]) -> None:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([(0, 0, 0), (5, 0, 0), (0, 5, 0)], [], [(0, 1, 2)])
    thing = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(thing)
    thing.parent, thing.location = bpy.data.objects[parent], place


def copy(name: str, new: str, by: list[float]) -> None:
    thing = bpy.data.objects[name].copy()
    thing.name = new
    thing.location = [value + more for value, more in zip(thing.location, by, strict=True)]
    bpy.context.scene.collection.objects.link(thing)


EDITS = {
    "move key": move_key, "insert key": insert_key, "set": set_place, "color": set_color, "image": set_image,
    "vertex": move_vertex, "rename": rename, "remove": remove, "add": add_triangle, "copy": copy,
}  # fmt: skip


def do_state(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return everything that registering may leave behind."""
    menus = [bpy.types.TOPBAR_MT_file_import, bpy.types.TOPBAR_MT_file_export]
    return {
        "operators": [hasattr(bpy.types, name) for name in request["classes"]],
        "entries": [len(menu._dyn_ui_initialize()) for menu in menus],
        "handlers": {name: len(getattr(bpy.app.handlers, name)) for name in ("load_post", "frame_change_post")},
    }


def do_dropping(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return what Blender gets when it asks for a handler of files dropped onto a window."""
    handler = bpy.types.IO_FH_keyframer

    class Context:
        area = type("Area", (), {"type": "VIEW_3D"})

    operator = [handler.bl_import_operator, handler.bl_export_operator]
    return {"extensions": handler.bl_file_extensions, "operators": operator, "poll": handler.poll_drop(Context)}


def do_interrupted(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Let an import fail at its very end; return the numbers of data-blocks before and after, and the message."""
    new_file()
    before = len(bpy.data.user_map())
    builder = extension_module("importing")._Builder
    report = builder._report_conversion

    def fail(*_: object) -> None:
        raise ValueError("failed on purpose")

    builder._report_conversion = fail
    try:
        _, _, messages = run_import(request)
    finally:
        builder._report_conversion = report
    return {"blocks": [before, len(bpy.data.user_map())], "said": messages}


def do_unsupported(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Export a scene with features that old formats cannot store; return the text of the report."""
    new_file()
    run_import(request)  # two clips
    stage = bpy.context.scene
    mesh = bpy.data.meshes.new("Layers")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    for name in ("first", "second"):
        mesh.uv_layers.new(name=name)
        mesh.color_attributes.new(name, "FLOAT_COLOR", "CORNER")
    material = bpy.data.materials.new("Rough")
    material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    for socket in ("Base Color", "Roughness"):
        node = material.node_tree.nodes.new("ShaderNodeTexImage")
        node.image = bpy.data.images.new(f"{socket}.png", 1, 1)
        material.node_tree.links.new(node.outputs[0], shader.inputs[socket])
    mesh.materials.append(material)
    camera = bpy.data.cameras.new("Flat")
    camera.type, camera.shift_x = "ORTHO", 0.5
    group = bpy.data.collections.new("Group")
    instance = bpy.data.objects.new("Instance", None)
    instance.instance_type, instance.instance_collection = "COLLECTION", group
    for thing in (bpy.data.objects.new("Layers", mesh), bpy.data.objects.new("Flat", camera), instance):
        stage.collection.objects.link(thing)
    bpy.ops.export_scene.keyframer(filepath=request["target"])
    return {"text": bpy.data.texts[f"Keyframer: {Path(request['target']).name}"].as_string()}


def do_look(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Import, and render everything from the front, 40 pixels high, with a new world."""
    new_file()
    run_import(request)
    stage = bpy.context.scene
    corners = [thing.matrix_world @ vertex.co for thing in bpy.data.objects for vertex in thing.data.vertices]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    wide, tall = high[0] - low[0], high[2] - low[2]
    camera = bpy.data.objects.new("eye", bpy.data.cameras.new("eye"))
    camera.data.type, camera.data.ortho_scale, camera.data.clip_end = "ORTHO", wide, 10 * wide
    camera.location = ((low[0] + high[0]) / 2, low[1] - wide, (low[2] + high[2]) / 2)
    camera.rotation_euler = (np.pi / 2, 0, 0)
    stage.collection.objects.link(camera)
    stage.camera, stage.world = camera, bpy.data.worlds.new("World")
    stage.render.engine, stage.view_settings.view_transform = "CYCLES", "Standard"
    stage.cycles.device, stage.cycles.samples, stage.cycles.use_denoising = "CPU", 8, False
    stage.render.resolution_x, stage.render.resolution_y = round(40 * wide / tall), 40
    stage.render.filepath = request["picture"]
    bpy.ops.render.render(write_still=True)
    return {}


def do_sphere(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Import, replace all meshes by a grey sphere, and measure how bright Cycles renders it."""
    new_file()
    run_import(request)
    for thing in bpy.data.objects:
        thing.hide_render = thing.type == "MESH"
    spec = importlib.util.spec_from_file_location("light", request["oracle"])
    light = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(light)
    where = request["centre"], request["radius"], request["eye"]
    return {"brightness": light.sphere_brightness(*where, request["picture"])}


def do_disable(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    import addon_utils  # type: ignore[import-not-found]

    addon_utils.disable(MODULE)
    return {}


def do_enable(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    import addon_utils

    return {"enabled": addon_utils.enable(MODULE) is not None}


def do_undo(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    new_file()
    if not bpy.ops.ed.undo_push.poll():
        return {"possible": False}
    bpy.ops.ed.undo_push(message="before")
    before = len(bpy.data.objects)
    run_import(request)
    between = len(bpy.data.objects)
    bpy.ops.ed.undo_push(message="after")
    try:
        bpy.ops.ed.undo()
    except RuntimeError as error:
        return {"possible": False, "said": str(error)}
    return {"possible": True, "objects": [before, between, len(bpy.data.objects)]}


def do_popup(request: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the lines of the popup, drawn into a layout that only records them."""
    new_file()
    _, built, _ = run_import(request)
    report = extension_module("report")
    drawn: list[str] = []

    class Layout:
        def label(self, text: str, icon: str = "NONE") -> None:
            drawn.append(text)

    report.draw_lines(Layout(), [report.FileReport("Imported", "file", built[0].report, built[0].scene.issues)])
    return {"drawn": drawn}


def main(archive: str, requests: str, answers: str) -> None:
    install(archive)
    folder = Path(answers)
    modules = sorted(name for name in sys.modules if name.partition(".")[0] in ("PIL", "rich"))
    (folder / "modules.json").write_text(json.dumps([sys.modules["keyframer"].__file__, modules]), encoding="utf-8")
    for number, request in enumerate(json.loads(Path(requests).read_text(encoding="utf-8"))):
        arrays: dict[str, np.ndarray] = {}
        try:
            answer = carry_out(request, arrays)
        except Exception:
            answer = {"failed": traceback.format_exc()}
        np.savez(folder / f"{number}.npz", **arrays)
        (folder / f"{number}.json").write_text(json.dumps(answer), encoding="utf-8")


main(*sys.argv[1:])
