"""Each field of the scene model is restored from each target format, or named in the loss report.

The fields are those of the dataclasses: a new one fails here until it is listed, and until every target stores or
reports it. For each field a scene is written twice, with and without a value in that field. Then either the file with
the value, loaded again, has the same value (or the same positions), or its report has a line that is not *exact* and
that the report without the value does not have.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.exchange import EXPORTERS, IMPORTERS, Exporter
from keyframer.formats import FORMATS
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.kit.unsupported_features import foreign_extras
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    EmbeddedImage,
    Environment,
    Handedness,
    Light,
    LightType,
    Material,
    Mesh,
    Node,
    NodeKind,
    RawChannel,
    Scene,
    Skin,
    TextureMap,
)
from keyframer.scene.environment import Fog, Gradient, LayeredFog
from keyframer.scene.loss_report import CannotWrite, Outcome
from keyframer.scene.losses import LOSSES, MESH_SPLIT
from keyframer.scene.node import Morph
from tests.building.gltf import Json, glb, triangle
from tests.building.images import encoded
from tests.building.scenes import as_read_from_a_file
from tests.exchange.reading.test_embedded import picture
from tests.formats.threeds.bridge.everything import everything
from tests.samples import SAVED
from tests.slow import SLOW

TARGETS: dict[str, dict[str, Any]] = {
    "a.3ds": {"format": "3ds"},
    "a.u3d": {"format": "uto3d"},
    "a.ase": {"format": "ase"},
    "a.anim": {"format": "hale3d"},
    "a.md5anim": {"format": "md5"},
    "b.anim": {"format": "midtown"},
    "a.bin": {"format": "nodeanim"},
    "a.b3d": {"format": "b3d"},
    "a.vue": {"format": "vue"},
    "a.glb": {},
    "core.glb": {"core_only": True},
}

WRITTEN_ONLY = [
    each
    for each in EXPORTERS
    if each.takes_any_scene and each.name not in {known.name for known in (*FORMATS, *IMPORTERS)}
]
"""formats whose files cannot be read again"""


def base() -> Scene:
    """Return a scene with a little of everything, with defaults wherever there are any."""
    sheet = Mesh("sheet", np.array([[0, 0, 0], [4, 0, 0], [4, 3, 0], [0, 3, 1.0]]), np.array([[0, 1, 2], [0, 2, 3]]))
    sheet.uv, sheet.face_materials = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]]), np.zeros(2, np.int64)
    nodes = [
        Node("root", NodeKind.DUMMY),
        Node("sheet", parent=0, mesh=0),
        Node("eye", NodeKind.CAMERA, camera=0, target=4, position=np.array([0, -9.0, 2])),
        Node("lamp", NodeKind.LIGHT, light=0, target=5, position=np.array([0, -9.0, 5])),
        Node("eye.target", NodeKind.TARGET),
        Node("lamp.target", NodeKind.TARGET),
        Node("bone", NodeKind.BONE),
        Node("skinned", mesh=1, skin=0),
    ]
    skin = Skin("skinned", [6], np.eye(4)[None], np.arange(4), np.zeros(4, np.int64), np.ones(4))
    material = Material("paint", maps={"texture1": TextureMap("paint.png")})
    move = Track("position", np.array([0.0, 10.0]), np.array([[0, 0, 0], [1, 2, 3.0]]), Interpolation.LINEAR)
    bend = Track("position", np.array([0.0, 10.0]), np.array([[0, 0, 0], [0, 0, 3.0]]), Interpolation.LINEAR)
    return Scene(
        nodes,
        [sheet, replace(copy.deepcopy(sheet), name="skinned")],
        [material],
        [Camera("eye")],
        [Light("lamp", LightType.SPOT, hotspot_degrees=30.0, falloff_degrees=40.0)],
        [skin],
        [Clip("", [Channel(0, move), Channel(6, bend)], end=10.0)],
    )


def track(kind: str, first: Any, last: Any) -> Track:
    return Track(kind, np.array([0.0, 10.0]), np.array([first, last], np.float64), Interpolation.LINEAR)


ROOT, SHEET, EYE, LAMP = 0, 1, 2, 3
ON_LIGHTS = ("color", "multiplier", "hotspot", "falloff")
CLASSES: dict[str, Any] = {
    "nodes": Node,
    "meshes": Mesh,
    "materials": Material,
    "maps": TextureMap,
    "cameras": Camera,
    "lights": Light,
    "skins": Skin,
    "clips": Clip,
    "environment": Environment,
    "scene": Scene,
}
PARTS = ("nodes", "meshes", "materials", "cameras", "lights", "skins", "clips")
FEATURES: dict[str, Any] = {
    "nodes.parent": (SHEET, None),
    "nodes.position": (SHEET, np.array([7.0, 8, 9])),
    "nodes.rotation_xyzw": (SHEET, np.array([0, 0, 0.6, 0.8])),
    "nodes.scale": (SHEET, np.array([1.0, 2, 3])),
    "nodes.scale_axes_xyzw": (SHEET, np.array([0, 0, 0.6, 0.8])),
    "nodes.pivot": (SHEET, np.array([1.0, 2, 3])),
    "nodes.mesh": (SHEET, None),
    "nodes.camera": (EYE, None),
    "nodes.light": (LAMP, None),
    "nodes.skin": (7, None),
    "nodes.target": (EYE, None),
    "nodes.morph": (SHEET, Morph(["up"], [np.array([[0, 0, 5], [4, 0, 5], [4, 3, 5], [0, 3, 5.0]])])),
    "nodes.hidden": (SHEET, True),
    "nodes.bounding_box": (ROOT, (np.array([-1.0, -2, -3]), np.array([1.0, 2, 3]))),
    "nodes.kind": (ROOT, NodeKind.BONE),
    "meshes.positions": np.array([[0, 0, 0], [4, 0, 0], [4, 3, 0], [0, 3, 2.0]]),
    "meshes.corners": np.array([[0, 1, 2], [0, 1, 3]]),
    "meshes.uv": np.array([[0, 0], [1, 0], [1, 1], [0, 0.5]]),
    "meshes.uv_corners": np.array([[0, 1, 2], [1, 2, 3]]),
    "meshes.colors": np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0.0]]),
    "meshes.color_corners": np.array([[3, 2, 1], [0, 2, 3]]),
    "meshes.color_alpha": np.array([0.25, 0.5, 0.75, 1.0]),
    "meshes.uv2": np.array([[0, 0], [0.5, 0], [0.5, 0.5], [0, 0.5]]),
    "meshes.uv2_corners": np.array([[3, 2, 1], [0, 2, 3]]),
    "meshes.normals": np.array([[0, 0.6, 0.8], [0, -0.6, 0.8], [0.6, 0, 0.8], [-0.6, 0, 0.8]]),
    "meshes.normal_corners": np.array([[3, 2, 1], [0, 2, 3]]),
    "meshes.smoothing": np.array([1, 2]),
    "meshes.edges": np.array([3, 6]),
    "meshes.face_materials": np.array([-1, 0]),
    "meshes.axes": np.array([[1, 0, 0, 5], [0, 1, 0, 6], [0, 0, 1, 7], [0, 0, 0, 1.0]]),
    "meshes.bounding_sphere": (np.array([2.0, 1.5, 0.5]), 3.5),
    "meshes.casts_shadows": False,
    "meshes.receives_shadows": False,
    "meshes.dynamic": True,
    "materials.ambient": (0.1, 0.2, 0.3),
    "materials.diffuse": (0.25, 0.5, 0.75),
    "materials.specular": (0.1, 0.2, 0.3),
    "materials.shininess": 0.25,
    "materials.shininess_strength": 0.25,
    "materials.transparency": 0.25,
    "materials.transparency_falloff": 0.25,
    "materials.falloff_inwards": True,
    "materials.reflection_blur": 0.25,
    "materials.self_illumination": 0.25,
    "materials.two_sided": True,
    "materials.additive": True,
    "materials.wire": True,
    "materials.wire_size": 2.0,
    "materials.wire_in_units": True,
    "materials.face_map": True,
    "materials.soften": True,
    "materials.supersample": True,
    "materials.shading": "metal",
    "materials.maps": {"texture1": TextureMap("paint.png"), "bump": TextureMap("bump.png")},
    "maps.file_name": "other.png",
    "maps.amount": 0.5,
    "maps.scale": (2.0, 3.0),
    "maps.offset": (0.25, 0.5),
    "maps.rotation_degrees": 30.0,
    "maps.blur": 0.5,
    "maps.mirror": True,
    "maps.negative": True,
    "maps.decal": True,
    "maps.second_coordinates": True,
    "maps.tiled": False,
    "maps.summed_area": True,
    "maps.alpha_source": True,
    "maps.ignore_alpha": True,
    "maps.tints": {"first": (0.2, 0.4, 0.6)},
    "maps.embedded": EmbeddedImage("inside.png", encoded(picture((3, 2))), "image/png"),
    "cameras.fov_degrees": 70.0,
    "cameras.roll_degrees": 20.0,
    "cameras.target": (3.0, 4.0, 5.0),
    "cameras.ranges": (5.0, 50.0),
    "cameras.clip": (5.0, 50.0),
    "cameras.shows_cone": True,
    "lights.type": LightType.DIRECTIONAL,
    "lights.color": (0.25, 0.5, 0.75),
    "lights.multiplier": 2.0,
    "lights.on": False,
    "lights.attenuated": True,
    "lights.inner_range": 10.0,
    "lights.outer_range": 20.0,
    "lights.target": (3.0, 4.0, 5.0),
    "lights.hotspot_degrees": 20.0,
    "lights.falloff_degrees": 60.0,
    "lights.roll_degrees": 20.0,
    "lights.rectangular": True,
    "lights.aspect": 2.0,
    "lights.casts_shadows": True,
    "lights.projector": "slide.png",
    "lights.excludes": ["sheet"],
    "skins.joints": [0],
    "skins.vertex_indices": np.array([0, 1, 1, 2, 3]),
    "skins.joint_indices": np.array([0, 0, 0, 0, 1]),
    "skins.weights": np.array([0.25, 0.75, 1.0, 1.0, 1.0]),
    "skins.positions": np.array([[0, 0, 0], [4, 0, 0], [4, 3, 0], [0, 3, 2.0]]),
    "skins.rigid": True,
    "skins.inverse_bind": np.array([[[1, 0, 0, 5], [0, 1, 0, 6], [0, 0, 1, 7], [0, 0, 0, 1.0]]]),
    "clips.start": 2.0,
    "clips.end": 20.0,
    "clips.rate": 15.0,
    "clips.current": 5.0,
    "clips.bounds": np.tile(np.array([[-9.0, -9, -9], [9, 9, 9]]), (11, 1, 1)),
    "clips.raw_channels": [RawChannel("raw", np.arange(22.0).reshape(11, 2))],
    "clips.name": "other",
    "environment.ambient": (0.1, 0.2, 0.3),
    "environment.background_color": (0.1, 0.2, 0.3),
    "environment.background_image": "sky.png",
    "environment.gradient": Gradient(0.5, [(0, 0, 0), (0.5, 0.5, 0.5), (1, 1, 1)]),
    "environment.fog": Fog(1.0, 0.25, 100.0, 0.5, (0.1, 0.2, 0.3)),
    "environment.distance_cue": Fog(1.0, 0.25, 100.0, 0.5),
    "environment.layered_fog": LayeredFog(0.0, 10.0, 0.5, 0, (0.1, 0.2, 0.3)),
    "environment.uses": {"background_color"},
    "materials.name": "other",
    "nodes.name": (SHEET, "other"),
    **{f"{part}.name": "other" for part in ("meshes", "cameras", "lights", "skins")},
    "scene.title": "The sheet",
    "scene.author": "Somebody",
    "scene.copyright": "Nobody's",
    "channels.position": track("position", (1, 2, 3), (4, 5, 6)),
    "channels.rotation": Track(
        "rotation",
        np.array([0.0, 10.0]),
        np.array([[0, 0, 0, 1], [0, 0, 0.6, 0.8]]),
        Interpolation.LINEAR,
        form=RotationForm.QUATERNION_ABSOLUTE,
    ),
    "channels.scale": track("scale", (1, 1, 1), (2, 3, 4)),
    "channels.visible": Track("visible", np.array([0.0, 5.0]), np.array([1.0, 0.0]), Interpolation.STEP),
    "channels.fov": track("fov", 40, 60),
    "channels.roll": track("roll", 0, 60),
    "channels.hotspot": track("hotspot", 10, 20),
    "channels.falloff": track("falloff", 50, 60),
    "channels.color": track("color", (1, 0, 0), (0, 1, 0)),
    "channels.multiplier": track("multiplier", 1, 3),
}
"""a value for every field that means something; of nodes with the number of the node, of channels the track"""

TWO_JOINTS: dict[str, Any] = {
    "skins.joints": [6, 0],
    "skins.inverse_bind": np.tile(np.eye(4), (2, 1, 1)),
    "skins.vertex_indices": np.array([0, 0, 1, 2, 3]),
    "skins.joint_indices": np.array([0, 1, 0, 0, 0]),
    "skins.weights": np.array([0.5, 0.5, 1.0, 1.0, 1.0]),
}

CHANGED_WITH: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("skins.vertex_indices", "skins.joint_indices", "skins.weights"), TWO_JOINTS),
    "nodes.scale_axes_xyzw": {"nodes.scale": (SHEET, np.array([1.0, 2, 3]))},
    "materials.wire_size": {"materials.wire": True},
    "materials.wire_in_units": {"materials.wire": True, "materials.wire_size": 2.0},
    "lights.inner_range": {"lights.attenuated": True, "lights.outer_range": 30.0},
    "lights.outer_range": {"lights.attenuated": True, "lights.inner_range": 5.0},
    "lights.aspect": {"lights.rectangular": True},
    "environment.uses": {"environment.background_color": (0.1, 0.2, 0.3)},
    "meshes.color_corners": {"meshes.colors": np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0.0]])},
    "meshes.color_alpha": {"meshes.colors": np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0.0]])},
    "maps.second_coordinates": {"meshes.uv2": np.array([[0, 0], [0.5, 0], [0.5, 0.5], [0, 0.5]])},
    "meshes.uv2_corners": {"meshes.uv2": np.array([[0, 0], [0.5, 0], [0.5, 0.5], [0, 0.5]])},
    "meshes.normal_corners": {
        "meshes.normals": np.array([[0, 0.6, 0.8], [0, -0.6, 0.8], [0.6, 0, 0.8], [-0.6, 0, 0.8]])
    },
    "cameras.target": {"nodes.target": (EYE, None)},
    "lights.target": {"nodes.target": (LAMP, None)},
}
"""what a field needs to mean something: both scenes have it"""

PLACING = {
    *(
        f"nodes.{name}"
        for name in ("parent", "position", "rotation_xyzw", "scale", "scale_axes_xyzw", "pivot", "target")
    ),
    *("nodes.skin", "meshes.positions", "cameras.target", "lights.target"),
    *(f"skins.{field.name}" for field in fields(Skin) if field.name not in ("name", "extras")),
    *("cameras.roll_degrees", "lights.roll_degrees", "channels.position", "channels.rotation", "channels.scale"),
    *("channels.roll", "clips.rate"),
}
"""fields that are found again if everything is where it was meant, however the target says so"""

WITHOUT_VERTICES = {
    *("nodes.target", "cameras.target", "lights.target", "cameras.roll_degrees", "lights.roll_degrees"),
    "channels.roll",
}
"""those that move no vertex: here the nodes must stand elsewhere than without the value"""

LINKS = {f"nodes.{name}" for name in ("parent", "mesh", "camera", "light", "skin", "target")}
"""numbers of other parts: what counts is how many nodes have one"""

WHOLE = {
    "nodes.mesh": ("meshes",),
    "nodes.camera": ("cameras",),
    "nodes.light": ("lights",),
    "nodes.skin": ("skins", "meshes"),
    "nodes.morph": ("morphs", "meshes"),
    "nodes.target": ("cameras",),
    "nodes.parent": ("parents",),
    "clips.bounds": ("bounds",),
    "nodes.pivot": ("meshes",),
    "meshes.color_corners": ("vertex_colours", "meshes"),
    "meshes.color_alpha": ("vertex_alpha", "vertex_colours", "meshes"),
    **dict.fromkeys(("meshes.uv2", "meshes.uv2_corners"), ("second_coordinates", "meshes")),
    **dict.fromkeys(("meshes.normals", "meshes.normal_corners"), ("normals", "meshes")),
    "materials.maps": ("materials", "textures"),
    "channels.fov": ("cameras",),
    "channels.roll": ("cameras",),
    **{f"channels.{kind}": ("lights",) for kind in ON_LIGHTS},
    **{f"maps.{field.name}": ("materials", "textures") for field in fields(TextureMap)},
    **{f"skins.{field.name}": ("skins", "meshes") for field in fields(Skin)},
    **{
        f"skins.{name}": ("skins", "meshes", "nodes/skinned/skin")
        for name in ("vertex_indices", "joint_indices", "weights")
    },
    "meshes.name": ("meshes", "meshes/name"),
    "skins.name": ("skins", "meshes", "skins/name", "nodes/skinned/skin"),
}
"""what a field goes with: where all of that is reported as dropped, its fields need no lines of their own"""

CORNERS = {
    **dict.fromkeys(("meshes.uv", "meshes.uv_corners"), ("uv", "uv_corners")),
    **dict.fromkeys(("meshes.colors", "meshes.color_corners"), ("colors", "color_corners")),
    **dict.fromkeys(("meshes.uv2", "meshes.uv2_corners"), ("uv2", "uv2_corners")),
    **dict.fromkeys(("meshes.normals", "meshes.normal_corners"), ("normals", "normal_corners")),
    "meshes.color_alpha": ("color_alpha", "color_corners"),
}
"""tables and the numbers into them: what counts is the value at each corner"""

BOOKKEEPING = {
    *(f"{part}.extras" for part in PARTS),
    *(f"{part}.raw_name" for part in PARTS if part not in ("skins", "clips")),
    *("nodes.file_id", "maps.raw_file_name", "maps.extras", "environment.extras"),
    *("clips.channels", "clips.unit", "clips.units_per_frame"),  # how times are counted
    *(f"scene.{name}" for name in (*PARTS, "environment", "space")),  # the parts themselves
    *(
        "scene.source_format",
        "scene.extras",
        "scene.issues",
        "scene.folder",
        "scene.sources",
        "scene.origin",
        "scene.loaded_rest",
    ),
}
"""fields that say how the rest is named, numbered, grouped or kept"""


def test_every_format_is_listed() -> None:
    only_read = {known.name for known in FORMATS} - {known.name for known in SAVED}
    written = {each.name for each in EXPORTERS if each.takes_any_scene} - only_read
    targets = {options.get("format", "gltf") for options in TARGETS.values()}
    assert targets | {each.name for each in WRITTEN_ONLY} == written


def test_every_field_of_the_model_is_listed() -> None:
    existing = {f"{part}.{field.name}" for part, kind in CLASSES.items() for field in fields(kind)}
    listed = {name for name in FEATURES if not name.startswith("channels.")}
    assert existing == listed | BOOKKEEPING
    assert not listed & BOOKKEEPING


def with_value(scene: Scene, name: str, value: Any) -> Scene:
    part, field = name.split(".")
    if part == "channels":
        node = {"fov": EYE, "roll": EYE}.get(field, LAMP if field in ON_LIGHTS else SHEET)
        scene.clips[0].channels.append(Channel(node, value))
    elif part == "nodes":
        setattr(scene.nodes[value[0]], field, value[1])
    elif part == "maps":
        setattr(scene.materials[0].maps["texture1"], field, value)
    elif part in ("environment", "scene"):
        setattr(scene if part == "scene" else scene.environment, field, value)
    else:
        setattr(getattr(scene, part)[0], field, value)
    return scene


TIMES = np.array([0.0, 0.1, 0.2, 1 / 3])
"""seconds"""


def values_of(scene: Scene, name: str) -> Iterator[Any]:
    """Return all values of a field in a loaded scene."""
    part, field = name.split(".")
    if part == "channels":
        for clip in scene.clips:
            curves = [
                keyframer.compile_track(channel.track) for channel in clip.channels if channel.track.kind == field
            ]
            for sampled in (np.round(curve(TIMES * clip.rate), 3) for curve in curves):
                turned = field == "rotation" and sampled[-1, 3] < 0
                yield np.where(turned, -sampled, sampled) + 0.0
    elif name in ("clips.start", "clips.end"):
        yield from (getattr(clip, field) / clip.rate for clip in scene.clips)
    elif name == "meshes.bounding_sphere":  # in any axes
        for center, radius in (mesh.bounding_sphere for mesh in scene.meshes if mesh.bounding_sphere is not None):
            yield sorted(np.abs(center).tolist()), radius
    elif name in LINKS:
        yield sum(getattr(node, field) is not None for node in scene.nodes)
    elif name in CORNERS:
        table, numbers = CORNERS[name]
        meshes = in_space(scene, replace(scene.space, up="z", handedness=Handedness.RIGHT)).meshes
        for mesh in meshes if table == "normals" else scene.meshes:
            values, chosen = getattr(mesh, table), getattr(mesh, numbers)
            rows = None if values is None else np.asarray(values)[mesh.corners if chosen is None else chosen]
            if rows is not None and table in ("uv", "uv2") and not scene.space.v_up:
                rows = rows * (1, -1) + (0, 1)
            yield rows
    elif name == "maps.embedded":  # inside the file, or beside it
        for map in (map for material in scene.materials for map in material.maps.values()):
            beside = Path("/") if scene.folder is None else scene.folder / map.file_name
            stored = beside.read_bytes() if beside.is_file() else None
            yield map.embedded.data if map.embedded is not None else stored
    elif part == "maps":
        yield from (getattr(map, field) for material in scene.materials for map in material.maps.values())
    elif part in ("environment", "scene"):
        yield getattr(scene if part == "scene" else scene.environment, field)
    else:
        yield from (getattr(element, field) for element in getattr(scene, part))


def plain(value: Any) -> str:
    """Return a value as text that can be compared, with numbers to five digits."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(plain, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {plain(item)}" for key, item in sorted(value.items())) + "}"
    if isinstance(value, set):
        return plain(sorted(value))
    if is_dataclass(value) and not isinstance(value, type):
        names = {field.name for field in fields(value)} - {"extras", "raw_file_name"}
        return plain({name: getattr(value, name) for name in names})
    return repr(value)


