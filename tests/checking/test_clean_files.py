"""What `check` calls clean loads and converts to GLB; what it calls unsafe is refused by `load`. Nothing raises foreign
exceptions, and numpy never warns (warnings are errors in all tests)."""

from __future__ import annotations

import struct
from io import BytesIO
from pathlib import Path
from random import Random
from zipfile import ZIP_STORED, ZipFile

import pytest

import keyframer
from keyframer.inspecting.samples import Sample
from keyframer.rendering import render
from tests.building import files as w
from tests.fuzz.mutating import mutate
from tests.fuzz.seeds import all_seeds
from tests.slow import SLOW
from tests.stage.archives import fixture, pack

KINDS = [kind for kind in all_seeds() if kind not in ("text", "zip")]
MUTANTS = 300 if SLOW else 40


def check_agreement(data: bytes, kind: str, folder: Path) -> str:
    """Return the verdict, after checking that loading and converting agree with it."""
    report = keyframer.check(data, format=kind)
    scene, refusal = None, None
    try:
        scene = keyframer.load(data, format=kind)
    except keyframer.FormatError as error:
        refusal = error
    unsafe = report.issues.first_unsafe()
    assert (unsafe is None) == (refusal is None), f"check: {unsafe}, load: {refusal}"
    if scene is not None:
        try:
            keyframer.save(scene, folder / "out.glb", overwrite=True)
        except keyframer.FormatError as error:
            refusal = error
    assert refusal is None or report.verdict != "clean", refusal
    assert unsafe is not None or refusal is None or refusal.code.startswith("LIMIT_"), refusal
    return report.verdict


@pytest.mark.parametrize("kind", KINDS)
def test_samples_and_mutants(kind: str, tmp_path: Path) -> None:
    seeds, random = all_seeds()[kind], Random(f"clean files of {kind}")
    inputs = [seed.data for seed in seeds if len(seed.data) <= 4096][:: 1 if SLOW else 4]
    inputs += [mutate(random.choice(seeds), seeds, random).data for _ in range(MUTANTS)]
    verdicts = {check_agreement(data, kind, tmp_path) for data in inputs}
    assert "clean" in verdicts
    assert len(verdicts) > 1


def threeds(editor: list[bytes], nodes: list[bytes]) -> bytes:
    return w.main(w.chunk(0x3D3D, *editor), w.chunk(0xB000, *nodes))


def triangle(name: bytes) -> bytes:
    return w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 2)), name=name)


def morph_without_vertices(points: bytes) -> bytes:
    keys = b"".join(struct.pack("<iH", frame, 0) + name + b"\0" for frame, name in ((0, b"A"), (10, b"B")))
    track = w.chunk(0xB026, struct.pack("<HiiI", 0, 0, 0, 2), keys)
    return threeds([w.mesh(points, name=b"A"), w.mesh(points, name=b"B")], [w.node(b"A", 0, -1, track)])


@pytest.mark.parametrize("points", [w.points(), b""], ids=["an empty list", "no list"])
def test_morph_of_a_mesh_without_vertices(points: bytes, tmp_path: Path) -> None:
    data = morph_without_vertices(points)
    assert check_agreement(data, "3ds", tmp_path) == "clean"
    scene = keyframer.load(data)
    assert scene.nodes[0].morph is not None
    assert keyframer.pose(scene, frames=[0, 5]).vertices(0).shape == (2, 0, 3)


SIGNALLING_NAN = bytes.fromhex("0100a07f")
MARK = 12345.0


@pytest.mark.parametrize(("track", "width"), [(0xB020, 3), (0xB021, 4), (0xB022, 3)])
def test_signalling_nan_in_another_track(track: int, width: int, tmp_path: Path) -> None:
    """Tracks of one layout are converted together when one of them is first used."""
    bad = w.track(track, w.key(0, *[MARK] * width), w.key(9, *[1.0] * width))
    good = w.track(track, w.key(0, *[1.0] * width), w.key(9, *[2.0] * width))
    nodes = [w.node(b"a", 0, -1, bad), w.node(b"b", 1, -1, good)]
    data = threeds([triangle(b"a"), triangle(b"b")], nodes).replace(struct.pack("<f", MARK), SIGNALLING_NAN)
    check_agreement(data, "3ds", tmp_path)
    assert keyframer.load(data).clips[0].channels[-1].track.values.shape[0] == 2
    assert render(keyframer.load(data, salvage=True), size=16).size == (16, 16)


def test_scales_that_overflow(tmp_path: Path) -> None:
    """Twelve nodes inside each other, each 3e38 times as large as its parent."""
    scale = w.track(0xB022, w.key(0, 3e38, 3e38, 3e38), w.key(20, -3e38, 3e38, 0))
    place = w.track(0xB020, w.key(0, 3e38, 3e38, 3e38), w.key(20, -3e38, 3e38, 0))
    nodes = [w.node(b"n%d" % number, number, number - 1, place, scale) for number in range(12)]
    data = threeds([triangle(b"n%d" % number) for number in range(12)], nodes)
    check_agreement(data, "3ds", tmp_path)
    scene = keyframer.load(data)
    rows = list(Sample(scene, frames=[0, 10], times=None).rows())
    assert len(rows) == 2 * len(scene.nodes)


def test_unused_member_that_cannot_be_unpacked(tmp_path: Path) -> None:
    """Loading does not need the model, so its wrong checksum is a warning."""
    content = b"glTF, stored and not packed"
    packed = fixture("", '<Geometry Name="Base"/>', {"models/gltf/spare.glb": content})
    with ZipFile(BytesIO(packed)) as archive:
        stored = pack({name: archive.read(name) for name in archive.namelist()}, ZIP_STORED)
    data = stored.replace(content, content.upper())
    assert check_agreement(data, "gdtf", tmp_path) != "clean"
    issues = [issue for issue in keyframer.check(data).issues if issue.code == "IO_READ_FAILED"]
    assert [(issue.path, issue.severity.label) for issue in issues] == [("models/gltf/spare.glb", "warning")]
