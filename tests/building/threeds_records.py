"""Makes 3D Studio files from short descriptions of nodes, tracks and meshes."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np

import keyframer
from keyframer.formats.kit.key_table import Keys
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.document import new_document
from keyframer.scene import Scene
from tests.reference_curves.slow import SlowTrack

NODES = {"object": r.ObjectNode, "camera": r.CameraNode, "camera target": r.CameraTargetNode}
NODES |= {"omni": r.OmniNode, "spot": r.SpotNode, "spot target": r.SpotTargetNode, "ambient": r.AmbientNode}
TRACKS = {"position": r.PositionTrack, "rotation": r.RotationTrack, "scale": r.ScaleTrack, "fov": r.FovTrack}
TRACKS |= {"roll": r.RollTrack, "color": r.ColorTrack, "hotspot": r.HotspotTrack, "falloff": r.FalloffTrack}
WRAPS = {"SINGLE": 0, "REPEAT": 2, "LOOP": 3}

TRIANGLE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]


def track(kind: str, times: Sequence[int], values: Any, flags: int = 0, **shape: Any) -> r.Track:
    """A track; rotation values are angle (clockwise), x, y, z as stored."""
    return TRACKS[kind](flags=flags, keys=Keys.make(list(times), np.array(values, np.float32), **shape))


def hide(times: Sequence[int], flags: int = 0) -> r.HideTrack:
    return r.HideTrack(flags=flags, keys=Keys.make(list(times)))


def morph(times: Sequence[int], names: Sequence[bytes], flags: int = 0, **shape: Any) -> r.MorphTrack:
    return r.MorphTrack(flags=flags, keys=Keys.make(list(times), text=tuple(names), **shape))


def node(kind: str, name: str, number: int | None, *inside: Chunk, parent: int = -1, flags1: int = 0x4000) -> r.Node:
    head: list[Chunk] = [] if number is None else [r.NodeId(id_=number)]
    head.append(r.NodeHeader(name=name.encode(), flags1=flags1, parent=parent))
    return NODES[kind](children=[*head, *inside])


def mesh(name: str, points: Any = TRIANGLE, *inside: Chunk, matrix: Any = None) -> r.NamedObject:
    """An object with one face of its first three vertices; ``matrix`` is X, Y, Z and origin of 4160."""
    parts: list[Chunk] = [r.PointArray(points=np.array(points, np.float32).reshape(-1, 3))]
    parts.append(r.FaceArray(faces=np.array([[0, 1, 2, 7]], np.uint16)))
    if matrix is not None:
        parts.append(r.MeshMatrix(*(tuple(map(float, row)) for row in matrix)))
    return r.NamedObject(name=name.encode(), children=[r.Mesh(children=parts), *inside])


def camera(name: str, position: Any, target: Any, bank: float = 0.0, lens: float = 50.0) -> r.NamedObject:
    body = r.Camera(position=tuple(position), target=tuple(target), bank=bank, lens=lens)
    return r.NamedObject(name=name.encode(), children=[body])


def spot(name: str, position: Any, target: Any) -> r.NamedObject:
    cone = r.Spotlight(target=tuple(target), hotspot=30.0, falloff=40.0)
    return r.NamedObject(name=name.encode(), children=[r.Light(position=tuple(position), children=[cone])])


def file_bytes(objects: Sequence[Chunk], nodes: Sequence[Chunk], revision: int = 5, writer: bytes = b"") -> bytes:
    header = r.KeyframerHeader(revision=revision, name=writer, length=100)
    keyframer_chunk = r.Keyframer(children=[header, r.Frames(start=0, end=100), *nodes])
    return keyframer.encode(new_document(r.Version(3), r.Editor(children=list(objects)), keyframer_chunk))


def load(
    objects: Sequence[Chunk], nodes: Sequence[Chunk], *, writer: bytes = b"", revision: int = 5, **how: Any
) -> Scene:
    """The scene of such a file, encoded and decoded like a real one."""
    return keyframer.load(BytesIO(file_bytes(objects, nodes, revision, writer)), **how)


def as_slow_track(stored: r.Track, absolute: bool = False) -> SlowTrack:
    """The same keys for the slow evaluator; angles in the file are clockwise, numbers float32."""
    keys = stored.keys  # type: ignore[attr-defined]
    rows = keys.value.astype(float).tolist()
    form = "NONE"
    if isinstance(stored, r.RotationTrack):
        rows = [[x, y, z, -angle] for angle, x, y, z in rows]
        form = "AXIS_ANGLE_ABSOLUTE" if absolute else "AXIS_ANGLE_RELATIVE"
    wrap = {number: name for name, number in WRAPS.items()}.get(stored.flags & 3, "SINGLE")
    shape = {name: keys.column(name).astype(float).tolist() for name in ("tension", "continuity", "bias")}
    shape |= {name: keys.column(name).astype(float).tolist() for name in ("ease_to", "ease_from")}
    return SlowTrack(keys.time.astype(float).tolist(), rows, "TCB", wrap, form, **shape)
