"""Small byte writers for valid and hostile files of every format. They check nothing, and share no code with the
readers under test."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from tests.building.hale3d import model


def single(number: float) -> float:
    """The number as 32 bits store it."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


# 3D Studio


def chunk(chunk_id: int, *parts: bytes, length: int | None = None) -> bytes:
    """u16 id, u32 length (the correct one unless another is given), fields and sub-chunks."""
    body = b"".join(parts)
    return struct.pack("<HI", chunk_id, 6 + len(body) if length is None else length) + body


def main(*parts: bytes, version: int = 3) -> bytes:
    return chunk(0x4D4D, chunk(0x0002, struct.pack("<I", version)), *parts)


def editor(*parts: bytes) -> bytes:
    return main(chunk(0x3D3D, *parts))


def keyframer(*parts: bytes) -> bytes:
    return main(chunk(0xB000, *parts))


def points(*vertices: tuple[float, float, float], count: int | None = None) -> bytes:
    rows = b"".join(struct.pack("<3f", *vertex) for vertex in vertices)
    return chunk(0x4110, struct.pack("<H", len(vertices) if count is None else count), rows)


TRIANGLE = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def faces(*corners: tuple[int, int, int], inside: bytes = b"", count: int | None = None) -> bytes:
    rows = b"".join(struct.pack("<4H", *triple, 7) for triple in corners)
    return chunk(0x4120, struct.pack("<H", len(corners) if count is None else count), rows, inside)


def mesh(*parts: bytes, name: bytes = b"Box") -> bytes:
    return chunk(0x4000, name + b"\0", chunk(0x4100, *parts))


def material(name: bytes = b"red", *parts: bytes) -> bytes:
    return chunk(0xAFFF, chunk(0xA000, name + b"\0"), *parts)


def texture(name: bytes, *parts: bytes) -> bytes:
    return chunk(0xA200, chunk(0xA300, name + b"\0"), *parts)


def node(
    name: bytes = b"Box", number: int | None = 0, parent: int = -1, *parts: bytes, kind: int = 0xB002, flags: int = 0
) -> bytes:
    header = chunk(0xB010, name + b"\0", struct.pack("<HHh", flags, 0, parent))
    identity = b"" if number is None else chunk(0xB030, struct.pack("<h", number))
    return chunk(kind, identity, header, *parts)


def key(frame: int, *values: float, flags: int = 0, extras: Sequence[float] = ()) -> bytes:
    return struct.pack("<iH", frame, flags) + b"".join(struct.pack("<f", number) for number in (*extras, *values))


def track(chunk_id: int, *keys: bytes, flags: int = 0, count: int | None = None) -> bytes:
    head = struct.pack("<HiiI", flags, 0, 0, len(keys) if count is None else count)
    return chunk(chunk_id, head, *keys)


# Hale3D

h3dm = model


def joint(
    name: bytes = b"hip\0",
    parent: int = -1,
    flags: int = 0,
    start: int = 0,
    position: Sequence[float] = (0, 0, 0),
    orientation: Sequence[float] = (0, 0, 0, 1),
) -> bytes:
    return struct.pack("<iII", parent, flags, start) + name + struct.pack("<7f", *position, *orientation)


BOX = (0.0, 0.0, 0.0, 1.0, 1.0, 1.0)


def h3da(
    joints: Sequence[bytes] = (),
    frames: Sequence[Sequence[float]] = (),
    *,
    version: int = 1,
    rate: int = 24,
    frame_count: int | None = None,
    joint_count: int | None = None,
    components: int | None = None,
) -> bytes:
    """Return a Hale3D animation; ``frames`` are pairs of a box and the components."""
    width = (len(frames[0]) - 6 if frames else 0) if components is None else components
    counts = (
        len(frames) if frame_count is None else frame_count,
        rate,
        len(joints) if joint_count is None else joint_count,
        width,
    )
    rows = b"".join(struct.pack(f"<{len(row)}f", *row) for row in frames)
    return b"H3DA" + struct.pack("<5I", version, *counts) + b"".join(joints) + rows


