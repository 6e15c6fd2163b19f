"""Writes examples/windmill.3ds, the animated example of the project: ``python tools/make_example.py``.

A mill whose rotor (a dummy with four sails) keeps turning, a weathercock that swings with tension, bias and ease, a
lamp that changes colour, and a moving camera with a target. Everything is computed here.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import keyframer
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.document import new_document
from keyframer.formats.threeds.records import (
    AmbientColor,
    BoundBox,
    Camera,
    CameraNode,
    CameraTargetNode,
    ColorByte,
    ColorFloat,
    ColorTrack,
    CurrentTime,
    Editor,
    FaceArray,
    FalloffTrack,
    FovTrack,
    Frames,
    HotspotTrack,
    InstanceName,
    Keyframer,
    KeyframerHeader,
    Light,
    LightMultiplier,
    MapName,
    MapParameters,
    MasterScale,
    Material,
    MaterialAmbient,
    MaterialDiffuse,
    MaterialGroup,
    MaterialName,
    MaterialShading,
    MaterialShininess,
    MaterialSpecular,
    MaterialTransparency,
    Mesh,
    MeshMatrix,
    MeshVersion,
    NamedObject,
    NodeHeader,
    NodeId,
    ObjectNode,
    OmniNode,
    PercentInt,
    PointArray,
    PositionTrack,
    RollTrack,
    RotationTrack,
    ScaleTrack,
    SmoothGroups,
    Spotlight,
    SpotNode,
    SpotTargetNode,
    TextureMap1,
    TextureVertices,
    Version,
)

Vec = tuple[float, float, float]
Face = tuple[int, int, int]
TOWER, ROTOR, COCK = (0.0, 0.0, 0.0), (0.0, -13.0, 44.0), (0.0, 0.0, 58.0)


def ring(sides: int, radius: float, z: float) -> list[Vec]:
    """Return the corners of a regular polygon at height z."""
    return [
        (radius * math.cos(2 * math.pi * i / sides), radius * math.sin(2 * math.pi * i / sides), z)
        for i in range(sides)
    ]


def lofted(sides: int, rings: int, start: int = 0) -> list[Face]:
    """Return the faces between rings of vertices; ``start`` is the number of the first vertex."""
    faces = []
    for low in range(start, start + sides * (rings - 1), sides):
        for i in range(sides):
            j = (i + 1) % sides
            faces += [(low + i, low + j, low + sides + j), (low + i, low + sides + j, low + sides + i)]
    return faces


def box(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> list[Vec]:
    """Return the corners of a box, as two rings of four."""
    return [(u, v, w) for w in z for u, v in ((x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1]))]


def tower() -> tuple[list[Vec], list[Face], list[int]]:
    """Return vertices, faces and smoothing groups of a tower that narrows upwards, on a base, with a roof and the axle
    of the sails."""
    sides = 10
    base = ring(sides, 19, 0) + ring(sides, 18, 3) + ring(sides, 12, 3)
    wall = ring(sides, 13, 3) + ring(sides, 9, 47)
    roof = ring(sides, 11, 47) + ring(sides, 0.5, 58)
    axle = box((-1.5, 1.5), (ROTOR[1] - 1.5, -8), (ROTOR[2] - 1.5, ROTOR[2] + 1.5))
    points: list[Vec] = []
    faces: list[Face] = []
    groups: list[int] = []
    for part, corners, group in ((base, sides, 0), (wall, sides, 1), (roof, sides, 2), (axle, 4, 0)):
        faces += lofted(corners, len(part) // corners, len(points))
        points += part
        groups += [group] * (len(faces) - len(groups))
    front = [len(points) - back for back in (8, 7, 3, 4)]
    return points, [*faces, (front[0], front[1], front[2]), (front[0], front[2], front[3])], [*groups, 0, 0]


def sail(angle: float) -> tuple[list[Vec], list[Face]]:
    """Return vertices and faces of a spar from the hub and its two-sided cloth, rotated by ``angle`` about the axis of
    the rotor (-Y)."""
    spar = box((-0.8, 0.8), (-0.8, 0.8), (0, 33))
    cloth = [(0.8, 0.0, 6.0), (7.0, -1.5, 6.0), (7.0, -1.5, 32.0), (0.8, 0.0, 32.0)]
    points = [
        (
            ROTOR[0] + u * math.cos(angle) - v * math.sin(angle),
            ROTOR[1] + depth,
            ROTOR[2] + u * math.sin(angle) + v * math.cos(angle),
        )
        for u, depth, v in spar + cloth
    ]
    return points, [*lofted(4, 2), (4, 5, 6), (4, 6, 7), (8, 9, 10), (8, 10, 11), (8, 10, 9), (8, 11, 10)]


def cock() -> tuple[list[Vec], list[Face]]:
    """Return vertices and faces of the weathercock."""
    x, y, z = COCK
    points = [(x - 5, y, z + 2), (x + 6, y, z + 2), (x + 2, y, z + 8), (x, y, z)]
    return points, [(0, 1, 2), (0, 2, 1), (0, 1, 3), (0, 3, 1)]


def mesh_object(
    name: bytes,
    points: list[Vec],
    faces: list[Face],
    material: bytes,
    origin: Vec,
    *,
    groups: list[int] | None = None,
) -> Chunk:
    corners = np.array([(*face, 7) for face in faces], np.uint16)
    x = [point[0] for point in points]
    z = [point[2] for point in points]
    uv = np.array([((p[0] - min(x)) / (max(x) - min(x)), (p[2] - min(z)) / (max(z) - min(z))) for p in points])
    return NamedObject(
        name,
        children=[
            Mesh(
                children=[
                    PointArray(np.array(points, np.float32)),
                    FaceArray(
                        corners,
                        children=[
                            MaterialGroup(material, np.arange(len(faces), dtype=np.uint16)),
                            SmoothGroups(np.array(groups or [0] * len(faces), np.uint32)),
                        ],
                    ),
                    TextureVertices(uv.astype(np.float32)),
                    MeshMatrix(origin=origin),
                ]
            )
        ],
    )


def material(name: bytes, rgb: tuple[int, int, int], texture: bytes | None = None) -> Chunk:
    parts: list[Chunk] = [
        MaterialName(name),
        MaterialAmbient(children=[ColorByte(tuple(value // 3 for value in rgb))]),
        MaterialDiffuse(children=[ColorByte(rgb)]),
        MaterialSpecular(children=[ColorByte((230, 230, 230))]),
        MaterialShininess(children=[PercentInt(25)]),
        MaterialTransparency(children=[PercentInt(0)]),
        MaterialShading(3),
    ]
    if texture:
        parts.append(TextureMap1(children=[PercentInt(100), MapName(texture), MapParameters(0)]))
    return Material(children=parts)


def node(
    kind: type[Chunk],
    number: int,
    name: bytes,
    parent: int,
    *tracks: Chunk,
    instance: bytes | None = None,
    flags2: int = 0,
) -> Chunk:
    chunks: list[Chunk] = [NodeId(number), NodeHeader(name, 0x4000, flags2, parent)]
    if instance:
        chunks += [InstanceName(instance), BoundBox((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))]
    return kind(children=[*chunks, *tracks])


def static_tracks(position: Vec) -> list[Chunk]:
    """Return tracks with one key each: this position, no rotation, scale 1."""
    return [
        PositionTrack(keys=Keys.make([0], [position])),
        RotationTrack(keys=Keys.make([0], [(0, 0, 0, 1)])),
        ScaleTrack(keys=Keys.make([0], [(1, 1, 1)])),
    ]


def windmill() -> keyframer.Document:
    turn = RotationTrack(2, keys=Keys.make([0, 30, 60], [(0, 0, 1, 0), (math.pi, 0, 1, 0), (math.pi, 0, 1, 0)]))
    swing = RotationTrack(
        keys=Keys.make(
            [0, 25, 50, 80, 100],
            [(0, 0, 0, 1), (0.9, 0, 0, 1), (1.6, 0, 0, -1), (1.1, 0, 0, 1), (0.4, 0, 0, -1)],
            tension=[0, 0.5, 0, 0, 0],
            bias=[0, 0, -0.4, 0, 0],
            ease_to=[0, 0, 0, 0.6, 0],
            ease_from=[0.3, 0, 0, 0, 0],
        )
    )
    travel = PositionTrack(
        keys=Keys.make([0, 40, 100], [(70, -120, 20), (20, -140, 45), (-80, -110, 30)], continuity=[0, 0.25, 0])
    )
    stone, walls, groups = tower()
    objects = [
        mesh_object(b"Tower", stone, walls, b"STONE", TOWER, groups=groups),
        *(mesh_object(b"Sail%d" % (i + 1), *sail(i * math.pi / 2), b"CLOTH", ROTOR) for i in range(4)),
        mesh_object(b"Cock", *cock(), b"BRASS", COCK),
        NamedObject(
            b"Lamp",
            children=[
                Light(
                    (40.0, -60.0, 90.0),
                    children=[
                        ColorFloat((1.0, 0.95, 0.8)),
                        Spotlight((0.0, 0.0, 30.0), 35.0, 60.0),
                        LightMultiplier(1.2),
                    ],
                )
            ],
        ),
        NamedObject(b"Sun", children=[Light((-100.0, -200.0, 300.0), children=[ColorByte((200, 205, 220))])]),
        NamedObject(b"Camera", children=[Camera((70.0, -120.0, 20.0), (0.0, 0.0, 32.0), 0.0, 50.0)]),
    ]
    nodes = [
        node(ObjectNode, 0, b"Tower", -1, *static_tracks(TOWER)),
        node(
            ObjectNode, 1, b"$$$DUMMY", 0,
            PositionTrack(keys=Keys.make([0], [ROTOR])), turn, static_tracks(ROTOR)[2],
            instance=b"Rotor",
        ),
        *(node(ObjectNode, 2 + i, b"Sail%d" % (i + 1), 1, *static_tracks((0, 0, 0))) for i in range(4)),
        node(ObjectNode, 6, b"Cock", 0, PositionTrack(keys=Keys.make([0], [COCK])), swing, static_tracks(COCK)[2]),
        node(
            CameraNode, 7, b"Camera", -1,
            travel, FovTrack(keys=Keys.make([0, 100], [[48], [36]])), RollTrack(keys=Keys.make([0], [[0]])),
        ),
        node(CameraTargetNode, 8, b"Camera", -1, PositionTrack(keys=Keys.make([0, 100], [(0, 0, 32), (0, 0, 40)]))),
        node(
            SpotNode, 9, b"Lamp", -1,
            PositionTrack(keys=Keys.make([0], [(40, -60, 90)])),
            ColorTrack(keys=Keys.make([0, 50, 100], [(1, 0.95, 0.8), (1, 0.5, 0.2), (1, 0.95, 0.8)])),
            HotspotTrack(keys=Keys.make([0], [[35]])), FalloffTrack(keys=Keys.make([0, 50], [[60], [80]])),
            RollTrack(keys=Keys.make([0], [[0]])),
        ),
        node(SpotTargetNode, 10, b"Lamp", -1, PositionTrack(keys=Keys.make([0], [(0, 0, 30)]))),
        node(
            OmniNode, 11, b"Sun", -1,
            PositionTrack(keys=Keys.make([0], [(-100, -200, 300)])),
            ColorTrack(keys=Keys.make([0], [(0.78, 0.8, 0.86)])),
        ),
    ]  # fmt: skip
    return new_document(
        Version(3),
        Editor(
            children=[
                MeshVersion(3),
                MasterScale(1.0),
                AmbientColor(children=[ColorFloat((0.2, 0.2, 0.25))]),
                material(b"STONE", (150, 140, 130), b"STONE.PNG"),
                material(b"CLOTH", (235, 230, 215)),
                material(b"BRASS", (200, 160, 60)),
                *objects,
            ]
        ),
        Keyframer(children=[KeyframerHeader(5, b"WINDMILL", 100), Frames(0, 100), CurrentTime(0), *nodes]),
    )


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "examples" / "windmill.3ds"
    keyframer.write(windmill(), target, overwrite=True)
    print(f"{target.name}: {target.stat().st_size} bytes")
