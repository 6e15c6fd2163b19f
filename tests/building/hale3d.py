"""An independent writer of Hale3D files: `struct` and the specification, no code of the reader."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

Text = Callable[[bytes], bytes]


def nul_ended(text: bytes) -> bytes:
    return text + b"\0"


def length(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


def length_with_nul(text: bytes) -> bytes:
    return struct.pack("<I", len(text) + 1) + text + b"\0"


TEXTS: dict[str, Text] = {"nul-ended": nul_ended, "length": length, "length-with-nul": length_with_nul}


def header(frames: int, joints: int, components: int, *, rate: int = 24, version: int = 1) -> bytes:
    return b"H3DA" + struct.pack("<5I", version, frames, rate, joints, components)


def joint(
    name: bytes,
    parent: int = -1,
    flags: int = 0,
    start: int = 0,
    position: Sequence[float] = (0, 0, 0),
    orientation: Sequence[float] = (0, 0, 0, 1),
    *,
    text: Text = nul_ended,
) -> bytes:
    return struct.pack("<iII", parent, flags, start) + text(name) + struct.pack("<7f", *position, *orientation)


def frame(bounds: Sequence[float], components: Sequence[float]) -> bytes:
    return struct.pack(f"<{6 + len(components)}f", *bounds, *components)


def wave(text: Text = nul_ended, names: Sequence[bytes] = (b'"root"', b'"arm"', b'"hand"')) -> bytes:
    """Three joints, five frames, four components: the root moves up, the arm rotates about z, the hand about x."""
    parts = [
        header(5, 3, 4),
        joint(names[0], -1, 0b000110, 0, (0, 1, 2), (0, 0, 0, 1), text=text),
        joint(names[1], 0, 0b100000, 2, (0.5, 0, 0), (0, 0, 0.5, -0.8660254), text=text),
        joint(names[2], 1, 0b001000, 3, (1.5, 0, 0), (0.25, 0, 0, -0.9682458), text=text),
    ]
    for number in range(5):
        box = (-1, -1, -1, 1, 1, 1 + number)
        parts.append(frame(box, (0.25 * number, 2.0, 0.1 * number - 0.2, 0.125)))
    return b"".join(parts)


def mesh(
    material: bytes,
    vertices: Sequence[tuple[float, float, int, int]],
    weights: Sequence[tuple[float, int, float, float, float]],
    triangles: Sequence[tuple[int, int, int]],
    *,
    text: Text = nul_ended,
) -> bytes:
    return (
        struct.pack("<III", len(vertices), len(weights), len(triangles))
        + text(material)
        + b"".join(struct.pack("<ffII", *row) for row in vertices)
        + b"".join(struct.pack("<fi3f", *row) for row in weights)
        + b"".join(struct.pack("<III", *row) for row in triangles)
    )


def model_joint(
    name: bytes,
    parent: int,
    position: Sequence[float],
    orientation: Sequence[float] = (0, 0, 0),
    *,
    text: Text = nul_ended,
) -> bytes:
    return struct.pack("<i6f", parent, *position, *orientation) + text(name)


def model(meshes: Sequence[bytes], joints: Sequence[bytes], *, version: int = 1) -> bytes:
    return b"H3DM" + struct.pack("<III", version, len(meshes), len(joints)) + b"".join(meshes) + b"".join(joints)


def arm(text: Text = nul_ended) -> bytes:
    """Two meshes on the joints of `wave`: a quad of two triangles, and one triangle."""
    return model(
        [
            mesh(
                b"materials/sleeve.mat",
                [(0, 0, 0, 1), (1, 0, 1, 1), (1, 1, 2, 2), (0, 1, 4, 1)],
                [(1, 0, 0, 0, 0), (1, 1, 1, 0, 0), (0.5, 1, 1, 1, 0), (0.5, 2, 0, 1, 0), (1, 0, 0, 1, 0)],
                [(0, 1, 2), (0, 2, 3)],
                text=text,
            ),
            mesh(
                b"materials/glove.mat",
                [(0, 0, 0, 1), (0.5, 0, 1, 1), (0, 0.5, 2, 1)],
                [(1, 2, 0, 0, 0), (1, 2, 1, 0, 0), (1, 2, 0, 1, 0)],
                [(0, 1, 2)],
                text=text,
            ),
        ],
        [
            model_joint(b'"root"', -1, (0, 1, 2), text=text),
            model_joint(b'"arm"', 0, (0.5, 1, 2), (0, 0, 0.5), text=text),
            model_joint(b'"hand"', 1, (2, 1, 2), (0.25, 0, 0), text=text),
        ],
    )
