"""The poses of the windmill, from its bytes: nodes of objects with their tracks, and some vertices."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tests.posing.plain import Matrix, inverse, local, product, transform_point, translation
from tests.reference_curves.slow import SlowTrack
from tests.samples import FOLDER
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/samples/poses_3ds.py: a slow computation from the specification, with tests/reference_curves/slow.py"
FRAMES = [0.0, 12.5, 40.0, 77.0, 100.0]
COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")
TRACKS = {0xB020: ("position", 3), 0xB021: ("rotation", 4), 0xB022: ("scale", 3)}
WRAPS = {0: "SINGLE", 2: "REPEAT", 3: "LOOP"}


def poses() -> dict[str, Expected]:
    data = (FOLDER / "3ds" / "windmill.3ds").read_bytes()
    worlds: dict[int, list[Matrix]] = {}
    nodes = []
    points = dict(meshes(data))
    for node in (content for chunk, content in chunks(data, 6, len(data)) if chunk == 0xB000):
        for kind, (begin, end) in chunks(data, *node):
            if kind != 0xB002:
                continue
            parts = dict(chunks(data, begin, end))
            (number,) = struct.unpack_from("<h", data, parts[0xB030][0])
            name, at = text(data, parts[0xB010][0])
            (parent,) = struct.unpack_from("<h", data, at + 4)
            instance = text(data, parts[0xB011][0])[0] if 0xB011 in parts else ""
            tracks = {word: track(data, parts[chunk][0], size, word) for chunk, (word, size) in TRACKS.items()}
            own = [local(frame, tracks["position"], tracks["rotation"], tracks["scale"]) for frame in FRAMES]
            world = own if parent < 0 else [product(a, b) for a, b in zip(worlds[parent], own, strict=True)]
            worlds[number] = world
            pivot = struct.unpack_from("<3f", data, parts[0xB013][0]) if 0xB013 in parts else (0.0, 0.0, 0.0)
            vertices = {}
            if name in points:
                axes, rows = points[name]
                placed = [product(product(matrix, translation([-x for x in pivot])), inverse(axes)) for matrix in world]
                vertices = {
                    place: [transform_point(matrix, rows[place]) for matrix in placed] for place in (0, len(rows) - 1)
                }
            nodes.append(expected_node(instance or name, world, vertices))
    return {"windmill.3ds": Expected(FRAMES, nodes)}


def chunks(data: bytes, begin: int, end: int) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the id of each chunk, and where its content begins and ends."""
    while begin < end:
        kind, size = struct.unpack_from("<HI", data, begin)
        yield kind, (begin + 6, begin + size)
        begin += size


def text(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode("latin-1"), end + 1


def meshes(data: bytes) -> Iterator[tuple[str, tuple[Matrix, list[list[float]]]]]:
    """Yield name, axes and vertices of each mesh."""
    for editor in (content for chunk, content in chunks(data, 6, len(data)) if chunk == 0x3D3D):
        for named in (content for chunk, content in chunks(data, *editor) if chunk == 0x4000):
            name, at = text(data, named[0])
            for mesh in (content for chunk, content in chunks(data, at, named[1]) if chunk == 0x4100):
                parts = dict(chunks(data, *mesh))
                (count,) = struct.unpack_from("<H", data, parts[0x4110][0])
                rows = [list(struct.unpack_from("<3f", data, parts[0x4110][0] + 2 + 12 * row)) for row in range(count)]
                numbers = struct.unpack_from("<12f", data, parts[0x4160][0])
                axes = [[numbers[3 * column + row] for column in range(4)] for row in range(3)]
                yield name, ([*axes, [0.0, 0.0, 0.0, 1.0]], rows)


def track(data: bytes, at: int, size: int, kind: str) -> SlowTrack:
    flags, _, _, count = struct.unpack_from("<HIII", data, at)
    slow = SlowTrack([], [], wrap=WRAPS[flags & 3], form="AXIS_ANGLE_RELATIVE" if kind == "rotation" else "NONE")
    at += 14
    for _ in range(count):
        frame, bits = struct.unpack_from("<iH", data, at)
        at += 6
        slow.times.append(float(frame))
        for bit, name in enumerate(COLUMNS):
            stored = bool(bits >> bit & 1)
            getattr(slow, name).append(struct.unpack_from("<f", data, at)[0] if stored else 0.0)
            at += 4 * stored
        numbers = struct.unpack_from(f"<{size}f", data, at)
        at += 4 * size
        slow.values.append([*numbers[1:], -numbers[0]] if kind == "rotation" else list(numbers))  # clockwise
    return slow
