"""Which declared fields each bridge reads: every access to a field is recorded while the samples are read as scenes.

A field must either be read or be listed in `UNREAD`, not both. The same test for 3D Studio is next to its bridge.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats import format_by_name
from keyframer.formats.ase.records import BLOCK_TYPES, TABLES
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.wire.record import Record
from tests.building import uto3d
from tests.building.hale3d import arm, wave
from tests.building.midtown import channel as midtown_channel
from tests.samples import sample_files

ASE_TABLES = [cls.__name__ for cls in dict.fromkeys(TABLES.values())]
COUNT = "how many entries follow: they are counted"
RAW = "bytes that nobody understood: only in salvaged scenes, the issue says where, the document keeps them"
SIGNATURE = "what kind of file it is is known by then"

UNREAD: dict[str, dict[str, str]] = {
    "uto3d": {
        **{f"Main.{kind}_count": COUNT for kind in ("object", "camera", "light", "material", "controller", "bone")},
        **{f"{kind}.{what}_count": COUNT for kind in ("Mesh", "MeshWithUvFaces") for what in ("vertex", "face")},
        **{f"{kind}.{what}_count": COUNT for kind in ("Mesh", "MeshWithUvFaces") for what in ("uv", "colour")},
        "Controller.key_count": COUNT,
        "BezierController.key_count": COUNT,
        "NoController.type": "a placeholder of the Flexporter: there is nothing to move",
        "NoController.filler": "always 255",
        "RawRest.data": RAW,
    },
    "hale3d": {
        "Animation.id": SIGNATURE,
        "Model.id": SIGNATURE,
        **{f"Animation.{kind}_count": COUNT for kind in ("frame", "joint", "component")},
        **{f"Model.{kind}_count": COUNT for kind in ("mesh", "joint")},
        **{f"Mesh.{kind}_count": COUNT for kind in ("vertex", "weight", "triangle")},
        "RawRun.data": RAW,
    },
    "vue": {"Line.data": "a line that is no command, which is reported", "RawRun.data": RAW},
    "md5": {
        **{f"Animation.{kind}_count": COUNT for kind in ("frame", "joint", "component")},
        **{f"Model.{kind}_count": COUNT for kind in ("mesh", "joint")},
        **{f"Mesh.{kind}_count": COUNT for kind in ("vertex", "weight", "triangle")},
        **{f"CameraPath.{kind}_count": COUNT for kind in ("frame", "cut")},
        **{f"{kind}.command_line": "how an exporter was called" for kind in ("Animation", "Model", "CameraPath")},
        "Cut.headset": "for players with a headset in another engine",
        "RawRun.data": RAW,
    },
    "midtown": {
        "Clip.channels": COUNT,
        "Clip.frames": COUNT,
        "Channel.floats": COUNT,
        "OldClip.frames": COUNT,
        "OldClip.bones": COUNT,
        "RawRun.data": RAW,
    },
    "b3d": {
        "Animation.flags": "unused",
        "Brushes.texture_count": COUNT,
        "Sequence.flags": "unknown, always 0",
        "RawChunk.data": RAW,
    },
    "horde3d": {
        "Animation.id": SIGNATURE,
        "Animation.entity_count": COUNT,
        "Entity.compressed": "its frames are counted",
        "Geometry.id": SIGNATURE,
        "Geometry.version": "always 5",
        **{f"Geometry.{kind}_count": COUNT for kind in ("stream", "vertex")},
        "Stream.element_size": "the columns of the values follow from it",
        **{f"Triangles.{kind}_count": COUNT for kind in ("corner", "target")},
        **{f"MorphTarget.{kind}_count": COUNT for kind in ("vertex", "stream")},
        "MorphStream.element_size": "the columns of the values follow from it",
        "RawRun.data": RAW,
    },
    "ase": {
        **{f"{table}.body": "the text that the columns were read from" for table in ASE_TABLES},
        **{
            f"{cls.__name__}.values": "none, or a number in order"
            for cls in BLOCK_TYPES.values()
            if cls.KEYWORD not in (b"MATERIAL", b"GROUP")
        },
        "Block.values": "of keywords that nobody knows",
        "RawText.data": RAW,
    },
    "nodeanim": {f"Node.{kind}_key_count": COUNT for kind in ("translation", "rotation", "scale")},
}


class Watch:
    """Replaces the slot of a field and records who reads it."""

    def __init__(self, slot: Any, name: str, seen: set[str]) -> None:
        self.slot, self.name, self.seen = slot, name, seen

    def __get__(self, record: Any, owner: type | None = None) -> Any:
        if record is None:
            return self
        self.seen.add(f"{type(record).__name__}.{self.name}")
        return self.slot.__get__(record, owner)

    def __set__(self, record: Any, value: Any) -> None:
        self.slot.__set__(record, value)


@contextmanager
def watched(types: list[type[Record]]) -> Iterator[set[str]]:
    """Record the fields that are read inside the block, as ``Mesh.vertices``."""
    seen: set[str] = set()
    replaced: list[tuple[type, str, Any]] = []
    for cls in types:
        for plan in cls.plan.fields:
            home = next(base for base in cls.__mro__ if plan.name in vars(base))
            slot = vars(home)[plan.name]
            if not isinstance(slot, Watch):
                setattr(home, plan.name, Watch(slot, plan.name, seen))
                replaced.append((home, plan.name, slot))
    try:
        yield seen
    finally:
        for home, name, slot in replaced:
            setattr(home, name, slot)


def documents(name: str) -> list[tuple[keyframer.Document, dict[str, object]]]:
    """All samples, and more documents that are needed to use every field."""
    result: list[tuple[keyframer.Document, dict[str, object]]] = [
        (keyframer.decode(path.read_bytes(), format=name), {}) for path in sample_files(name)
    ]
    if name == "ase":
        scene = keyframer.Scene([keyframer.Node("a", mesh=0)], [keyframer.Mesh("a", np.eye(3), [[0, 1, 2]])])
        scene.meshes[0].normals = np.eye(3)
        result.append((keyframer.decode(keyframer.encode(format_by_name("ase").from_scene(scene).document)), {}))
    if name == "hale3d":
        result.append((keyframer.decode(wave()), {"model": keyframer.decode(arm())}))
    if name == "midtown":
        cut = b"\2\0\0\0\3\0\0\0" + midtown_channel([[0.0] * 6] * 3) + midtown_channel([[0.0] * 6] * 3)[:-5]
        result.append((keyframer.decode(cut, format=name), {}))
    if name == "uto3d":
        full = uto3d.small_scene()
        full.lights = [uto3d.light(b"Fspot", 31, 2), uto3d.light(b"Omni", 30)]
        parts = (uto3d.UVS, uto3d.COLOURS, uto3d.SPHERE)
        full.meshes = [
            uto3d.mesh(b"Weighted", 10, uto3d.WEIGHTED, *parts),
            uto3d.mesh(b"Rigid", 11, uto3d.SIMPLE, *parts),
            uto3d.mesh(b"Bare", 12),
        ]
        full.controllers.append({**uto3d.tcb(0, 9, 999)})
        full.controllers.append(
            {"type": 0, "id": 77, "owner": 10, "scheme": 2, "keys": [(0, [0, 0, 3]), (9, [0, 2, 9])]}
        )
        for manner in (uto3d.B, uto3d.LITERAL):
            result.append((keyframer.decode(uto3d.write(full, manner)), {}))
        lost = uto3d.Scene(controllers=[uto3d.sampled(1, 2, 77), uto3d.tcb(0, 1, 10, (0, 0))])
        result.append((keyframer.decode(uto3d.write(lost, uto3d.A)), {}))
    return result


@pytest.mark.parametrize("name", UNREAD)
def test_every_field_is_read_or_listed(name: str) -> None:
    known = format_by_name(name)
    types = list(known.record_types().values())
    declared = {f"{cls.__name__}.{plan.name}" for cls in types for plan in cls.plan.fields}
    samples = documents(name)
    with watched(types) as seen:
        for document, options in samples:
            scene_of(document, options, salvage=True)
    assert declared - seen == set(UNREAD[name])
    assert all(UNREAD[name].values())


def test_the_watch_records_reads() -> None:
    known = format_by_name("midtown")
    types = list(known.record_types().values())
    document = documents("midtown")[0][0]
    with watched(types) as seen:
        scene_of(document)
        assert "Channel.rows" in seen
    with watched(types) as seen:
        assert not seen


@pytest.mark.parametrize("name", UNREAD)
def test_every_key_of_a_table_is_read(name: str) -> None:
    """Every key of every table is in a channel, in a raw channel or in the extras."""
    for document, options in documents(name):
        scene = scene_of(document, options, salvage=True)
        kept = sum(len(channel.track.times) for clip in scene.clips for channel in clip.channels)
        for clip in scene.clips:
            for orphan in clip.extras.get("uto3d", {}).get("controllers_without_owner", ()):
                kept += sum(len(track["times"]) for track in orphan["tracks"])
        stored = 0
        for record in document.find(Record):
            for plan in record.plan.fields:
                table = getattr(record, plan.name, None)
                if plan.name.endswith("keys") and table is not None:
                    stored += len(table)
        assert kept >= stored
