"""Rules of single formats that the threat tables do not cover, and the paths of records."""

from __future__ import annotations

import struct

import pytest

import keyframer
from keyframer.formats.kit.scene_reading import RecordPaths, scene_of
from keyframer.formats.threeds.records import Version
from keyframer.wire.record import Record
from tests.building import files as w
from tests.samples import all_samples

INFO = struct.pack("<H", 9) + bytes(4 * 21)


@pytest.mark.parametrize(
    ("data", "code", "path"),
    [
        (w.main(version=9), "SEM_UNKNOWN_VERSION", "/4d4d/0002/version"),
        (w.editor(w.chunk(0x3D3E, b"\x07\0\0\0")), "SEM_UNKNOWN_VERSION", "/4d4d/3d3d/3d3e/version"),
        (
            w.editor(w.material(b"red", w.chunk(0xA100, b"\x09\0"))),
            "SEM_UNKNOWN_ENUM",
            "/4d4d/3d3d/afff[0]/a100/shading",
        ),
        (w.editor(w.mesh(w.chunk(0x4170, INFO))), "SEM_UNKNOWN_ENUM", "/4d4d/3d3d/4000[0]/4100/4170/type"),
        (
            w.editor(w.material(b"red", w.texture(b"a.tga", w.chunk(0xA351, b"\0\x80")))),
            "SEM_UNKNOWN_FLAG_BITS",
            "/4d4d/3d3d/afff[0]/a200/a351/flags",
        ),
        (
            w.keyframer(w.node(b"a", 0, -1, w.chunk(0xB014, w.floats(1, 0, 0, 0, 1, 1)))),
            "DATA_BOUNDS_INVERTED",
            "/4d4d/b000/b002[0]/b014/minimum",
        ),
        (
            w.keyframer(w.node(b"a", 0, -1, w.track(0xB020, w.key(0, 0, 0, 0), flags=4))),
            "SEM_UNKNOWN_FLAG_BITS",
            "/4d4d/b000/b002[0]/b020/flags",
        ),
        (
            w.u3d(cameras=[w.u3d_camera()], controllers=[w.controller(5, 4, keys=[w.u3d_key(0, 1e9)])]),
            "DATA_ANGLE_HUGE",
            "/uto3d/ctrl/controllers[0]/keys[0]",
        ),
        (w.u3d(objects=[w.u3d_mesh(flags=1 << 20)]), "SEM_UNKNOWN_FLAG_BITS", "/uto3d/mesh/objects[0]/flags"),
    ],
)
def test_code_and_path_of_issues(data: bytes, code: str, path: str) -> None:
    issues = [issue for issue in keyframer.check(data).issues if issue.code == code]
    assert [issue.path for issue in issues] == [path]
    assert issues[0].severity.label == "warning"


@pytest.mark.parametrize(("name", "path"), all_samples(), ids=[f"{name}-{path.name}" for name, path in all_samples()])
def test_paths_of_records_match_those_of_walk(name: str, path: object) -> None:
    document = keyframer.read(path)  # type: ignore[arg-type]
    places = RecordPaths(document)
    assert [(str(place), record) for place, record in document.walk()] == [
        (places.path(record), record) for record in document.find(Record)
    ]


def test_record_of_another_document_raises_lookup_error() -> None:
    with pytest.raises(LookupError):
        RecordPaths(keyframer.decode(w.main())).path(Version())


def test_nodes_that_share_a_large_mesh_are_classified_alike() -> None:
    """From the ninth node on only some vertices are compared, the outermost among them, so the result is the same."""
    vertices = [(float(n % 7), float(n % 11), float(n)) for n in range(1_000)]
    matrix = w.chunk(0x4160, w.floats(2, 0, 0, 0, 3, 0, 0, 0, 4, 1, 2, 3))
    moved = [w.node(b"Box", n, -1, w.track(0xB020, w.key(0, 50, 60, 70))) for n in range(20)]
    data = w.main(w.chunk(0x3D3D, w.mesh(w.points(*vertices), matrix)), w.chunk(0xB000, *moved))
    scene = scene_of(keyframer.decode(data))
    assert {node.extras["3ds"]["geometry"] for node in scene.nodes} == {"raw"}
    assert scene.issues.counts["SCENE_REST_POSE"] == 20
    assert len({issue.message for issue in scene.issues}) == 1