def model_joint(
    name: bytes = b"hip\0", parent: int = -1, position: Sequence[float] = (0, 0, 0), turn: Sequence[float] = (0, 0, 0)
) -> bytes:
    return struct.pack("<i6f", parent, *position, *turn) + name


def model_mesh(
    material: bytes = b"skin.tga\0",
    vertices: Sequence[tuple[int, int]] = ((0, 1), (1, 1), (2, 1)),
    weights: Sequence[int] = (0, 0, 0),
    triangles: Sequence[tuple[int, int, int]] = ((0, 1, 2),),
) -> bytes:
    """Return a mesh; a vertex is its first weight and its number of weights, a weight is a joint."""
    head = struct.pack("<III", len(vertices), len(weights), len(triangles)) + material
    rows = [struct.pack("<ffII", 0, 0, *vertex) for vertex in vertices]
    rows += [struct.pack("<fi3f", 1, number, *TRIANGLE[at % 3]) for at, number in enumerate(weights)]
    rows += [struct.pack("<3I", *triple) for triple in triangles]
    return head + b"".join(rows)


# U3D (UTO!) scenes

PLACE = struct.pack("<3f4f3f3f", 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0)


def place(position: Sequence[float] = (0, 0, 0), turn: Sequence[float] = (0, 0, 0, 1)) -> bytes:
    return struct.pack("<3f4f3f3f", *position, *turn, 1, 1, 1, 0, 0, 0)


def u3d_base(
    name: bytes = b"Box", number: int = 1, parent: int = -1, *, target: int | None = None, at: bytes = PLACE
) -> bytes:
    """Return the fields that objects, cameras, targets and bones begin with; targets and bones have no others."""
    aim = b"" if target is None else struct.pack("<i", target)
    return name + b"\0" + struct.pack("<ii", number, parent) + aim + b"\0" + at


def u3d_mesh(
    name: bytes = b"Box",
    number: int = 1,
    parent: int = -1,
    *,
    flags: int = 0,
    counts: Sequence[int] | None = None,
    skin: bytes = b"",
    vertices: Sequence[Sequence[float]] = TRIANGLE,
    corners: Sequence[Sequence[int]] = ((0, 1, 2),),
    face_material: int = 1,
    at: bytes = PLACE,
) -> bytes:
    sizes = (len(vertices), len(corners), 0, 0) if counts is None else counts
    rows = b"".join(struct.pack("<3f", *vertex) for vertex in vertices)
    triples = b"".join(struct.pack("<3i", *triple) for triple in corners)
    ends = bytes([7]) * len(corners) + struct.pack("<i", face_material) * len(corners)
    head = u3d_base(name, number, parent, at=at) + struct.pack("<5i", flags, *sizes)
    return head + skin + rows + triples + ends


def u3d_camera(name: bytes = b"Cam", number: int = 5, target: int = -1) -> bytes:
    return u3d_base(name, number, target=target) + struct.pack("<3f", 45, 1, 1000)


def u3d_light(name: bytes = b"Sun", number: int = 7, kind: int = 0, tail: bytes = b"") -> bytes:
    """Return a light in the layout of the MAXScript exporter."""
    rest = struct.pack("<I3fffBf", kind, 1, 1, 1, 0, 100, 0, 1)
    return u3d_base(name, number, target=-1) + rest + tail


def u3d_material(name: bytes = b"red", number: int = 1) -> bytes:
    return name + b"\0" + struct.pack("<i", number)


def controller(
    owner: int = 1, kind: int = 0, scheme: int = 0, keys: Sequence[bytes] = (), *, count: int | None = None
) -> bytes:
    return struct.pack("<BiiiB", kind, 100, owner, len(keys) if count is None else count, scheme) + b"".join(keys)


