"""Scenes that have a hostile name in every place where a name can be."""

from __future__ import annotations

from pathlib import Path

import keyframer
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.document import new_document
from keyframer.formats.threeds.records import (
    Editor,
    FaceArray,
    Keyframer,
    KeyframerHeader,
    Keys,
    MapName,
    Material,
    MaterialName,
    Mesh,
    NamedObject,
    NodeHeader,
    NodeId,
    ObjectNode,
    PointArray,
    PositionTrack,
    TextureMap1,
)


def hostile_file(name: bytes, folder: Path, *more: Chunk) -> Path:
    """Write a moving triangle with this name and further records in its node."""
    mesh = Mesh(children=[PointArray([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]), FaceArray([(0, 1, 2, 7)])])
    track = PositionTrack(keys=Keys.make([0, 10], [[0, 0, 0], [1, 2, 3]]))
    document = new_document(
        Editor(
            children=[
                Material(children=[MaterialName(name), TextureMap1(children=[MapName(name)])]),
                NamedObject(name, children=[mesh]),
            ]
        ),
        Keyframer(
            children=[
                KeyframerHeader(name=name),
                ObjectNode(children=[NodeId(0), NodeHeader(name), track, *more]),
            ]
        ),
    )
    path = folder / "hostile.3ds"
    path.write_bytes(keyframer.encode(document))
    return path