def axis_permutations() -> list[Any]:
    """Return all ways to rename and flip axes: formats differ in the up axis and in handedness."""
    signs = [np.diag([1 - 2 * (number >> axis & 1) for axis in range(3)]) for number in range(8)]
    return [np.eye(3)[list(order)] @ sign for order in permutations(range(3)) for sign in signs]


def paths(scene: Scene) -> Any:
    """Return (T, n, 3) vertices of all meshes from the beginning to the end."""
    posed = keyframer.pose(scene, TIMES)
    vertices = [posed.vertices(number) for number, node in enumerate(scene.nodes) if node.mesh is not None]
    return np.concatenate(vertices, axis=1) if vertices else np.empty((len(TIMES), 0, 3))


def paths_match(meant: Any, read: Any, turning: Any) -> bool:
    """Return whether each path (T, n, 3) is one of those read (T, m, 3) in other axes: formats reorder, duplicate and
    merge vertices."""
    if not read.shape[1]:
        return False
    away = np.abs((meant @ turning.T)[:, :, None] - read[:, None]).max(axis=(0, 3))
    return bool((away.min(axis=1) < 2e-3).all())


def frames(scene: Scene) -> str:
    """Return the positions of all nodes, to detect motion in formats without meshes."""
    return plain(np.round(keyframer.pose(scene, TIMES).world, 3))


