"""Hostile files of any size: each function returns a file of about ``size`` bytes whose cost may grow faster than
that."""

from __future__ import annotations

import struct
from collections.abc import Callable

from tests.building import files as w

Shape = Callable[[int], bytes]


def _times(size: int, row: bytes) -> int:
    return max(1, size // len(row))


def _many(size: int, make: Callable[[int], bytes]) -> list[bytes]:
    """Return records made from their number until the size is reached."""
    records: list[bytes] = []
    total = 0
    while total < size:
        records.append(make(len(records)))
        total += len(records[-1])
    return records


def unknown_chunks(size: int) -> bytes:
    return w.editor(w.chunk(0x7777) * (size // 6))


def empty_known_chunks(size: int) -> bytes:
    return w.editor(w.chunk(0x1101) * (size // 6))


def nested_unknown_chunks(size: int) -> bytes:
    levels = size // 6
    return w.editor(b"".join(struct.pack("<HI", 0x7777, 6 * (levels - level)) for level in range(levels)))


def objects_of_one_name(size: int) -> bytes:
    one = w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 2)))
    return w.editor(one * _times(size, one))


def nodes_that_share_a_mesh(size: int) -> bytes:
    """Each node needs its own copy of the vertices if the keyframer moves it elsewhere. The mesh is the same share of
    files of all sizes; at 16 MiB it has nearly as many vertices as a mesh can have."""
    count = size // 260
    vertices = struct.pack("<H", count) + struct.pack("<3f", 1, 2, 3) * (count - 1) + struct.pack("<3f", 4, 5, 6)
    matrix = w.chunk(0x4160, w.floats(2, 0, 0, 0, 3, 0, 0, 0, 4, 1, 2, 3))
    big = w.chunk(0x4000, b"Box\0", w.chunk(0x4100, w.chunk(0x4110, vertices), matrix))
    moved = w.node(b"Box", None, -1, w.track(0xB020, w.key(0, 50, 60, 70)))
    nodes = moved * max(1, (size - len(big)) // len(moved))
    return w.main(w.chunk(0x3D3D, big), w.chunk(0xB000, nodes))


def nodes_of_one_id(size: int) -> bytes:
    one = w.node(b"Box", 7, 7)
    return w.keyframer(one * _times(size, one))


def morph_shapes(size: int) -> bytes:
    """Keys x shapes: every key refers to another mesh."""
    count = size // 60
    meshes = b"".join(w.mesh(w.points((0, 0, 0)), name=b"%07d" % number) for number in range(count))
    keys = [w.key(number) + b"%07d\0" % number for number in range(count)]
    nodes = w.node(b"0000000", 0, -1, w.track(0xB026, *keys))
    return w.main(w.chunk(0x3D3D, meshes), w.chunk(0xB000, nodes))


def keys_of_mixed_shape(size: int) -> bytes:
    pair = w.key(0, 1, 2, 3) + w.key(1, 1, 2, 3, flags=3, extras=(0.5, 0.5))
    count = _times(size, pair)
    return w.keyframer(w.node(b"Box", 0, -1, w.track(0xB020, pair * count, count=2 * count)))


def tracks_of_one_key(size: int) -> bytes:
    one = w.node(b"Box", None, -1, *(w.track(kind, w.key(0, 1, 2, 3)) for kind in (0xB020, 0xB022)))
    return w.keyframer(one * _times(size, one))


def materials_with_maps(size: int) -> bytes:
    one = w.material(b"red", w.texture(b"..\\..\\x.tga"), w.chunk(0xA081))
    return w.editor(one * _times(size, one))


def material_groups(size: int) -> bytes:
    group = w.chunk(0x4130, b"none\0", struct.pack("<HH", 1, 9))
    return w.editor(w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 2), inside=group * _times(size, group))))


def names_of_every_kind(size: int) -> bytes:
    odd = (b"<script>", b"\x1b[31m", b"=1+1", "\u202eabc".encode(), b"\xff\xfe", b"")
    return w.editor(*_many(size, lambda number: w.chunk(0x4000, odd[number % len(odd)] + b"\0")))


def joints_in_a_chain(size: int) -> bytes:
    count = size // 42
    return w.h3da([w.joint(b"j\0", number - 1) for number in range(count)])