def u3d_key(time: int, *values: float, flags: int | None = None, extras: Sequence[float] = ()) -> bytes:
    """Return a linear key, or a TCB key if it has flags."""
    row = struct.pack("<i", time) + b"".join(struct.pack("<f", number) for number in values)
    return row if flags is None else row + bytes([flags]) + b"".join(struct.pack("<f", number) for number in extras)


def u3d(
    *,
    objects: Sequence[bytes] = (),
    cameras: Sequence[bytes] = (),
    targets: Sequence[bytes] = (),
    lights: Sequence[bytes] = (),
    materials: Sequence[bytes] = (),
    bones: Sequence[bytes] = (),
    controllers: Sequence[bytes] = (),
    first: int = 0,
    last: int = 100,
    rate: int = 30,
    delta: int = 160,
    scale: float = 1.0,
    version: bytes = b"\x00\x09",
    counts: Sequence[int] | None = None,
) -> bytes:
    real = tuple(map(len, (objects, cameras, lights, materials, controllers, bones)))
    head = b"UTO!" + version + b"MAIN" + struct.pack("<4if6i", first, last, rate, delta, scale, *(counts or real))
    sections = (
        *((b"MESH", objects), (b"CAMS", cameras), (b"CTGT", targets), (b"LITE", lights)),
        *((b"MATS", materials), (b"BONE", bones), (b"CTRL", controllers)),
    )
    return head + b"".join(tag + b"".join(records) for tag, records in sections)


# Midtown Madness 2


def floats(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def channel(rows: bytes, width: int, kind: int = 1, distance: float = 1.0) -> bytes:
    return struct.pack("<IfB", width, distance, kind) + rows


def clip(*channels: bytes, frames: int, count: int | None = None) -> bytes:
    """Return a clip; with ``count`` 0 it has the retail layout."""
    return struct.pack("<II", len(channels) if count is None else count, frames) + b"".join(channels)


def retail(frames: int = 2, width: int = 6, kind: int = 1, rows: bytes | None = None, distance: float = 1.0) -> bytes:
    return clip(
        channel(floats(*[0.5] * (frames * width)) if rows is None else rows, width, kind, distance),
        frames=frames,
        count=0,
    )


# Node animation, in the default dialect: its chunks are those of 3D Studio


def nanim_header(count: int, name: bytes = b"walk", author: bytes = b"me", flags: int = 0) -> bytes:
    return chunk(1, struct.pack("<i", flags) + name + b"\0" + author + b"\0" + struct.pack("<h", count))


def nanim_key(time: float, *values: float, flags: int = 0, tcb: Sequence[float] = ()) -> bytes:
    return struct.pack("<if", flags, time) + floats(*tcb, *values)


def nanim_node(
    name: bytes = b"hip",
    flags: int = 4,
    translations: Iterable[bytes] = (),
    rotations: Iterable[bytes] = (),
    scales: Iterable[bytes] = (),
    counts: Sequence[int] | None = None,
) -> bytes:
    tables = [list(translations), list(rotations), list(scales)]
    sizes = [len(table) for table in tables] if counts is None else counts
    return name + b"\0" + struct.pack("<4i", flags, *sizes) + b"".join(b"".join(table) for table in tables)


def nanim(*nodes: bytes, count: int | None = None, **header: object) -> bytes:
    first = nanim_header(len(nodes) if count is None else count, **header)  # type: ignore[arg-type]
    return first + chunk(2, b"".join(nodes))


# ASE


def ase(text: str = "", version: int = 200) -> bytes:
    """Return a file whose first line gives the version, followed by the given lines."""
    return f"*3DSMAX_ASCIIEXPORT\t{version}\n{text}\n".encode("latin-1")


def ase_object(inside: str, name: str = "Box", kind: str = "GEOMOBJECT") -> bytes:
    return ase(f'*{kind} {{\n\t*NODE_NAME "{name}"\n{inside}\n}}')
