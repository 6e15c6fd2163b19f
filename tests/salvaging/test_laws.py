"""The laws of salvage, for every format and every sample, with all kinds of damage from a fixed seed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from benchmarks.bench_salvage import DAMAGES

import keyframer
from keyframer.formats import FORMATS
from keyframer.formats.ase import records as ase
from keyframer.formats.uto3d.records import Mesh
from keyframer.issues import Severity
from keyframer.salvaging import Salvaged
from keyframer.salvaging.byte_map import DROPPED, KEPT, REPAIRED, STATES
from keyframer.wire.record import Record
from tests.corpus import CORPUS, animation_files, more_animation_files, needs_corpus
from tests.samples import FOLDER, all_samples
from tests.slow import SLOW

SAMPLES = all_samples()
ROUNDS = 8 if SLOW else 1
CUTS = 60 if SLOW else 8
EVERY_BYTE = 1_000 if SLOW else 500
"""size of samples that are cut at every byte"""

FORMATS_BY_NAME = {known.name: known for known in FORMATS}

LARGEST = 1 << 20 if SLOW else 12_000
"""size of real files that are damaged"""

Counts = tuple[int, int, int]
Parts = dict[str, list[tuple[object, ...]]]


def salvaged(data: bytes, name: str) -> Salvaged | None:
    """Salvage a file; None if nothing of it can be kept."""
    try:
        return keyframer.salvage(data, format=name)
    except keyframer.FormatError:
        return None


def damaged(data: bytes, path: Path) -> dict[str, bytes]:
    """Return the file with each kind of damage."""
    return {
        f"{damage} {number}": DAMAGES[damage](data, Random(f"{path.name}/{damage}/{number}"))
        for damage in DAMAGES
        for number in range(ROUNDS)
    }


def counts(data: bytes, name: str) -> Counts:
    """Return the number of meshes, nodes and keys."""
    scene = keyframer.load(data, format=name, salvage=True)
    keys = sum(len(channel.track.times) for clip in scene.clips for channel in clip.channels)
    return len(scene.meshes), len(scene.nodes), keys


def parts(data: bytes, name: str | None, *, salvage: bool) -> Parts:
    """Return the parts of a scene by kind: of each its name and size."""
    scene = keyframer.load(data, format=name, salvage=salvage)
    return {
        "nodes": [(node.name, node.parent) for node in scene.nodes],
        "meshes": [(mesh.name, len(mesh.positions), mesh.corners.tolist()) for mesh in scene.meshes],
        "materials": [(material.name,) for material in scene.materials],
        "cameras": [(camera.name,) for camera in scene.cameras],
        "lights": [(light.name,) for light in scene.lights],
        "channels": [
            (channel.node, channel.track.kind, len(channel.track.times))
            for clip in scene.clips
            for channel in clip.channels
        ],
    }


def assert_it_has_the_parts_that_load_shows(data: bytes, clean: bytes, name: str | None, damage: str) -> None:
    found, expected = parts(clean, name, salvage=False), parts(data, name, salvage=True)
    for kind in expected:
        assert found[kind] == expected[kind], (damage, kind)


def number_a_row_wrongly(mesh: Record) -> None:
    vertices = table(mesh, ase.VertexList)
    vertices.index = np.append(vertices.index[:-1], 99)


def break_a_face(mesh: Record) -> None:
    faces = table(mesh, ase.FaceList)
    faces.corners = np.concatenate([[[0, 1, 99]], faces.corners[1:]])
    table(mesh, ase.Normals).corners = faces.corners.reshape(-1)


def break_a_face_of_rows_in_another_order(mesh: Record) -> None:
    faces = table(mesh, ase.FaceList)
    for name in ("index", "corners", "edges", "smoothing", "materials"):
        setattr(faces, name, getattr(faces, name)[::-1].copy())
    break_a_face(mesh)


def break_a_face_and_lose_texture_coordinates(mesh: Record) -> None:
    corners = table(mesh, ase.TextureFaceList)
    corners.index, corners.values = corners.index[:-1], corners.values[:-1]
    break_a_face(mesh)


def break_a_texture_face(mesh: Record) -> None:
    corners = table(mesh, ase.TextureFaceList)
    corners.values = np.concatenate([[[0, 1, 99]], corners.values[1:]])


def add_a_face(mesh: Record) -> None:
    """Give the mesh the same face a second time, with its corners in turn."""
    for kind in (ase.FaceList, ase.TextureFaceList, ase.ColorFaceList, ase.Normals):
        rows = table(mesh, kind)
        for plan in rows.plan.fields:
            column = getattr(rows, plan.name)
            if isinstance(column, np.ndarray):
                turned = np.roll(column, -1, axis=-1) if plan.name in ("corners", "values") else column
                setattr(rows, plan.name, np.concatenate([column, turned]))
        rows.index = np.arange(2)


def table(mesh: Record, kind: type[Any]) -> Any:
    return next(part for part in mesh.children if isinstance(part, kind))


def each_sample(function: object) -> object:
    return pytest.mark.parametrize(
        ("name", "path"), SAMPLES, ids=lambda value: value.name if isinstance(value, Path) else value
    )(function)


@each_sample
def test_a_good_file_comes_back_identical(name: str, path: Path) -> None:
    data = path.read_bytes()
    if any(issue.unsafe for issue in keyframer.check(data, format=name).issues):
        pytest.skip("a damaged sample")
    result = keyframer.salvage(data, format=name)
    assert result.data == data
    assert not result.changed
    assert {span.state for span in result.spans} <= {KEPT, "unknown"}


@each_sample
def test_what_comes_out_of_damaged_files(name: str, path: Path) -> None:
    results = {damage: (data, salvaged(data, name)) for damage, data in damaged(path.read_bytes(), path).items()}
    for damage, (data, result) in results.items():
        if result is not None:
            assert_it_is_safe_and_needs_no_second_salvage(result, name, damage)
            assert_the_map_tiles_the_source_and_tells_the_truth(data, result, name, damage)
            assert_it_has_the_parts_that_load_shows(data, result.data, name, damage)
    assert any(result is not None for _, result in results.values())


def assert_it_is_safe_and_needs_no_second_salvage(result: Salvaged, name: str, damage: str) -> None:
    errors = [issue for issue in keyframer.check(result.data, format=name).issues if issue.severity is Severity.ERROR]
    assert [issue for issue in errors if not issue.code.startswith("DATA_")] == [], damage  # invalid values stay
    if FORMATS_BY_NAME[name].signatures:
        assert keyframer.detect(result.data).format is FORMATS_BY_NAME[name], damage
    again = keyframer.salvage(result.data, format=name)
    assert again.data == result.data, damage
    assert not again.changed, damage


def assert_the_map_tiles_the_source_and_tells_the_truth(data: bytes, result: Salvaged, name: str, damage: str) -> None:
    assert result.changed == (result.data != data), damage
    end, made = 0, len(result.data)
    for span in result.spans:
        assert span.start == end < span.end, damage
        assert span.state in STATES, damage
        assert bool(span.code and span.reason) == (span.state in (DROPPED, REPAIRED)), damage
        end = span.end
        if span.state == DROPPED:
            assert span.to is None, damage
            continue
        assert span.to is not None
        there = result.data[span.to : span.to + span.end - span.start]
        assert (there == data[span.start : span.end]) == (span.state != REPAIRED), damage
        assert span.state != KEPT or span.to == span.start, damage
        made -= span.end - span.start
    assert end == len(data), damage
    if name != "ase":  # blocks that are closed again get their braces, tables without some rows are written anew
        # the header of a container that is made again, and CR that lengths prove
        assert made <= 6 + damage.startswith("CR removed") * data.count(b"\n"), damage


@pytest.mark.parametrize(
    "damage",
    [
        number_a_row_wrongly,
        break_a_face,
        break_a_face_of_rows_in_another_order,
        break_a_face_and_lose_texture_coordinates,
        break_a_texture_face,
    ],
)
def test_meshes_with_wrong_rows_keep_the_others(damage: Callable[[Record], None]) -> None:
    document = keyframer.decode((FOLDER / "ase" / "textured.ase").read_bytes())
    mesh = next(record for record in document.find(Record) if record.segment == "mesh")
    add_a_face(mesh)
    damage(mesh)
    data = keyframer.encode(document)
    result = keyframer.salvage(data)
    assert result.changed
    assert_it_has_the_parts_that_load_shows(data, result.data, "ase", damage.__name__)
    shown, kept = keyframer.load(data, salvage=True), keyframer.load(result.data)
    for before, after in zip(shown.meshes, kept.meshes, strict=True):
        for name in ("uv_corners", "normal_corners", "smoothing", "face_materials"):
            assert np.array_equal(getattr(before, name), getattr(after, name)), name


@pytest.mark.parametrize("field", ["uv_faces", "colour_faces"])
def test_faces_stay_if_their_texture_coordinates_or_colours_are_missing(field: str) -> None:
    document = keyframer.decode((FOLDER / "uto3d" / "literal.u3d").read_bytes())
    (mesh,) = (mesh for mesh in document.find(Mesh) if len(mesh.uv_faces) and len(mesh.colour_faces))
    corners = getattr(mesh, field).copy()
    corners[0, 1] = 1000
    setattr(mesh, field, corners)
    data = keyframer.encode(document)
    result = keyframer.salvage(data)
    assert result.changed
    assert len(data) == len(result.data)
    assert_it_has_the_parts_that_load_shows(data, result.data, "uto3d", field)


def test_brushes_before_a_broken_one_stay() -> None:
    """A list of brushes or textures ends inside an entry; the entries before it are whole."""
    data = (FOLDER / "b3d/layered.b3d").read_bytes()
    shortened = 0
    for tag in (b"BRUS", b"TEXS"):
        for at in (at for at in range(len(data)) if data.startswith(tag, at)):
            length = int.from_bytes(data[at + 4 : at + 8], "little")
            for cut in (1, 3, 9):
                kept = max(length - cut, 0).to_bytes(4, "little")
                short = data[: at + 4] + kept + data[at + 8 : at + 8 + length - cut] + data[at + 8 + length :]
                broken = short[:4] + (len(short) - 8).to_bytes(4, "little") + short[8:]
                result = salvaged(broken, "b3d")
                if length > cut and result is not None:
                    assert_it_has_the_parts_that_load_shows(broken, result.data, "b3d", f"{tag!r}, {cut}")
                    shortened += result.changed
    assert shortened


@needs_corpus
def test_clean_files_of_real_ones_have_the_parts_that_load_shows() -> None:
    for path in sorted((CORPUS / "damaged").iterdir()):
        data = path.read_bytes()
        assert_it_has_the_parts_that_load_shows(data, keyframer.salvage(data).data, None, path.name)
    found = 0
    for number, path in enumerate(animation_files() + more_animation_files()):
        data = path.read_bytes()
        name = keyframer.detect(data, name=path.name).format
        if name is None or len(data) > LARGEST:
            continue
        kinds = list(DAMAGES)
        for damage in kinds if SLOW else kinds[number % len(kinds) :][:1]:
            broken = DAMAGES[damage](data, Random(f"{path.name}/{damage}"))
            result = salvaged(broken, name.name)
            if result is not None:
                assert_it_has_the_parts_that_load_shows(broken, result.data, name.name, f"{path.name}, {damage}")
                found += 1
    assert found > 20


@each_sample
def test_a_longer_prefix_never_yields_less(name: str, path: Path) -> None:
    data = path.read_bytes()
    most = (0, 0, 0)
    for size in (
        range(1, len(data) + 1) if len(data) <= EVERY_BYTE else [len(data) * n // CUTS for n in range(1, CUTS + 1)]
    ):
        result = salvaged(data[:size], name)
        found = (0, 0, 0) if result is None else counts(result.data, name)
        assert all(now >= before for now, before in zip(found, most, strict=True)), size
        most = found


@each_sample
def test_every_whole_record_in_front_of_the_damage_is_kept(name: str, path: Path) -> None:
    data = path.read_bytes()
    document = keyframer.decode(data, format=name)
    if document.issues.first_unsafe() is not None:
        pytest.skip("a damaged sample")
    if path.name == "sampled.u3d":
        pytest.skip("only the end of a file proves sampled controllers")
    starts = sorted(
        record.offset for place, record in document.walk() if record.offset is not None and str(place).count("/") <= 3
    )
    for number in range(4):
        at = Random(f"{path.name}/{number}").randrange(len(data))
        result = salvaged(data[:at], name)
        if name == "ase":  # only whole lines are kept
            at = data.rfind(b"\n", 0, at)
        if result is None:
            continue
        whole = max((start for start in starts if start <= at), default=0)
        lost = [span for span in result.spans if span.state == DROPPED and span.start < whole]
        assert [span for span in lost if not span.code.startswith("LINK_")] == [], at  # links to what is lost


def test_every_format_is_salvaged() -> None:
    assert {name for name, _ in SAMPLES} == {known.name for known in FORMATS}


@each_sample
def test_the_source_is_not_touched(tmp_path: Path, name: str, path: Path) -> None:
    source = tmp_path / path.name
    source.write_bytes(path.read_bytes()[:-3])
    before = source.stat()
    with suppress(keyframer.FormatError):
        keyframer.salvage(source, format=name)
    assert source.read_bytes() == path.read_bytes()[:-3]
    assert source.stat().st_mtime_ns == before.st_mtime_ns
