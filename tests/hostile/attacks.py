"""Small files, each under 64 KiB, that try to make an operation expensive, with images and archives.

An attack is a dictionary of files by name; the first one is given to the command.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tests.building import files as w
from tests.building import images
from tests.building.gltf import glb
from tests.stage import archives as stage

Files = dict[str, bytes]
Attack = Callable[[], Files]

ROOM = 60_000
"""bytes that an attack fills, of the 65,536 it may have"""


def _fill(head: int, one: bytes) -> int:
    return max(1, (ROOM - head) // len(one))


# 3D Studio

_BOX = w.chunk(
    0x3D3D,
    w.mesh(w.points(*w.TRIANGLE, (0, 0, 1)), w.faces((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))),
)


def _scene(*nodes: bytes, editor: bytes = _BOX, segment: tuple[int, int] | None = None) -> bytes:
    span = b"" if segment is None else w.chunk(0xB008, struct.pack("<II", *segment))
    return w.main(editor, w.chunk(0xB000, span, *nodes))


def _turns(*keys: tuple[int, float], flags: int = 0, eased: bool = False) -> bytes:
    extra: dict[str, Any] = {"flags": 0b1000, "extras": (1.0,)} if eased else {}
    return w.track(0xB021, *(w.key(frame, angle, 0, 0, 1, **extra) for frame, angle in keys), flags=flags)


def _places(*frames: int, flags: int = 0) -> bytes:
    return w.track(0xB020, *(w.key(frame, frame % 7, 2, 3) for frame in frames), flags=flags)


def one_huge_turn() -> Files:
    return {"a.3ds": _scene(w.node(b"Box", 0, -1, _turns((0, 0), (100, 1e10))))}


def one_huge_eased_turn() -> Files:
    return {"a.3ds": _scene(w.node(b"Box", 0, -1, _turns((0, 0), (100, 1e10), eased=True)))}


def many_huge_turns() -> Files:
    rows = [(frame, 1e6) for frame in range(ROOM // 22)]
    return {"a.3ds": _scene(w.node(b"Box", 0, -1, _turns(*rows)))}


def nodes_of_huge_turns() -> Files:
    one = w.node(b"Box", None, -1, _turns((0, 0), (100, 1e7), eased=True))
    return {"a.3ds": _scene(one * _fill(400, one))}


def _camera(roll: float, frames: int = 100) -> bytes:
    editor = w.chunk(0x3D3D, w.chunk(0x4000, b"Cam\0", w.chunk(0x4700, w.floats(0, -9, 0, 0, 0, 0, 0, 45))), _BOX[6:])
    rolls = w.track(0xB024, w.key(0, 0), w.key(frames, roll))
    node = w.node(b"Cam", 0, -1, _places(0, frames), rolls, kind=0xB003)
    return _scene(node, w.node(b"Cam", 1, -1, _places(0, frames // 2, frames), kind=0xB004), editor=editor)


def camera_with_a_huge_roll() -> Files:
    return {"a.3ds": _camera(1e9)}


def camera_with_a_roll_of_turns() -> Files:
    return {"a.3ds": _camera(1e5, 10_000_000)}


def loops_over_a_long_range() -> Files:
    """Each of hundreds of nodes repeats a short cycle until the last key of another node, at ten million frames."""
    one = w.node(b"Box", None, -1, _places(0, 1, 2, flags=2), _turns((0, 0), (1, 1), (2, 3), flags=3))
    return {"a.3ds": _scene(w.node(b"End", None, -1, _places(0, 10_000_000)), one * _fill(500, one))}


def lights_that_loop() -> Files:
    light = w.chunk(0x4000, b"Sun\0", w.chunk(0x4600, w.floats(1, 2, 3), w.chunk(0x4610, w.floats(0, 0, 0, 40, 50))))
    cones = [w.track(kind, w.key(0, 30), w.key(1, 40), w.key(2, 35), flags=3) for kind in (0xB027, 0xB028)]
    node = w.node(b"Sun", 0, -1, _places(0, 1, flags=2), *cones, kind=0xB007)
    end = w.node(b"End", 1, -1, _places(0, 10_000_000))
    return {"a.3ds": _scene(node, end, editor=w.chunk(0x3D3D, light))}


def keys_at_the_end_of_time() -> Files:
    node = w.node(b"Box", 0, -1, _places(0, 2**31 - 1), _turns((-(2**31), 0), (2**31 - 1, 1), flags=3))
    return {"a.3ds": _scene(node, segment=(0, 2**31 - 1))}


def a_long_segment() -> Files:
    node = w.node(b"Box", 0, -1, _places(0, 9_000_000), _turns((0, 0), (9, 1), flags=3))
    return {"a.3ds": _scene(node, segment=(0, 9_000_000))}


def many_nodes_in_a_long_segment() -> Files:
    one = w.node(b"Box", None, -1, _turns((0, 0), (9, 1), flags=3))
    return {"a.3ds": _scene(one * _fill(400, one), segment=(0, 9_000_000))}


def many_nodes_that_move() -> Files:
    one = w.node(b"Box", None, -1, _places(0, 300), _turns((0, 0), (500, 4), eased=True))
    return {"a.3ds": _scene(one * _fill(400, one), segment=(0, 1_000))}


def a_chain_that_turns() -> Files:
    """Errors add up along a chain: fits are refined repeatedly."""
    turns = _turns((0, 0), (30, 3), (60, -5), eased=True)
    size = len(w.node(b"B", 0, 0, turns))
    nodes = [w.node(b"B", at, at - 1, turns) for at in range((ROOM - 400) // size)]
    return {"a.3ds": _scene(*nodes)}


def a_chain_of_cameras() -> Files:
    cameras = [
        w.chunk(0x4000, b"%03d\0" % at, w.chunk(0x4700, w.floats(0, -9, 0, 0, 0, 0, 0, 45))) for at in range(130)
    ]
    nodes = []
    for at in range(130):
        nodes.append(w.node(b"%03d" % at, 2 * at, 2 * at - 1, _places(0, 50, 100), kind=0xB003))
        nodes.append(w.node(b"%03d" % at, 2 * at + 1, 2 * at - 2 if at else -1, _places(0, 30, 100), kind=0xB004))
    return {"a.3ds": _scene(*nodes, editor=w.chunk(0x3D3D, *cameras))}


def _grid(count: int) -> bytes:
    rows = b"".join(struct.pack("<3f", at % 40, at // 40, (at * 7) % 11) for at in range(count))
    corners = b"".join(struct.pack("<4H", at, at + 1, (at * 31) % count, 7) for at in range(count - 1))
    points, faces = struct.pack("<H", count) + rows, struct.pack("<H", count - 1) + corners
    return w.chunk(0x4000, b"Box\0", w.chunk(0x4100, w.chunk(0x4110, points), w.chunk(0x4120, faces)))


def instances_of_one_mesh() -> Files:
    editor = w.chunk(0x3D3D, _grid(1_500))
    one = w.node(b"Box", None, -1)
    return {"a.3ds": _scene(one * _fill(len(editor), one), editor=editor)}


def instances_that_move() -> Files:
    editor = w.chunk(0x3D3D, _grid(1_500))
    one = w.node(b"Box", None, -1, _places(0, 9, flags=2))
    return {"a.3ds": _scene(one * _fill(len(editor), one), editor=editor, segment=(0, 1_000))}


def a_morph_of_many_keys() -> Files:
    shapes = [w.mesh(w.points(*[(at, 0, 0)] * 30), name=b"%02d" % at) for at in range(60)]
    keys = [w.key(at) + b"%02d\0" % (at % 60) for at in range(3_000)]
    nodes = w.node(b"00", 0, -1, w.track(0xB026, *keys))
    return {"a.3ds": _scene(nodes, editor=w.chunk(0x3D3D, *shapes), segment=(0, 3_000))}


def morphs_of_many_nodes() -> Files:
    shapes = [w.mesh(w.points(*[(at, 0, 0)] * 100), name=b"%02d" % at) for at in range(20)]
    one = w.node(b"00", None, -1, w.track(0xB026, *(w.key(at) + b"%02d\0" % at for at in range(20))))
    size = sum(map(len, shapes))
    return {"a.3ds": _scene(one * _fill(size, one), editor=w.chunk(0x3D3D, *shapes), segment=(0, 1_000))}


def layers_of_glass() -> Files:
    """Thousands of translucent triangles that each cover the whole picture."""
    glass = w.material(b"g", w.chunk(0xA050, w.chunk(0x0030, struct.pack("<h", 50))))
    count = 1_400
    rows = [(x, at / count, z) for at in range(count) for x, z in ((-9.0, -9.0), (9.0, -9.0), (0.0, 9.0))]
    triples = [(3 * at, 3 * at + 1, 3 * at + 2) for at in range(count)]
    used = w.chunk(0x4130, b"g\0", struct.pack(f"<H{count}H", count, *range(count)))
    return {"a.3ds": w.editor(glass, w.mesh(w.points(*rows), w.faces(*triples, inside=used)))}


def layers_of_boards() -> Files:
    """Thousands of opaque triangles that each cover the whole picture, drawn from the back."""
    count = 1_400
    rows = [(x, y, at / count) for at in range(count) for x, y in ((-9.0, -9.0), (9.0, -9.0), (0.0, 9.0))]
    triples = [(3 * at, 3 * at + 1, 3 * at + 2) for at in range(count)]
    return {"a.3ds": w.editor(w.mesh(w.points(*rows), w.faces(*triples)))}


def many_lights() -> Files:
    one = w.chunk(0x4000, b"Sun\0", w.chunk(0x4600, w.floats(1, 2, 3)))
    return {"a.3ds": w.main(w.chunk(0x3D3D, _grid(1_000), one * _fill(21_000, one)))}


def faces_of_many_materials() -> Files:
    materials = [w.material(b"%03d" % at, w.texture(b"%03d.png" % at)) for at in range(400)]
    groups = b"".join(w.chunk(0x4130, b"%03d\0" % at, struct.pack("<HH", 1, at)) for at in range(400))
    corners = [(at % 3, (at + 1) % 3, (at + 2) % 3) for at in range(400)]
    return {"a.3ds": w.editor(*materials, w.mesh(w.points(*w.TRIANGLE), w.faces(*corners, inside=groups)))}


# images beside a 3D Studio file


def _textured(*names: bytes, slot: int = 0xA200) -> bytes:
    materials = [w.material(b"m%d" % at, w.chunk(slot, w.chunk(0xA300, name + b"\0"))) for at, name in enumerate(names)]
    uv = w.chunk(0x4140, struct.pack("<H6f", 3, 0, 0, 1, 0, 0, 1))
    groups = b"".join(w.chunk(0x4130, b"m%d\0" % at, struct.pack("<HH", 1, at)) for at in range(len(names)))
    mesh = w.mesh(w.points(*w.TRIANGLE), w.faces(*[(0, 1, 2)] * len(names), inside=groups), uv)
    return w.editor(*materials, mesh)


def png(width: int, height: int, bits: int = 8, kind: int = 0) -> bytes:
    """Return a PNG of one colour, which has compressed to about a thousandth of its pixels."""
    channels = {0: 1, 2: 3, 6: 4}[kind]
    row = bytes(1 + (width * channels * bits + 7) // 8)
    packer = zlib.compressobj(9)
    body = b"".join([*(packer.compress(row) for _ in range(height)), packer.flush()])
    return images.png(width, height, body, bits=bits, kind=kind)


def pngs_of_8192() -> Files:
    names = [b"%d.png" % at for at in range(4)]
    picture = png(8192, 8192, bits=1)
    return {"a.3ds": _textured(*names), **{name.decode(): picture for name in names}}


def pngs_of_4096_in_colour() -> Files:
    names = [b"%d.png" % at for at in range(4)]
    picture = png(4096, 2048, kind=6)
    return {"a.3ds": _textured(*names), **{name.decode(): picture for name in names}}


def a_png_of_16_bits() -> Files:
    return {"a.3ds": _textured(b"a.png"), "a.png": png(7_000, 4_000, bits=16)}


def bump_maps() -> Files:
    """Normal maps are computed from heights."""
    names = [b"%d.png" % at for at in range(8)]
    picture = png(2048, 2048, bits=1)
    return {"a.3ds": _textured(*names, slot=0xA230), **{name.decode(): picture for name in names}}


def _spellings(count: int, extension: str) -> list[bytes]:
    """Return names of one file in upper and lower case."""
    words = ("".join("aA"[at >> bit & 1] for bit in range(12)) for at in range(count))
    return [f"{word}.{extension}".encode() for word in words]


def a_jpeg_of_many_names() -> Files:
    """A progressive JPEG is slow to decode; here every spelling of its name is another name."""
    from PIL import Image

    picture = Image.effect_noise((256, 256), 20.0).resize((2048, 2048))
    data = images.encoded(picture, "JPEG", progressive=True, quality=5)
    return {"a.3ds": _textured(*_spellings(100, "jpg")), "aaaaaaaaaaaa.jpg": data}


def bump_maps_of_one_image() -> Files:
    return {"a.3ds": _textured(*_spellings(100, "png"), slot=0xA230), "aaaaaaaaaaaa.png": png(1024, 1024)}


def an_icon_of_many_names() -> Files:
    """An icon contains a PNG of any size, whatever the icon says; Pillow decodes it when the icon is opened."""
    picture = png(4096, 4096, bits=1)
    head = struct.pack("<HHH", 0, 1, 1) + struct.pack("<BBBBHHII", 0, 0, 0, 0, 1, 32, len(picture), 22)
    return {"a.3ds": _textured(*_spellings(100, "ico")), "aaaaaaaaaaaa.ico": head + picture}


def images_that_must_be_made_anew() -> Files:
    """glTF does not support GIF: every image is decoded and compressed again."""
    names = [b"%d.gif" % at for at in range(6)]
    return {"a.3ds": _textured(*names), **{name.decode(): gif(3000, 3000) for name in names}}


def gif(width: int, height: int) -> bytes:
    return images.picture("GIF", 0, (width, height), "P")


def images_that_claim_much() -> Files:
    """Headers of 65,535 x 65,535 pixels without pixel data."""
    tga = struct.pack("<BBBHHBHHHHBB", 0, 0, 2, 0, 0, 0, 0, 0, 8192, 8192, 32, 8)
    bmp = b"BM" + struct.pack("<IHHI IiiHHIIiiII", 60, 0, 0, 54, 40, 8192, 8192, 1, 24, 0, 0, 0, 0, 0, 0)
    gif_head = b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0) + b",\0\0\0\0\xff\xff\xff\xff\0\x02\0;"
    pcx = b"\x0a\x05\x01\x08" + struct.pack("<4H", 0, 0, 8191, 8191) + bytes(116)
    psd = b"8BPS\0\x01" + bytes(6) + struct.pack(">HIIHH", 3, 8192, 8192, 8, 3) + bytes(14)
    files = {"a.tga": tga, "a.bmp": bmp, "a.gif": gif_head, "a.pcx": pcx, "a.psd": psd}
    return {"a.3ds": _textured(*(name.encode() for name in files)), **files}


# Hale3D, U3D, Midtown, node animation


def joints_that_share_components() -> Files:
    joints = [w.joint(b"\0", -1, 63, 0)] * (ROOM // 2 // 41)
    frames = ROOM // 2 // 48
    head = w.h3da(joints, frame_count=frames, components=6)
    rows = b"".join(struct.pack("<12f", *w.BOX, at % 7, at % 5, 0, 0.1 * (at % 3), 0, 0.2) for at in range(frames))
    return {"a.anim": head + rows}


def joints_in_a_chain() -> Files:
    joints = [w.joint(b"j\0", number - 1, 63, 0) for number in range(700)]
    frames = ROOM // 2 // 48
    head = w.h3da(joints, frame_count=frames, components=6)
    rows = b"".join(struct.pack("<12f", *w.BOX, at % 7, at % 5, 0, 0.1 * (at % 3), 0, 0.2) for at in range(frames))
    return {"a.anim": head + rows}


def vertices_that_share_weights() -> Files:
    weights, vertices = ROOM // 2 // 20, ROOM // 2 // 16
    head = struct.pack("<III", vertices, weights, 0) + b"\0"
    rows = struct.pack("<ffII", 0, 0, 0, weights) * vertices + struct.pack("<fi3f", 1, 0, 0, 0, 0) * weights
    return {"a.mdl": w.h3dm([head + rows], [w.model_joint()])}


def a_model_and_its_long_animation() -> Files:
    count = 1_000
    mesh = w.model_mesh(vertices=[(at, 1) for at in range(count)], weights=[0] * count, triangles=[(0, 1, 2)] * 500)
    frames = 900
    rows = b"".join(struct.pack("<12f", *w.BOX, at % 7, 0, 0, 0, 0, 0.2) for at in range(frames))
    animation = w.h3da([w.joint(b"hip\0", -1, 63, 0)], frame_count=frames, components=6) + rows
    return {"a.anim": animation, "a.mdl": w.h3dm([mesh], [w.model_joint()])}


def a_slow_animation() -> Files:
    frames = [[*w.BOX, at, 0, 0] for at in range(1_200)]
    return {"a.anim": w.h3da([w.joint(b"hip\0", -1, 7, 0)], frames, rate=2**32 - 1)}


def u3d_to_the_end_of_time() -> Files:
    keys = [w.u3d_key(time, 1, 2, time % 3) for time in (0, 2**30, 2**31 - 1)]
    turns = [w.u3d_key(time, 0, 0, 1, angle) for time, angle in ((0, 0.0), (2**30, 1e9), (2**31 - 1, -1e30))]
    return {
        "a.u3d": w.u3d(
            objects=[w.u3d_mesh()],
            controllers=[w.controller(1, 0, 0, keys), w.controller(1, 1, 0, turns)],
            last=2**31 - 1,
            delta=1,
        )
    }


def u3d_turns() -> Files:
    keys = [w.u3d_key(160 * at, 0, 0, 1, 0.1 * at, flags=0) for at in range(100)]
    one = w.controller(1, 1, 1, keys)
    bones = [w.u3d_base(b"b", number + 1, number or -1) for number in range(20)]
    many = b"".join(w.controller(number + 1, 1, 1, keys) for number in range(ROOM // len(one) - 1))
    return {"a.u3d": w.u3d(bones=bones, controllers=[many], counts=(0, 0, 0, 0, ROOM // len(one) - 1, 20))}


def midtown_frames() -> Files:
    frames = 4_900
    return {"a.anim": w.retail(frames, 3, rows=w.floats(*(at % 5 for at in range(3 * frames))))}


def midtown_bones() -> Files:
    width = 1_500
    return {"a.anim": w.retail(10, width, rows=w.floats(*(0.1 * (at % 7) for at in range(10 * width))))}


def node_turns_without_end() -> Files:
    keys = [w.nanim_key(time, 0, 0, 1, angle) for time, angle in ((0.0, 0.0), (1e30, 1e12), (3e38, -3e38))]
    return {"a.nanim": w.nanim(w.nanim_node(b"hip", 4, (), keys))}


def node_turns() -> Files:
    keys = [w.nanim_key(10.0 * at, 0, 0, 1, 1e5) for at in range(ROOM // 24)]
    return {"a.nanim": w.nanim(w.nanim_node(b"hip", 4, (), keys))}


def nodes_of_a_long_animation() -> Files:
    one = w.nanim_node(
        b"hip",
        4,
        [w.nanim_key(0, 1, 2, 3), w.nanim_key(9e6, 4, 2, 3)],
        [w.nanim_key(0, 0, 0, 1, 3), w.nanim_key(9, 0, 0, 1, 5)],
    )
    return {"a.nanim": w.nanim(*[one] * (ROOM // len(one)))}


# glTF


def gltf(content: dict[str, Any], binary: bytes = b"") -> bytes:
    """Return a ``.glb``."""
    content = {"asset": {"version": "2.0"}, **content}
    if binary:
        content["buffers"] = [{"byteLength": len(binary)}]
    return glb(json.dumps(content, separators=(",", ":")).encode(), binary)


def _scene_of(nodes: list[dict[str, Any]], **rest: Any) -> dict[str, Any]:
    return {"scene": 0, "scenes": [{"nodes": list(range(len(nodes)))}], "nodes": nodes, **rest}


def _zeros(count: int, kind: str = "VEC3", component: int = 5126) -> dict[str, Any]:
    return {"componentType": component, "count": count, "type": kind, "min": [0, 0, 0], "max": [0, 0, 0]}


def zeros_without_a_view() -> Files:
    mesh = {"primitives": [{"attributes": {"POSITION": 0}}]}
    return {"a.glb": gltf(_scene_of([{"mesh": 0}], meshes=[mesh], accessors=[_zeros(1_000_000_000)]))}


def as_many_zeros_as_pass() -> Files:
    mesh = {"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 0}}]}
    return {"a.glb": gltf(_scene_of([{"mesh": 0}], meshes=[mesh], accessors=[_zeros(320_000)]))}


def instances_of_zeros() -> Files:
    nodes: list[dict[str, Any]] = [{"mesh": 0, "translation": [at, 0, 0]} for at in range(1_200)]
    mesh = {"primitives": [{"attributes": {"POSITION": 0}}]}
    return {"a.glb": gltf(_scene_of(nodes, meshes=[mesh], accessors=[_zeros(300_000)]))}


def primitives_of_the_same_zeros() -> Files:
    meshes = [{"primitives": [{"attributes": {"POSITION": 0}}] * 1_000}]
    return {"a.glb": gltf(_scene_of([{"mesh": 0}], meshes=meshes, accessors=[_zeros(60_000)]))}


def targets_of_the_same_zeros() -> Files:
    primitive = {"attributes": {"POSITION": 0}, "targets": [{"POSITION": 0}] * 1_500}
    return {"a.glb": gltf(_scene_of([{"mesh": 0}], meshes=[{"primitives": [primitive]}], accessors=[_zeros(30_000)]))}


def sparse_zeros() -> Files:
    accessor = _zeros(400_000)
    accessor["sparse"] = {
        "count": 2,
        "indices": {"bufferView": 0, "componentType": 5125},
        "values": {"bufferView": 1},
    }
    views = [{"buffer": 0, "byteLength": 8}, {"buffer": 0, "byteOffset": 8, "byteLength": 24}]
    binary = struct.pack("<II6f", 1, 399_999, 1, 2, 3, 4, 5, 6)
    mesh = {"primitives": [{"attributes": {"POSITION": at}} for at in range(4)]}
    content = _scene_of([{"mesh": 0}], meshes=[mesh], accessors=[accessor] * 4, bufferViews=views)
    return {"a.glb": gltf(content, binary)}


def _shared_keys(nodes: int, step: float, animations: int = 1) -> Files:
    """Nodes and animations that rotate by the same thousand keys."""
    keys = 1_000
    times = struct.pack(f"<{keys}f", *(step * at for at in range(keys)))
    values = b"".join(struct.pack("<4f", 0, 0, (at % 2) * 0.6, 0.8) for at in range(keys))
    views = [
        {"buffer": 0, "byteLength": len(times)},
        {"buffer": 0, "byteOffset": len(times), "byteLength": len(values)},
    ]
    accessors = [
        {"bufferView": 0, "componentType": 5126, "count": keys, "type": "SCALAR", "min": [0], "max": [keys * step]},
        {"bufferView": 1, "componentType": 5126, "count": keys, "type": "VEC4"},
    ]
    channels = [{"sampler": 0, "target": {"node": at, "path": "rotation"}} for at in range(nodes)]
    animation = {"samplers": [{"input": 0, "output": 1}], "channels": channels}
    content = _scene_of([{}] * nodes, accessors=accessors, bufferViews=views, animations=[animation] * animations)
    return {"a.glb": gltf(content, times + values)}


def channels_that_share_a_sampler() -> Files:
    """Hundreds of nodes rotate by the same thousand keys."""
    return _shared_keys(480, 0.1)


def animations_that_share_a_sampler() -> Files:
    """Hundreds of clips use the same thousand keys."""
    return _shared_keys(1, 1e5, animations=350)


def a_camera_that_turns_for_days() -> Files:
    """A camera without a target, whose rotation has two keys 92 hours apart."""
    end = 333_000.0
    content = _scene_of(
        [{"camera": 0}],
        cameras=[{"type": "perspective", "perspective": {"yfov": 1, "znear": 1}}],
        bufferViews=[{"buffer": 0, "byteLength": 8}, {"buffer": 0, "byteOffset": 8, "byteLength": 32}],
        accessors=[
            {"bufferView": 0, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [end]},
            {"bufferView": 1, "componentType": 5126, "count": 2, "type": "VEC4"},
        ],
        animations=[
            {
                "samplers": [{"input": 0, "output": 1}],
                "channels": [{"sampler": 0, "target": {"node": 0, "path": "rotation"}}],
            }
        ],
    )
    return {"a.glb": gltf(content, struct.pack("<10f", 0, end, 0, 0, 0, 1, 0, 0, 1, 0))}


def a_skin_of_zeros() -> Files:
    accessors = [_zeros(60_000), _zeros(60_000, "VEC4", 5121), _zeros(60_000, "VEC4")]
    mesh = {"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}}]}
    nodes: list[dict[str, Any]] = [{"mesh": 0, "skin": 0} for _ in range(800)]
    content = _scene_of(nodes, meshes=[mesh], accessors=accessors, skins=[{"joints": [0]}])
    return {"a.glb": gltf(content)}


def images_inside() -> Files:
    picture = png(8192, 8192, bits=1)
    uri = "data:image/png;base64," + base64.b64encode(picture).decode()
    images = [{"uri": uri}] * 4
    materials = [
        {"pbrMetallicRoughness": {"baseColorTexture": {"index": at}}, "normalTexture": {"index": at}} for at in range(4)
    ]
    accessors = [
        {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
        {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC2"},
    ]
    meshes = [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "material": at} for at in range(4)]}]
    content = _scene_of(
        [{"mesh": 0}],
        meshes=meshes,
        materials=materials,
        images=images,
        textures=[{"source": at} for at in range(4)],
        accessors=accessors,
        bufferViews=[{"buffer": 0, "byteLength": 36}],
    )
    return {"a.glb": gltf(content, struct.pack("<9f", *(part for row in w.TRIANGLE for part in row)))}


def json_in_json() -> Files:
    deep = 25_000
    return {"a.gltf": b'{"asset":{"version":"2.0"},"extras":' + b"[" * deep + b"]" * deep + b"}"}


def many_small_things() -> Files:
    nodes: list[dict[str, Any]] = [{"children": [at + 1]} for at in range(2_500)] + [{}]
    return {"a.glb": gltf({"scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes})}


# ASCII scenes


def _ase(*objects: str, last: int = 100) -> Files:
    head = f"*3DSMAX_ASCIIEXPORT 200\n*SCENE {{\n*SCENE_FIRSTFRAME 0\n*SCENE_LASTFRAME {last}\n"
    text = head + "*SCENE_FRAMESPEED 30\n*SCENE_TICKSPERFRAME 160\n}\n" + "".join(objects)
    return {"a.ase": text.encode("ascii")}


def _helper(name: str, *tracks: str, parent: str = "") -> str:
    above = f'*NODE_PARENT "{parent}"\n' if parent else ""
    animation = f'*TM_ANIMATION {{\n*NODE_NAME "{name}"\n{"".join(tracks)}}}\n'
    return f'*HELPEROBJECT {{\n*NODE_NAME "{name}"\n{above}{animation}}}\n'


def ase_turns() -> Files:
    """Thousands of rotations of every size, each added to the one before."""
    keys = "".join(f"*CONTROL_ROT_SAMPLE {160 * at} 0 0 1 {10.0 ** (at % 9)}\n" for at in range(1_600))
    return _ase(_helper("a", f"*CONTROL_ROT_TRACK {{\n{keys}}}\n"), last=1_600)


def ase_to_the_end_of_time() -> Files:
    """Many helpers that move until the last possible tick."""
    keys = "*CONTROL_POS_SAMPLE 0 0 0 0\n*CONTROL_POS_SAMPLE 2147483647 1 2 3\n"
    one = _helper("a1000", f"*CONTROL_POS_TRACK {{\n{keys}}}\n")
    many = range(1_000, 1_000 + _fill(200, one.encode()))
    return _ase(*(one.replace("a1000", f"a{at}") for at in many), last=13_421_772)


def ase_chain() -> Files:
    """Helpers below each other, all of which rotate by a bezier curve."""
    key = "*CONTROL_TCB_ROT_KEY %d 0 0 1 9 0 0 0 0 0\n"
    track = f"*CONTROL_ROT_TCB {{\n{key % 0}{key % 9_600}}}\n"
    count = _fill(200, _helper("a1000", track, parent="a1000").encode())
    return _ase(*(_helper(f"a{1_000 + at}", track, parent=f"a{999 + at}" if at else "") for at in range(count)))


# shows and fixtures


def _symbol(number: int, *inside: str) -> str:
    return f'<Symdef name="s{number}" uuid="s{number}"><ChildList>{"".join(inside)}</ChildList></Symdef>'


def _use(number: int) -> str:
    return f'<Symbol uuid="x" symdef="s{number}"/>'


def _show_of_symbols(symbols: str) -> Files:
    return {"a.mvr": stage.show(stage.scene_object(_use(0)), shared=symbols)}


def symbols_of_symbols() -> Files:
    """Each symbol contains two of the next: forty of them make 10^12 nodes."""
    return _show_of_symbols("".join(_symbol(at, _use(at + 1), _use(at + 1)) for at in range(40)) + _symbol(40))


def a_chain_of_symbols() -> Files:
    return _show_of_symbols("".join(_symbol(at, _use(at + 1)) for at in range(7_000)) + _symbol(7_000))


def a_symbol_with_a_long_name() -> Files:
    """Thousands of nodes, each with its own long name."""
    symbol = _symbol(1).replace('name="s1"', f'name="{"n" * 400_000}"')
    return _show_of_symbols(_symbol(0, _use(1) * 10_000) + symbol)


def elements_with_long_paths() -> Files:
    """Thousands of nested elements with long tags."""
    tag = "T" * 1_500
    return {"a.mvr": stage.show(f"<{tag}>" * 200 + "<a/>" * 50_000 + f"</{tag}>" * 200)}


def a_chain_of_references() -> Files:
    names = ["Base", *(f"g{at}" for at in range(8_000))]
    chain = "".join(
        f'<Geometry Name="{one}"><GeometryReference Geometry="{other}"/></Geometry>' for one, other in pairwise(names)
    )
    return {"a.gdtf": stage.fixture("", chain)}


def nodes_of_three_bytes() -> Files:
    return {"a.gltf": b'{"asset":{"version":"2.0"},"nodes":[' + b"{}," * 21_000 + b"{}]}"}


def nodes_as_many_as_pass() -> Files:
    return {"a.gltf": b'{"asset":{"version":"2.0"},"nodes":[' + b"{}," * 2_999 + b"{}]}"}


def objects_of_a_show() -> Files:
    """Objects of few bytes, which compress well."""
    return {"a.mvr": stage.show('<SceneObject name="a"/>' * 20_000)}


# archives


def _zip(members: dict[str, bytes], most: int = 9) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=most) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def a_member_of_zeros() -> Files:
    return {"a.zip": _zip({"a.3ds": w.main(w.chunk(0x3D3D, bytes(50_000_000)))})}


def a_member_of_chunks() -> Files:
    return {"a.zip": _zip({"a.3ds": w.editor(w.chunk(0x7777) * 2_500_000)})}


def a_member_of_nodes() -> Files:
    node = w.node(b"Box", None, -1, _places(0, 100), _turns((0, 0), (9, 1), flags=3))
    return {"a.zip": _zip({"a.3ds": _scene(node * 60_000)})}


def a_member_of_keys() -> Files:
    keys = w.track(0xB021, w.key(0, 1, 0, 0, 1) * 500_000, count=500_000)
    return {"a.zip": _zip({"a.3ds": _scene(w.node(b"Box", 0, -1, keys))})}


def a_member_of_text() -> Files:
    return {"a.zip": _zip({"a.gltf": b'{"asset":{"version":"2.0"},"nodes":[' + b"{}," * 9_000_000 + b"{}]}"})}


def many_members() -> Files:
    return {"a.zip": _zip({f"{at}.3ds": w.main(w.chunk(0x3D3D, bytes(2_000_000))) for at in range(28)})}


ATTACKS: dict[str, Attack] = {
    made.__name__: made
    for made in (
        *(one_huge_turn, one_huge_eased_turn, many_huge_turns, nodes_of_huge_turns, camera_with_a_huge_roll),
        *(camera_with_a_roll_of_turns, loops_over_a_long_range, lights_that_loop, keys_at_the_end_of_time),
        *(a_long_segment, many_nodes_in_a_long_segment, many_nodes_that_move, a_chain_that_turns, a_chain_of_cameras),
        *(instances_of_one_mesh, instances_that_move, a_morph_of_many_keys, morphs_of_many_nodes, layers_of_glass),
        *(layers_of_boards, many_lights, faces_of_many_materials),
        *(pngs_of_8192, pngs_of_4096_in_colour, a_png_of_16_bits, bump_maps, images_that_must_be_made_anew),
        *(images_that_claim_much, a_jpeg_of_many_names, bump_maps_of_one_image, an_icon_of_many_names),
        *(joints_that_share_components, joints_in_a_chain, vertices_that_share_weights),
        *(a_model_and_its_long_animation, a_slow_animation, u3d_to_the_end_of_time, u3d_turns),
        *(midtown_frames, midtown_bones, node_turns_without_end, node_turns, nodes_of_a_long_animation),
        *(zeros_without_a_view, as_many_zeros_as_pass, instances_of_zeros, primitives_of_the_same_zeros),
        *(targets_of_the_same_zeros, sparse_zeros, channels_that_share_a_sampler, animations_that_share_a_sampler),
        *(a_camera_that_turns_for_days, a_skin_of_zeros, images_inside, json_in_json, many_small_things),
        *(ase_turns, ase_to_the_end_of_time, ase_chain),
        *(symbols_of_symbols, a_chain_of_symbols, a_symbol_with_a_long_name, elements_with_long_paths),
        *(a_chain_of_references, nodes_of_three_bytes, nodes_as_many_as_pass, objects_of_a_show),
        *(a_member_of_zeros, a_member_of_chunks, a_member_of_nodes, a_member_of_keys, a_member_of_text, many_members),
    )
}
