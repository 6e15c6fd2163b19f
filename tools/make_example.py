"""Writes examples/windmill.3ds, the animated example of the project: ``python tools/make_example.py``.

A mill whose rotor (a dummy with four sails) keeps turning, a weathercock that swings with tension, bias and ease, a
lamp that changes colour, and a moving camera with a target. Everything is computed here.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import keyframer
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
from keyframer.wire.key_table import Keys

Vec = tuple[float, float, float]
TOWER, ROTOR, COCK = (0.0, 0.0, 0.0), (0.0, -13.0, 44.0), (0.0, 0.0, 58.0)


def ring(sides: int, radius: float, z: float) -> list[Vec]:
    """Return the corners of a regular polygon at height z."""
    return [
        (radius * math.cos(2 * math.pi * i / sides), radius * math.sin(2 * math.pi * i / sides), z)
        for i in range(sides)
    ]


def tower() -> tuple[list[Vec], list[tuple[int, int, int]]]:
    """Return vertices and faces of a tower: eight sides that narrow upwards, and a pointed roof."""
    points = ring(8, 14, 0) + ring(8, 9, 48) + [(0.0, 0.0, 58.0)]
    faces = []
    for i in range(8):
        j = (i + 1) % 8
        faces += [(i, j, 8 + j), (i, 8 + j, 8 + i), (8 + i, 8 + j, 16)]
    return points, faces


def sail(angle: float) -> tuple[list[Vec], list[tuple[int, int, int]]]:
    """Return vertices and faces of a flat, two-sided blade, rotated by ``angle`` about the axis of the rotor (-Y)."""
    outline = [(-1.0, 4.0), (5.0, 5.0), (5.0, 32.0), (-1.0, 32.0)]
    points = [
        (
            ROTOR[0] + u * math.cos(angle) - v * math.sin(angle),
            ROTOR[1],
            ROTOR[2] + u * math.sin(angle) + v * math.cos(angle),
        )
        for u, v in outline
    ]
    return points, [(0, 1, 2), (0, 2, 3), (0, 2, 1), (0, 3, 2)]


def cock() -> tuple[list[Vec], list[tuple[int, int, int]]]:
    """Return vertices and faces of the weathercock."""
    x, y, z = COCK
    points = [(x - 5, y, z + 2), (x + 6, y, z + 2), (x + 2, y, z + 8), (x, y, z)]
    return points, [(0, 1, 2), (0, 2, 1), (0, 1, 3), (0, 3, 1)]


def mesh_object(
    name: bytes,
    points: list[Vec],
    faces: list[tuple[int, int, int]],
    material: bytes,
    origin: Vec,
    *,
    smooth: int = 0,
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
                            SmoothGroups(np.full(len(faces), smooth, np.uint32)),
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
    objects = [
        mesh_object(b"Tower", *tower(), b"STONE", TOWER, smooth=1),
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