def is_found(name: str, scenes: tuple[Scene, Scene, Scene, Scene], turning: Any) -> bool:
    """Return whether the difference of the second scene from the first is also in the fourth. The third and fourth
    scenes are the first and second after writing and reading."""
    without, having, read_without, read = scenes
    before, meant, restored = (list(map(plain, values_of(scene, name))) for scene in (without, having, read))
    fresh = [value for value in meant if meant.count(value) > before.count(value)]
    if fresh and all(restored.count(value) >= (meant.count(value) if value in before else 1) for value in fresh):
        return True
    if name not in PLACING:
        return False
    if turning is not None and name not in WITHOUT_VERTICES:
        return paths_match(paths(having), paths(read), turning)
    return frames(read) != frames(read_without)


CANNOT_STORE = [
    kind.key
    for kinds in LOSSES.values()
    for kind in kinds.values()
    if kind.template.startswith("{target} cannot store")
]


def written(scene: Scene, target: str, folder: Path) -> tuple[set[str], Scene]:
    """Return the lines of the report that are not exact, and the scene that is read from the file."""
    options = dict(TARGETS[target])
    format = options.get("format")
    folder.mkdir()
    report = keyframer.save(scene, folder / target, **options)
    lines = {f"{loss.path}: {loss.type.key} {loss.args}" for loss in report if loss.outcome is not Outcome.EXACT}
    read = keyframer.load(folder / target, **({"format": format} if format else {}))
    read.folder = folder
    return lines, read