def joints_that_share_components(size: int) -> bytes:
    """Joints x frames: all joints read the same few numbers."""
    joints = [w.joint(b"\0", -1, 63, 0)] * (size // 2 // 41)
    frames = size // 2 // 48
    head = w.h3da(joints, frame_count=frames, components=6)
    return head + struct.pack("<12f", *w.BOX, 0, 0, 0, 0, 0, 0) * frames


def vertices_that_share_weights(size: int) -> bytes:
    """Vertices x weights: all vertices use all weights."""
    weights = size // 2 // 20
    vertices = size // 2 // 16
    head = struct.pack("<III", vertices, weights, 0) + b"\0"
    rows = struct.pack("<ffII", 0, 0, 0, weights) * vertices + struct.pack("<fi3f", 1, 0, 0, 0, 0) * weights
    return w.h3dm([head + rows], [w.model_joint()])


def model_joints_in_a_chain(size: int) -> bytes:
    count = size // 30
    return w.h3dm([], [w.model_joint(b"j\0", number - 1) for number in range(count)])


def bones_in_a_chain(size: int) -> bytes:
    count = size // 63
    return w.u3d(bones=[w.u3d_base(b"b", number + 1, number or -1) for number in range(count)])


def lights_and_targets(size: int) -> bytes:
    """The Flexporter's lights search for a target with their name."""
    light = b"L\0" + struct.pack("<ii", 9, -1) + b"\0" + w.PLACE + struct.pack("<B3fffBf", 1, 1, 1, 1, 0, 9, 0, 1)
    count = size // (len(light) + 63)
    return w.u3d(targets=[w.u3d_base(b"T", 9)] * count, lights=[light] * count)


def faces_of_many_materials(size: int) -> bytes:
    count = size // 17
    corners = bytes(12) * count
    head = w.u3d_base(b"Box", 1) + struct.pack("<5i", 0, 1, count, 0, 0) + bytes(12)
    return w.u3d(objects=[head + corners + bytes(count) + struct.pack(f"<{count}i", *range(count))])


def controllers_without_keys(size: int) -> bytes:
    one = w.controller(1)
    return w.u3d(objects=[w.u3d_mesh()], controllers=[one] * _times(size, one))


def controllers_of_a_rare_kind(size: int) -> bytes:
    """Controllers that stop after the owner: reading has to search for them."""
    one = struct.pack("<Bii", 0, 3, 1)
    return w.u3d(objects=[w.u3d_mesh()], controllers=[one] * _times(size, one))


def small_objects(size: int) -> bytes:
    one = w.u3d_mesh(b"Box", 1, 1)
    return w.u3d(objects=[one] * _times(size, one))


def weighted_skin(size: int) -> bytes:
    count = size // 28
    head = w.u3d_base(b"Box", 1) + struct.pack("<5iB", 4, count, 0, 0, 0, 1) + struct.pack("<i", 1) * count
    body = struct.pack("<i", 3) * count + struct.pack("<f", 1) * count + struct.pack("<3f", 0, 0, 0) * count
    return w.u3d(objects=[head + body], bones=[w.u3d_base(b"b", 3)])


def midtown_channels(size: int) -> bytes:
    one = w.channel(w.floats(0.5, 0.5, 0.5), 3)
    return w.clip(*[one] * _times(size, one), frames=1)


def midtown_frames(size: int) -> bytes:
    frames = size // 240
    return w.retail(frames, 60, rows=w.floats(0.25) * (60 * frames))


def midtown_bones(size: int) -> bytes:
    width = size // 12 * 3
    return w.retail(1, width, rows=w.floats(0.25) * width)


def nodes_without_keys(size: int) -> bytes:
    """The header can count at most 32,767 nodes; all others follow as trailing bytes."""
    one = w.nanim_node(b"hip")
    count = _times(size, one)
    return w.nanim(one * count, count=min(count, 32_767))


def node_keys(size: int) -> bytes:
    row = w.nanim_key(1.0, 0, 0, 1, 0)
    count = _times(size, row)
    return w.nanim(w.nanim_node(b"hip", 4, (), [row * count], (), (0, count, 0)))


def node_chunks(size: int) -> bytes:
    extra = w.chunk(9, b"")
    return w.nanim(w.nanim_node()) + extra * _times(size, extra)


def _repeated(size: int, one: str, before: str = "", after: str = "") -> bytes:
    return w.ase(before + one * _times(size, one.encode()) + after)


def ase_unknown_keywords(size: int) -> bytes:
    return _repeated(size, "*PLUGIN_DATA 1 2 3\n")


def ase_vertices(size: int) -> bytes:
    head = '*GEOMOBJECT {\n*NODE_NAME "a"\n*MESH {\n*MESH_VERTEX_LIST {\n'
    return _repeated(size, "*MESH_VERTEX 0\t1.0000\t2.0000\t3.0000\n", head, "}\n}\n}\n")


def ase_faces(size: int) -> bytes:
    row = "*MESH_FACE 0: A: 0 B: 1 C: 2 AB: 1 BC: 1 CA: 1\t *MESH_SMOOTHING 1,2 \t*MESH_MTLID 3\n"
    head = '*GEOMOBJECT {\n*NODE_NAME "a"\n*MESH {\n*MESH_VERTEX_LIST {\n*MESH_VERTEX 0 1 2 3\n}\n*MESH_FACE_LIST {\n'
    return _repeated(size, row, head, "}\n}\n}\n")


def ase_objects_in_a_chain(size: int) -> bytes:
    one = '*HELPEROBJECT {\n\t*NODE_NAME "node%06d"\n\t*NODE_PARENT "node%06d"\n}\n'
    return w.ase("".join(one % (at, at - 1) for at in range(size // len(one % (0, 0)))))


def ase_objects_of_one_name(size: int) -> bytes:
    return _repeated(size, '*GEOMOBJECT {\n\t*NODE_NAME "Box"\n\t*NODE_PARENT "Box"\n\t*MATERIAL_REF 7\n}\n')


def _ase_track(keyword: str, rows: str) -> str:
    return f'*HELPEROBJECT {{\n*NODE_NAME "a"\n*TM_ANIMATION {{\n*NODE_NAME "a"\n*{keyword} {{\n{rows}}}\n}}\n}}\n'


def ase_samples(size: int) -> bytes:
    count = size // 55
    return w.ase(
        _ase_track(
            "CONTROL_ROT_TRACK",
            "".join(f"*CONTROL_ROT_SAMPLE {160 * at}\t0.0000\t0.0000\t1.0000\t0.1000\n" for at in range(count)),
        )
    )


def ase_tracks_of_one_key(size: int) -> bytes:
    return _repeated(size, _ase_track("CONTROL_POS_BEZIER", "*CONTROL_BEZIER_POS_KEY 0 1 2 3 0 0 0 0 0 0 0\n"))


def ase_sub_materials(size: int) -> bytes:
    one = '*SUBMATERIAL 0 {\n*MATERIAL_NAME "m"\n*MAP_DIFFUSE {\n*BITMAP "a.tga"\n}\n}\n'
    return _repeated(size, one, "*MATERIAL_LIST {\n*MATERIAL 0 {\n", "}\n}\n")


def ase_cameras_with_targets(size: int) -> bytes:
    place = '*NODE_TM {\n*NODE_NAME "Eye%s"\n*TM_ROW3 1 2 3\n}\n'
    keys = '*TM_ANIMATION {\n*NODE_NAME "Eye"\n*CONTROL_ROT_TRACK {\n*CONTROL_ROT_SAMPLE 0 0 0 1 0\n}\n}\n'
    one = f'*CAMERAOBJECT {{\n*NODE_NAME "Eye"\n{place % ""}{place % ".Target"}{keys}}}\n'
    return _repeated(size, one)


def ase_quotes(size: int) -> bytes:
    return _repeated(size, '*NODE_NAME "Box\n')


SHAPES: dict[str, dict[str, Shape]] = {
    "3ds": {
        shape.__name__: shape
        for shape in (
            *(unknown_chunks, empty_known_chunks, nested_unknown_chunks, objects_of_one_name, nodes_that_share_a_mesh),
            *(nodes_of_one_id, morph_shapes, keys_of_mixed_shape, tracks_of_one_key, materials_with_maps),
            *(material_groups, names_of_every_kind),
        )
    },
    "uto3d": {
        shape.__name__: shape
        for shape in (
            *(bones_in_a_chain, lights_and_targets, faces_of_many_materials, controllers_without_keys),
            *(controllers_of_a_rare_kind, small_objects, weighted_skin),
        )
    },
    "hale3d": {
        shape.__name__: shape
        for shape in (
            *(joints_in_a_chain, joints_that_share_components, vertices_that_share_weights, model_joints_in_a_chain),
        )
    },
    "midtown": {shape.__name__: shape for shape in (midtown_channels, midtown_frames, midtown_bones)},
    "nodeanim": {shape.__name__: shape for shape in (nodes_without_keys, node_keys, node_chunks)},
    "ase": {
        shape.__name__: shape
        for shape in (
            *(ase_unknown_keywords, ase_vertices, ase_faces, ase_objects_in_a_chain, ase_objects_of_one_name),
            *(ase_samples, ase_tracks_of_one_key, ase_sub_materials, ase_cameras_with_targets, ase_quotes),
        )
    },
}

ALL: list[tuple[str, str, Shape]] = [
    (name, title, shape) for name, shapes in SHAPES.items() for title, shape in shapes.items()
]
