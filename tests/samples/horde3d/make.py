"""Writes the Horde3D samples after the engine's source: ``python -m tests.samples.horde3d.make``."""

from __future__ import annotations

import math
import struct
from pathlib import Path

HERE = Path(__file__).parent
IDENTITY = (1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1)
HALF = 0.70710677


def u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def name(text: str, rest: bytes = b"\0") -> bytes:
    """256 bytes: the name, a NUL, and what was in memory."""
    return (text.encode() + b"\0").ljust(256, rest)


def frame(
    rotation: tuple[float, ...] = (0, 0, 0, 1), position: tuple[float, ...] = (0, 0, 0), scale: float = 1
) -> bytes:
    return floats(*rotation, *position, scale, scale, scale)


def animation(version: int, frames: int, *entities: bytes) -> bytes:
    return b"H3DA" + u32(version, len(entities), frames) + b"".join(entities)


def entity(text: str, *frames: bytes, compressed: bool | None = False, rest: bytes = b"\0") -> bytes:
    """An entity; of version 2 if ``compressed`` is None."""
    return name(text, rest) + (b"" if compressed is None else bytes([compressed])) + b"".join(frames)


def stream(kind: int, size: int, data: bytes) -> bytes:
    return u32(kind, size) + data


def geometry(
    joints: list[tuple[float, ...]],
    vertices: int,
    streams: list[bytes],
    corners: tuple[int, ...],
    targets: tuple[bytes, ...] = (),
) -> bytes:
    head = b"H3DG" + u32(5, len(joints)) + b"".join(floats(*joint) for joint in joints)
    head += u32(len(streams), vertices) + b"".join(streams)
    return head + u32(len(corners), *corners, len(targets)) + b"".join(targets)


def arm_scene() -> bytes:
    """Return a model with two joints, two meshes that they move, one level of detail, and one mesh on a joint."""
    return b"""<?xml version="1.0"?>
<!-- an arm -->
<Model name="arm" geometry="content/body.geo" lodDist1="10">
\t<Joint name="upper" ty="1" jointIndex="1">
\t\t<Joint name="lower" ty="2" rz="30" jointIndex="2">
\t\t\t<Mesh name="ring" material="content/steel.material.xml" tx="0.5" sx="0.5" sy="0.5" sz="0.5" batchStart="6" \
batchCount="3" vertRStart="4" vertREnd="6" />
\t\t</Joint>
\t</Joint>

\t<Mesh name="skin" material="content/cloth.material.xml" batchStart="0" batchCount="6" vertRStart="0" vertREnd="3">
\t\t<Attachment type="note"><Point x="1" /></Attachment>
\t</Mesh>
\t<Mesh name="skin" lodLevel="1" material="content/cloth.material.xml" batchStart="0" batchCount="3" vertRStart="0" \
vertREnd="2" />
\t<Light name="lamp" ty="5" rx="-90" />
</Model>
"""


def arm_mesh() -> bytes:
    """Return the geometry of the arm: a strip of four vertices moved by two joints, and a triangle that no joint
    moves."""
    points = [(0, 0, 0), (1, 0, 0), (0, 4, 0), (1, 4, 0), (0, 0, 0), (1, 0, 0), (0, 1, 0)]
    joints = [(1, 0, 0, 0), (1, 2, 0, 0), (2, 1, 0, 0), (2, 0, 0, 0), *[(0, 0, 0, 0)] * 3]
    weights = [(255, 0, 0, 0), (127, 127, 0, 0), (204, 50, 0, 0), (255, 0, 0, 0), *[(255, 0, 0, 0)] * 3]
    upper = (*IDENTITY[:12], 0, -1, 0, 1)  # column by column: the origin is last
    lower = (*IDENTITY[:12], 0, -3, 0, 1)
    streams = [
        stream(0, 12, b"".join(floats(*point) for point in points)),
        stream(1, 6, struct.pack("<3h", 0, 0, 32767) * 7),
        stream(2, 6, struct.pack("<3h", 32767, 0, 0) * 7),
        stream(3, 6, struct.pack("<3h", 0, 32767, 0) * 7),
        stream(4, 4, b"".join(map(bytes, joints))),
        stream(5, 4, b"".join(map(bytes, weights))),
        stream(6, 8, b"".join(floats(x, y / 4) for x, y, _ in points)),
        stream(7, 8, bytes(56)),
    ]
    return geometry([IDENTITY, upper, lower], 7, streams, (0, 1, 2, 1, 3, 2, 4, 5, 6))


def wave() -> bytes:
    """Return an animation of the arm: the lower joint turns and moves, the rest stands still; one name is unknown."""
    angles = [math.radians(15 * step) / 2 for step in range(5)]
    turns = [frame((0, 0, math.sin(a), math.cos(a)), (0, 2 + a, 0)) for a in angles]
    return animation(
        3,
        5,
        entity("upper", frame(position=(0, 1.5, 0)), compressed=True),
        entity("lower", *turns),
        entity("skin", frame(), compressed=True, rest=b"\xcd"),
        entity("tail", *[frame(position=(step, 0, 0)) for step in range(5)]),
    )


def old() -> bytes:
    """Return an animation of version 2, with random bytes after the name."""
    rest = bytes(range(1, 250))
    return animation(
        2,
        2,
        entity("Cube", frame(scale=2), frame((0, HALF, 0, HALF)), compressed=None, rest=b"\x07"),
        (name("Plane")[:6] + rest.ljust(250, b"\1") + frame() + frame(position=(1, 2, 3))),
    )


def morphing() -> bytes:
    """Return geometry with a morph target, a stream of another size, and one of an unknown kind."""
    difference = stream(0, 12, floats(0, 0, 1, 0, 0.5, 0)) + stream(1, 12, bytes(24)) + stream(3, 4, bytes(8))
    target = name("smile") + u32(2, 0, 2, 3) + difference
    streams = [
        stream(0, 12, floats(0, 0, 0, 1, 0, 0, 0, 1, 0)),
        stream(1, 12, floats(*[0, 0, 1] * 3)),
        stream(9, 2, bytes(range(6))),
    ]
    return geometry([IDENTITY], 3, streams, (0, 1, 2), (target,))


def cut() -> bytes:
    """Return an animation that ends in the middle of its second entity."""
    return wave()[:-700]


SAMPLES = {
    "arm.scene.xml": arm_scene,
    "arm_mesh.geo": arm_mesh,
    "wave.anim": wave,
    "old.anim": old,
    "morphing.geo": morphing,
    "cut.anim": cut,
}

if __name__ == "__main__":
    for file_name, make in SAMPLES.items():
        (HERE / file_name).write_bytes(make())