class Target:
    """A target format and its result for the base: the lines of its report, the scene read again, its axes."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder = name, folder
        folder.mkdir()
        self._count = 0
        self.said, self.read = self.written(base())
        fitting = [turning for turning in axis_permutations() if paths_match(paths(base()), paths(self.read), turning)]
        assert bool(fitting) == bool(self.read.meshes)
        self.turning = fitting[0] if fitting else None

    def written(self, scene: Scene) -> tuple[set[str], Scene]:
        self._count += 1
        return written(scene, self.name, self._folder / str(self._count))


def mistake(name: str, company: dict[str, Any], target: Target) -> str | None:
    """Return what is wrong with the report about a field, in a scene that has values in ``company``, too."""
    without, having = base(), base()
    for other, its in company.items():
        with_value(without, other, copy.deepcopy(its))
        with_value(having, other, copy.deepcopy(its))
    with_value(having, name, copy.deepcopy(FEATURES[name]))
    said_before, read_without = target.written(without) if company else (target.said, target.read)
    lines, read = target.written(having)
    whole = {f"/{part}: " for part in WHOLE.get(name, (name.split(".")[0],))}
    gone = any(line.startswith(tuple(whole)) for line in said_before)
    is_stored = is_found(name, (without, having, read_without, read), target.turning)
    if not gone and not lines - said_before and not is_stored:
        return f"{name} is lost without a report"
    path = f"/{name.replace('.', '/')}"
    dropped = tuple(f"{path}: {kind} " for kind in CANNOT_STORE)
    if is_stored and any(line.startswith(dropped) for line in lines - said_before):
        return f"{name} is reported as dropped, but stored"
    return None


@pytest.mark.parametrize("name", TARGETS)
def test_each_field_is_restored_or_reported(name: str, tmp_path: Path) -> None:
    target = Target(name, tmp_path / "files")
    found = [mistake(field, CHANGED_WITH.get(field, {}), target) for field in FEATURES]
    assert not any(found), " ".join(filter(None, found))


def files_of(scene: Scene, exporter: Exporter, folder: Path) -> tuple[set[str], dict[str, bytes]]:
    """Return the lines of the report that are not exact, and the content of the files."""
    folder.mkdir()
    scene.folder = folder.parent
    report = keyframer.save(scene, folder / f"a{exporter.extension(None)}")
    lines = {f"{loss.path}: {loss.type.key} {loss.args}" for loss in report if loss.outcome is not Outcome.EXACT}
    return lines, {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("exporter", WRITTEN_ONLY, ids=lambda exporter: exporter.name)
def test_each_field_changes_the_file_or_is_reported(exporter: Exporter, tmp_path: Path) -> None:
    """Files of formats that are only written."""
    image = picture((3, 2)).convert("RGBA")
    image.putalpha(100)
    (tmp_path / "paint.png").write_bytes(encoded(image))
    silent = []
    for number, name in enumerate(FEATURES):
        without, having = base(), base()
        for other, value in (
            {"maps.decal": True} if name == "maps.alpha_source" else CHANGED_WITH.get(name, {})
        ).items():
            with_value(without, other, copy.deepcopy(value))
            with_value(having, other, copy.deepcopy(value))
        with_value(having, name, copy.deepcopy(FEATURES[name]))
        said_before, files_before = files_of(without, exporter, tmp_path / f"{number} without")
        said, files = files_of(having, exporter, tmp_path / f"{number}")
        whole = tuple(f"/{part}: " for part in WHOLE.get(name, (name.split(".")[0],)))
        gone = any(line.startswith(whole) for line in said_before)
        if (
            files == files_before and not said - said_before and not gone and name != "skins.rigid"
        ):  # repeats the weights
            silent.append(name)
    assert not silent


COMPANY = [name for name in FEATURES if not name.startswith("skins.") and name not in LINKS]
OVERRIDING = {"nodes.position": "channels.position", "maps.file_name": "maps.embedded"}
"""values that are overridden: tracks have the last word, and an image has a name of its own"""


@pytest.mark.parametrize("name", TARGETS)
def test_fields_are_not_lost_silently_in_combination(name: str, tmp_path: Path) -> None:
    """Fields together with many others, chosen by a fixed seed."""
    chance = random.Random(f"company of {name}")
    target = Target(name, tmp_path / "files")
    silent = []
    for _ in range(150 if SLOW else 8):
        field = chance.choice(list(FEATURES))
        others = set(chance.sample(COMPANY, chance.randint(2, 25))) - {field, OVERRIDING.get(field)}
        company = {other: FEATURES[other] for other in sorted(others)} | CHANGED_WITH.get(field, {})
        if what := mistake(field, company, target):
            silent.append(f"{what} beside {', '.join(company)}")
    assert not silent, silent


def reference_points(scene: Scene) -> Any:
    """Return (T, n, 3) vertices; for cameras and lights their position, a point in front and, for cameras, one
    above."""
    posed = keyframer.pose(scene, TIMES)
    ahead = -1.0 if scene.space.handedness is Handedness.RIGHT else 1.0
    points = [paths(scene)]
    for number, node in enumerate(scene.nodes):
        if node.camera is not None or node.light is not None:
            world = posed.world[:, number]
            place, up, back = (world[:, None, :3, column] for column in (3, 1, 2))
            points += [place, place + ahead * back / np.linalg.norm(back, axis=-1, keepdims=True)]
            if node.camera is not None:
                points.append(place + up / np.linalg.norm(up, axis=-1, keepdims=True))
    return np.concatenate(points, axis=1)


def with_changed_node(node: int, what: str) -> Scene:
    """Return the base with a node that has another parent, or a value or track that moves or hides it."""
    scene = base()
    kind, _, name = what.partition(".")
    if kind == "under":
        if scene.nodes[int(name)].parent == node:
            scene.nodes[int(name)].parent = None
        scene.nodes[node].parent = int(name)
    elif kind == "nodes":
        setattr(scene.nodes[node], name, copy.deepcopy(FEATURES[what][1]))
    else:
        others = [channel for channel in scene.clips[0].channels if (channel.node, channel.track.kind) != (node, name)]
        scene.clips[0].channels = [*others, Channel(node, copy.deepcopy(FEATURES[what]))]
    return scene


MOVES = [
    (node, what)
    for node in range(8)
    for what in (
        *(f"nodes.{name}" for name in ("position", "rotation_xyzw", "scale", "pivot", "hidden")),
        *(f"channels.{name}" for name in ("position", "rotation", "scale", "visible", "roll")),
        *(f"under.{other}" for other in range(8) if other != node),
    )
]


@pytest.mark.parametrize("name", ["a.3ds", "a.u3d", "a.ase", "a.anim", "a.glb", "core.glb"])
def test_every_node_keeps_its_place_or_is_reported(name: str, tmp_path: Path) -> None:
    """Meshes, cameras, lights, targets and bones: each placed, animated, hidden, and below each other."""
    target = Target(name, tmp_path / "files")
    seen = reference_points if target.read.cameras else paths
    silent = []
    for node, what in MOVES if SLOW else random.Random(name).sample(MOVES, 12):
        scene = with_changed_node(node, what)
        lines, read = target.written(scene)
        if what == "nodes.hidden":
            kept = any(node.hidden for node in read.nodes)
        elif what == "channels.visible":
            kept = any(channel.track.kind == "visible" for clip in read.clips for channel in clip.channels)
        else:
            kept = paths_match(seen(scene), seen(read), target.turning)
        if not kept and not lines - target.said:
            silent.append(f"{scene.nodes[node].name} {what}")
    assert not silent, silent


@pytest.mark.parametrize("name", ["a.3ds", "a.u3d", "a.ase", "a.glb"])
def test_camera_with_its_target_as_child_keeps_its_direction(name: str, tmp_path: Path) -> None:
    """The target moves with the camera, so the rotation of the camera is used."""
    target = Target(name, tmp_path / "files")
    scene = with_changed_node(4, "under.2")
    assert paths_match(reference_points(scene), reference_points(target.written(scene)[1]), target.turning)


def test_hidden_target_of_a_camera_is_reported_in_ase(tmp_path: Path) -> None:
    target = Target("a.ase", tmp_path / "files")
    line = "/nodes/eye.target/hidden: FIELD_UNSUPPORTED:hidden target {}"
    for what in ("nodes.hidden", "channels.visible"):
        assert line in target.written(with_changed_node(4, what))[0]


def orthographic(root: Json) -> None:
    lens = {"xmag": 1.0, "ymag": 1.0, "znear": 0.1, "zfar": 9.0}
    root["cameras"] = [{"type": "orthographic", "orthographic": lens}]
    root["nodes"].append({"camera": 0})


def points(root: Json) -> None:
    root["meshes"][0]["primitives"].append({**root["meshes"][0]["primitives"][0], "mode": 0})


def lines(root: Json) -> None:
    root["meshes"][0]["primitives"].append({**root["meshes"][0]["primitives"][0], "mode": 1})


def third_uv(root: Json) -> None:
    root["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_2"] = 0


def instances(root: Json) -> None:
    root["extensionsUsed"] = ["EXT_mesh_gpu_instancing"]
    root["nodes"][0]["extensions"] = {"EXT_mesh_gpu_instancing": {"attributes": {"TRANSLATION": 0}}}


def animated_color(root: Json) -> None:
    root["materials"] = [{}]
    target = {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": POINTER}}}
    root["animations"] = [
        {"channels": [{"sampler": 0, "target": target}], "samplers": [{"input": 0, "output": 0}]},
    ]


def not_shown(root: Json) -> None:
    root["nodes"].append({"name": "elsewhere"})


POINTER = "/materials/0/pbrMetallicRoughness/baseColorFactor"
LEFT_OUT = {
    "/orthographic": orthographic,
    "/points": points,
    "/lines": lines,
    "/TEXCOORD_2": third_uv,
    "/EXT_mesh_gpu_instancing": instances,
    f"/{POINTER}": animated_color,
    "/nodes": not_shown,
}


@pytest.mark.parametrize("path", LEFT_OUT)
@pytest.mark.parametrize("target", ["out.3ds", "out.glb"])
def test_parts_that_an_importer_leaves_out_are_in_check_and_in_the_report(
    path: str, target: str, tmp_path: Path
) -> None:
    root, binary = triangle()
    root.setdefault("scenes", [{"nodes": [0]}])
    root.setdefault("scene", 0)
    LEFT_OUT[path](root)
    (tmp_path / "in.glb").write_bytes(glb(root, binary))
    issues = [issue for issue in keyframer.check(tmp_path / "in.glb").issues if path[1:] in issue.message]
    assert len(issues) == 1
    report = keyframer.save(keyframer.load(tmp_path / "in.glb"), tmp_path / target)
    (loss,) = (loss for loss in report.of(Outcome.DROPPED) if loss.path == path)
    assert (loss.type.key, loss.args) == ("READING_LEFT_OUT:problem", {"problem": issues[0].message})


def test_chunks_without_a_field_are_reported_by_every_target(tmp_path: Path) -> None:
    """A file with every chunk there is: chunks without a field are in every report, by their record types."""
    (tmp_path / "all.3ds").write_bytes(keyframer.encode(everything()))
    scene = keyframer.load(tmp_path / "all.3ds", salvage=True)
    kept = {f"/{part}/{name}" for part, name, _ in foreign_extras(scene, scene.clips[0], "")}
    assert {
        *("/scene/ViewportLayout", "/scene/DefaultView", "/scene/ConstructionPlanes", "/scene/ShadowBiasLow"),
        *("/meshes/PointFlags", "/meshes/MeshColor", "/nodes/MorphSmooth", "/lights/SpotShadow"),
        *("/meshes/ProcessName", "/nodes/ParentName", "/scene/NamedObject"),  # these records have a field "name"
    } <= kept
    for target in ("a.u3d", "a.anim", "b.anim", "a.bin", "a.glb"):
        try:
            report = keyframer.save(scene, tmp_path / target, **TARGETS[target])
        except CannotWrite:
            continue
        outcomes = {loss.path: loss.outcome for loss in report}
        wanted = Outcome.EXTRAS if target == "a.glb" else Outcome.DROPPED
        assert {path for path in kept if outcomes.get(path) is not wanted} == set(), target


def test_equal_texture_vertices_are_not_a_seam(tmp_path: Path) -> None:
    scene = base()
    sheet = scene.meshes[0]
    sheet.uv = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0], [1, 1.0]])
    sheet.uv_corners = np.array([[0, 1, 2], [4, 5, 3]])
    assert not [loss for loss in keyframer.save(scene, tmp_path / "a.3ds") if loss.type is MESH_SPLIT["seams"]]
    mesh = keyframer.load(tmp_path / "a.3ds").meshes[0]
    assert len(mesh.positions) == 4
    sheet.uv[4] = (0.5, 0.5)
    report = keyframer.save(scene, tmp_path / "b.3ds")
    assert [loss.args for loss in report if loss.type is MESH_SPLIT["seams"]] == [{"count": 1}]


@pytest.mark.parametrize("target", ["a.anim", "b.anim"])
def test_frames_sampled_from_keys_are_not_reported_as_exact(target: str, tmp_path: Path) -> None:
    options = {**TARGETS[target], **({"fps": 30.0} if target == "b.anim" else {})}
    report = keyframer.save(base(), tmp_path / target, **options)
    (loss,) = (loss for loss in report if loss.path == "/clips/frames")
    assert (loss.outcome, loss.type.key) == (Outcome.BAKED, "KEYS_RESAMPLED:frames")
    scene = base()
    for channel in scene.clips[0].channels:
        channel.track = Track.sampled("position", np.linspace(0, 1, 33).reshape(11, 3))
    (tmp_path / "again").mkdir()
    report = keyframer.save(scene, tmp_path / "again" / target, **options)
    (loss,) = (loss for loss in report if loss.path == "/clips/frames")
    assert loss.outcome is Outcome.EXACT


@pytest.mark.parametrize("name", TARGETS)
def test_invalid_links_are_reported_as_dropped(name: str, tmp_path: Path) -> None:
    nodes = [Node("a"), Node("b", parent=9), Node("c", target=9), Node("d")]
    with as_read_from_a_file():
        scene = Scene(nodes=nodes, clips=[Clip(end=10.0, channels=[Channel(number, moving()) for number in (0, 9)])])
    scene.nodes[3].parent = 3
    report = keyframer.save(scene, tmp_path / name, **TARGETS[name])
    dropped = {loss.path: loss.args["problem"] for loss in report if loss.code == "LINK_INVALID"}
    assert dropped["/nodes/b/parent"] == dropped["/nodes/c/target"] == "no such node"
    assert dropped["/nodes/d/parent"] == "is its own ancestor"
    assert dropped["/clips/channels/9/position"] == "no such node"


def moving() -> Track:
    return Track("position", [0.0, 10.0], [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]], Interpolation.LINEAR)
