"""An independent writer of U3D scenes, byte by byte in the dialect of each known writer.

A scene is plain data. A `Manner` selects the dialect: the Flexporter plug-in (A), the MAXScript exporter (B), the
specification taken literally, or any mixture.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Manner:
    lights: str = "b"
    """a: no target id, u8 type, no tail; b: target id, u32 type, tail; literal: target id, u8 type, tail"""
    uv_faces: bool = False
    """meshes without UVs have UV faces of -1"""
    omits_empty: bool = False
    """empty sections other than BONE are left out"""


A = Manner("a", uv_faces=True, omits_empty=True)
B = Manner()
LITERAL = Manner("literal", uv_faces=True)


@dataclass
class Scene:
    """The data to write; counts in MAIN are the lengths of the lists unless ``claims`` has other ones."""

    meshes: list[dict[str, Any]] = field(default_factory=list)
    cameras: list[dict[str, Any]] = field(default_factory=list)
    targets: list[dict[str, Any]] = field(default_factory=list)
    lights: list[dict[str, Any]] = field(default_factory=list)
    materials: list[tuple[bytes, int]] = field(default_factory=list)
    bones: list[dict[str, Any]] = field(default_factory=list)
    controllers: list[dict[str, Any]] = field(default_factory=list)
    claims: dict[str, int] = field(default_factory=dict)
    frames: tuple[int, int, int, int] = (0, 100, 30, 160)
    scale: float = 1.0


PLACED = {"position": (1.0, 2.0, 3.0), "rotation": (0.0, 0.6, 0.0, 0.8), "scale": (1.0, 1.5, 2.0)}
PLACED |= {"pivot": (-1.0, 0.25, 4.0)}


def node(name: bytes, id: int, parent: int = -1, hidden: int = 0, **fields: Any) -> dict[str, Any]:
    return {"name": name, "id": id, "parent": parent, "hidden": hidden, **PLACED, **fields}


def write(scene: Scene, manner: Manner) -> bytes:
    lists = {"objects": scene.meshes, "cameras": scene.cameras, "lights": scene.lights, "materials": scene.materials}
    lists |= {"controllers": scene.controllers, "bones": scene.bones}
    out = b"UTO!" + bytes([0, 9]) + b"MAIN" + struct.pack("<4i", *scene.frames) + struct.pack("<f", scene.scale)
    for name, entries in lists.items():
        out += struct.pack("<i", scene.claims.get(name, len(entries)))
    with_cameras = scene.cameras or scene.targets
    sections = [
        (b"MESH", scene.meshes, b"".join(mesh_bytes(mesh, manner) for mesh in scene.meshes)),
        (b"CAMS", with_cameras, b"".join(camera_bytes(camera) for camera in scene.cameras)),
        (b"CTGT", with_cameras, b"".join(node_head(target) + node_tail(target) for target in scene.targets)),
        (b"LITE", scene.lights, b"".join(light_bytes(light, manner) for light in scene.lights)),
        (b"MATS", scene.materials, b"".join(name + b"\0" + struct.pack("<i", id) for name, id in scene.materials)),
        (b"BONE", True, b"".join(node_head(bone) + node_tail(bone) for bone in scene.bones)),
        (b"CTRL", scene.controllers, b"".join(controller_bytes(controller) for controller in scene.controllers)),
    ]
    for tag, wanted, content in sections:
        if wanted or not manner.omits_empty:
            out += tag + content
    return out


def node_head(data: dict[str, Any]) -> bytes:
    return data["name"] + b"\0" + struct.pack("<ii", data["id"], data["parent"])


def node_tail(data: dict[str, Any]) -> bytes:
    numbers = (*data["position"], *data["rotation"], *data["scale"], *data["pivot"])
    return struct.pack("<B", data["hidden"]) + struct.pack("<13f", *numbers)


def camera_bytes(camera: dict[str, Any]) -> bytes:
    out = node_head(camera) + struct.pack("<i", camera["target"]) + node_tail(camera)
    return out + struct.pack("<fff", camera["fov"], camera["near"], camera["far"])


def light_bytes(light: dict[str, Any], manner: Manner) -> bytes:
    out = node_head(light)
    if manner.lights != "a":
        out += struct.pack("<i", light["target"])
    out += node_tail(light)
    out += struct.pack("<I" if manner.lights == "b" else "<B", light["type"])
    out += struct.pack("<3f", *light["colour"]) + struct.pack("<ff", *light["attenuation"])
    out += struct.pack("<B", light["attenuated"]) + struct.pack("<f", light["multiplier"])
    if manner.lights != "a":
        if light["type"] in (1, 2):
            out += struct.pack("<3f", *light["aim"])
        if light["type"] == 2:
            out += struct.pack("<ff", *light["cone"])
    return out


def rows(code: str, table: list[Any]) -> bytes:
    return b"".join(struct.pack(f"<{len(row)}{code}", *row) for row in table)


def mesh_bytes(mesh: dict[str, Any], manner: Manner) -> bytes:
    vertices, faces = mesh["vertices"], mesh["faces"]
    uvs, colours = mesh.get("uvs", []), mesh.get("colours", [])
    flags = mesh.get("flags", 0)
    out = node_head(mesh) + node_tail(mesh)
    out += struct.pack("<5i", flags, len(vertices), len(faces), len(uvs), len(colours))
    if flags & 4:
        out += bytes([mesh["skin"]])
        if mesh["skin"] == 0:
            out += b"".join(struct.pack("<i", bone) for bone in mesh["bones"])
        else:
            out += b"".join(struct.pack("<i", len(bones)) for bones in mesh["weights"])
            out += b"".join(struct.pack("<i", bone) for bones in mesh["weights"] for bone, _ in bones)
            out += b"".join(struct.pack("<f", weight) for bones in mesh["weights"] for _, weight in bones)
    out += rows("f", vertices) + rows("f", uvs) + rows("f", colours) + rows("i", faces)
    if uvs:
        out += rows("i", mesh["uv_faces"])
    elif manner.uv_faces:
        out += struct.pack("<3i", -1, -1, -1) * len(faces)
    if colours:
        out += rows("i", mesh["colour_faces"])
    out += bytes(mesh["edges"]) + b"".join(struct.pack("<i", material) for material in mesh["materials"])
    if flags & 1:
        out += struct.pack("<4f", *mesh["sphere"])
    return out


def controller_bytes(controller: dict[str, Any]) -> bytes:
    kind = controller["type"]
    if kind == 5:
        return bytes([5]) + struct.pack("<i", 255)
    out = bytes([kind]) + struct.pack("<ii", controller["id"], controller["owner"])
    if controller.get("sampled"):
        return out
    keys = controller.get("keys", [])
    out += struct.pack("<i", controller.get("count", len(keys))) + bytes([controller["scheme"]])
    for time, value, *shape in keys:
        out += struct.pack("<i", time) + struct.pack(f"<{len(value)}f", *value)
        if controller["scheme"] == 1:
            flags, extras = shape
            out += bytes([flags]) + struct.pack(f"<{len(extras)}f", *extras)
    return out


# What the tests and the samples are made of.

WIDTHS = (3, 4, 7, 1, 1)
"""floats in a key of each controller type"""

SQUARE = {
    "vertices": [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0)],
    "faces": [(0, 1, 2), (0, 2, 3)],
    "edges": [3, 6],
    "materials": [7, 8],
}
UVS = {"uvs": [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)], "uv_faces": [(0, 1, 2), (0, 2, 1)]}
COLOURS = {"colours": [(1.0, 0.5, 0.25)], "colour_faces": [(0, 0, 0), (0, 0, 0)]}
SIMPLE = {"flags": 4, "skin": 0, "bones": [50, 50, 51, 51]}
WEIGHTED = {"flags": 4, "skin": 1, "weights": [[(50, 1.0)], [], [(50, 0.5), (51, 0.5)], [(51, 1.0)]]}
SPHERE = {"flags": 1, "sphere": (0.5, 0.5, 0.0, 0.75)}


def mesh(name: bytes, id: int, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    data = {**node(name, id), **SQUARE}
    flags = 0
    for part in parts:
        flags |= part.get("flags", 0)
        data |= part
    return {**data, "flags": flags, **fields}


def camera(name: bytes, id: int, target: int = -1) -> dict[str, Any]:
    return node(name, id, target=target, fov=45.0, near=1.0, far=900.0)


def light(name: bytes, id: int, type: int = 0) -> dict[str, Any]:
    fields = {"colour": (1.0, 0.75, 0.5), "attenuation": (10.0, 20.0), "attenuated": 1, "multiplier": 1.5}
    return node(name, id, target=-1, type=type, aim=(4.0, 5.0, 6.0), cone=(22.5, 40.0), **fields)


def tcb(type: int, id: int, owner: int, shapes: tuple[int, ...] = (0,), first: int = 0) -> dict[str, Any]:
    """A TCB controller with one key for each combination of flags."""
    keys = []
    for index, flags in enumerate(shapes):
        value = [index + 0.25 * part for part in range(WIDTHS[type])]
        extras = [0.1 * (bit + 1) for bit in range(5) if flags >> bit & 1]
        keys.append((first + 160 * index, value, flags, extras))
    return {"type": type, "id": id, "owner": owner, "scheme": 1, "keys": keys}


def linear(type: int, id: int, owner: int, count: int = 2) -> dict[str, Any]:
    keys = [(160 * index, [index + 0.5 * part for part in range(WIDTHS[type])]) for index in range(count)]
    return {"type": type, "id": id, "owner": owner, "scheme": 0, "keys": keys}


def bezier(type: int, id: int, owner: int, count: int = 3) -> dict[str, Any]:
    return {"type": type, "id": id, "owner": owner, "scheme": 2, "count": count}


def sampled(type: int, id: int, owner: int) -> dict[str, Any]:
    return {"type": type, "id": id, "owner": owner, "sampled": True}


NOTHING = {"type": 5}


def small_scene() -> Scene:
    """One of every record that all writers can write."""
    return Scene(
        meshes=[mesh(b"Square", 10, SPHERE), mesh(b"Mapped", 11, UVS, COLOURS)],
        cameras=[camera(b"Camera01", 20, 21)],
        targets=[node(b"Camera01.Target", 21)],
        lights=[light(b"Omni01", 30), light(b"Fspot01", 31, 2)],
        materials=[(b"Steel", 7), (b"Gl\xe4ser", 8)],
        bones=[node(b"Bip01", 50), node(b"Bip01 Arm", 51, 50)],
        controllers=[tcb(0, 0, 10, (0, 31, 5)), tcb(1, 1, 10), tcb(3, 2, 20)],
    )


def flexporter_scene() -> Scene:
    """Records that only the Flexporter writes: targets of lights, other controllers."""
    scene = small_scene()
    scene.meshes[0] = mesh(b"Square", 10, SIMPLE, SPHERE)
    scene.targets.append(node(b"Fspot01.Target", 32))
    scene.lights = [light(b"Omni01", 30), light(b"Fspot01", 31, 1), light(b"Fdirect01", 33, 4)]
    scene.controllers = [tcb(0, 1, 10, (0, 3)), linear(2, 2, 10), NOTHING, bezier(1, 3, 10), linear(3, 4, 20)]
    return scene


def maxscript_scene() -> Scene:
    """Records that only the MAXScript exporter writes: a weighted skin, and more materials announced than written."""
    scene = small_scene()
    scene.meshes[0] = mesh(b"Square", 10, WEIGHTED)
    scene.claims = {"materials": 24}
    return scene


def sampled_scene() -> Scene:
    """A controller that is not in keyframe mode between two that are."""
    scene = Scene(meshes=[mesh(b"Square", 10)], materials=[(b"Steel", 7)])
    scene.controllers = [tcb(0, 1, 10, (0, 0)), sampled(1, 2, 10), tcb(2, 3, 10), NOTHING]
    return scene


def samples() -> dict[str, bytes]:
    """The files in ``tests/samples/uto3d``."""
    return {
        "flexporter.u3d": write(flexporter_scene(), A),
        "maxscript.u3d": write(maxscript_scene(), B),
        "literal.u3d": write(small_scene(), LITERAL),
        "sampled.u3d": write(sampled_scene(), A),
        "empty.u3d": write(Scene(), A),
    }
