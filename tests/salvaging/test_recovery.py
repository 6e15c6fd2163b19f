"""What salvage finds in damaged files, and what it refuses to guess."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keyframer
from keyframer.formats import format_by_name
from keyframer.formats.document import is_whole
from keyframer.formats.hale3d.records import ModelJoint
from keyframer.formats.nodeanim.records import Node
from keyframer.formats.recovery import Recovery
from keyframer.formats.recovery import recover as recover_whole
from keyframer.formats.threeds.recovery import recover
from keyframer.inspecting.identity import identify
from keyframer.limits import Limits
from keyframer.salvaging import carve
from keyframer.salvaging.byte_map import DROPPED, byte_counts
from keyframer.scene.scene import Scene
from keyframer.wire.record import Record
from tests.cli.running import EXAMPLE
from tests.corpus import CORPUS, needs_corpus
from tests.growth import assert_linear
from tests.samples import FOLDER, all_samples, sample_files, unhex
from tests.samples.make_3ds import chunk, key, strz, track, triangle, u16

WINDMILL = EXAMPLE.read_bytes()


def named(name: str) -> bytes:
    """An object with a triangle."""
    return chunk(0x4000, strz(name), triangle())


def node(name: str, *keys: bytes) -> bytes:
    return chunk(0xB002, chunk(0xB010, strz(name), u16(0x4000, 0, 0xFFFF)), track(0xB020, *keys))


def position(frame: int) -> bytes:
    return key(frame, 0, struct.pack("<3f", frame, 0, 0))


def file_of(editor: bytes, keyframer_section: bytes = b"") -> bytes:
    return chunk(0x4D4D, chunk(0x3D3D, editor), keyframer_section)


def names(data: bytes) -> list[str]:
    return [mesh.name for mesh in keyframer.load(data).meshes if len(mesh.corners)]


@pytest.mark.parametrize("path", sample_files("3ds"), ids=lambda path: path.name)
def test_ids_instead_of_lengths_give_the_same_chunks(path: Path) -> None:
    data = path.read_bytes()
    document = keyframer.decode(data, format="3ds")
    if document.issues.first_unsafe() is not None:
        pytest.skip("a damaged sample")
    assert keyframer.encode(recover(data)) + document.trailing == data


def test_what_follows_a_destroyed_object_is_found() -> None:
    whole = file_of(named("One") + named("Two") + named("Three"))
    start = whole.index(b"Two") - 6
    damaged = whole[:start] + bytes(12) + whole[start + 12 :]  # header and name
    result = keyframer.salvage(damaged)
    assert names(result.data) == ["One", "Three"]
    (lost,) = (span for span in result.spans if span.state == DROPPED)
    assert (lost.start, lost.end) == (start, whole.index(b"Three") - 6)
    assert lost.code == "STRUCT_CHUNK_TOO_SMALL"


@pytest.mark.parametrize("length", [20, 0x7FFFFFFF])
@pytest.mark.parametrize("container", ["3d3d", "4000", "4100"])
def test_a_wrong_length_of_a_container_is_repaired_from_what_is_inside(container: str, length: int) -> None:
    whole = file_of(named("One") + named("Two"), chunk(0xB000, node("One", position(0))))
    at = whole.index(int(container, 16).to_bytes(2, "little"))
    damaged = whole[: at + 2] + struct.pack("<I", length) + whole[at + 6 :]
    assert keyframer.salvage(damaged).data == whole


def test_a_wrong_length_of_a_table_is_repaired_from_its_count() -> None:
    whole = file_of(named("One") + named("Two"))
    at = whole.index(unhex("10 41"))  # vertices
    damaged = whole[: at + 2] + struct.pack("<I", 5000) + whole[at + 6 :]
    assert keyframer.salvage(damaged).data == whole


def test_only_whole_keys_of_a_cut_track_are_kept() -> None:
    whole = file_of(named("One"), chunk(0xB000, node("One", *map(position, range(5)))))
    scene = keyframer.load(keyframer.salvage(whole[:-7]).data)
    assert scene.clips[0].channels[0].track.times.tolist() == [0, 1, 2, 3]


def test_a_destroyed_keyframer_header_does_not_hide_its_nodes() -> None:
    whole = file_of(named("One"), chunk(0xB000, node("One", position(0), position(9))))
    at = whole.index(unhex("00 b0"))
    result = keyframer.salvage(whole[:at] + bytes(6) + whole[at + 6 :])
    assert result.data == whole


def test_faces_without_vertices_go_with_their_materials_and_smoothing() -> None:
    points = chunk(0x4110, u16(4), struct.pack("<12f", *range(12)))
    groups = chunk(0x4130, strz("Red"), u16(3, 0, 1, 2)) + chunk(0x4150, struct.pack("<3I", 1, 2, 4))
    faces = chunk(0x4120, u16(3, 0, 1, 2, 7, 0, 1, 99, 7, 1, 2, 3, 7), groups)  # the second has no vertex 99
    material = chunk(0xAFFF, chunk(0xA000, strz("Red")))
    data = file_of(material + chunk(0x4000, strz("One"), chunk(0x4100, points, faces)))
    mesh = keyframer.load(keyframer.salvage(data).data).meshes[0]
    assert mesh.corners.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert mesh.face_materials.tolist() == [0, 0]
    assert mesh.smoothing is not None
    assert mesh.smoothing.tolist() == [1, 4]


def test_much_damage_costs_no_more_than_loading_with_salvage() -> None:
    """120 objects with one good face and 200 without vertices: more issues than a few checks used to list."""
    points = chunk(0x4110, u16(3), struct.pack("<9f", *range(9)))
    faces = chunk(0x4120, u16(201, 0, 1, 2, 7), u16(0, 1, 99, 7) * 200)
    data = file_of(b"".join(chunk(0x4000, strz(f"o{n}"), chunk(0x4100, points, faces)) for n in range(120)))
    expected = [(mesh.name, mesh.corners.tolist()) for mesh in keyframer.load(data, salvage=True).meshes]
    clean = keyframer.load(keyframer.salvage(data).data)
    assert [(mesh.name, mesh.corners.tolist()) for mesh in clean.meshes] == expected
    assert {len(corners) for _, corners in expected} == {1}


def parts_of(scene: Scene) -> list[object]:
    """What a scene shows of each part."""
    meshes = [(mesh.name, mesh.positions.tolist(), mesh.corners.tolist()) for mesh in scene.meshes]
    keys = [[(each.node, each.track.kind, len(each.track.times)) for each in clip.channels] for clip in scene.clips]
    nodes = [(each.name, each.kind, each.parent, each.target, each.mesh) for each in scene.nodes]
    return [nodes, meshes, [each.name for each in scene.materials], keys]


def linked(name: str, number: int, parent: int) -> bytes:
    header = chunk(0xB010, strz(name), u16(0x4000, 0, parent))
    return chunk(0xB002, chunk(0xB030, u16(number)), header, track(0xB020, position(0), position(9)))


def test_bad_links_cost_neither_name_nor_node() -> None:
    nodes = [("A", 0, 0), ("B", 1, 0xFFFF), ("C", 1, 0xFFFF), ("D", 3, 1), ("E", 4, 5), ("F", 5, 4)]
    data = file_of(named("A"), chunk(0xB000, *(linked(*node) for node in nodes)))
    shown = keyframer.load(data, salvage=True)
    assert [(node.name, node.parent) for node in shown.nodes] == [
        *(("A", None), ("B", None), ("C", None), ("D", 1), ("E", 5), ("F", None))
    ]
    assert parts_of(keyframer.load(keyframer.salvage(data).data)) == parts_of(shown)


def test_a_node_without_its_id_stays() -> None:
    """Its place among the nodes is its id then, which another node has."""
    header = chunk(0xB010, strz("B"), u16(0x4000, 0, 0xFFFF))
    without_id = chunk(0xB002, header, track(0xB020, position(0), position(9)))
    nodes = [linked("A", 1, 0xFFFF), without_id, linked("C", 2, 1)]
    data = file_of(named("A"), chunk(0xB000, *nodes))
    shown = keyframer.load(data, salvage=True)
    assert [(node.name, node.parent) for node in shown.nodes] == [("A", None), ("B", None), ("C", 0)]
    assert parts_of(keyframer.load(keyframer.salvage(data).data)) == parts_of(shown)


@needs_corpus
@pytest.mark.parametrize("path", sorted((CORPUS / "damaged").glob("*.3ds")), ids=lambda path: path.stem)
def test_clean_files_of_real_damage_have_what_salvage_shows(path: Path) -> None:
    assert parts_of(keyframer.load(keyframer.salvage(path).data)) == parts_of(keyframer.load(path, salvage=True))


def test_a_destroyed_beginning_needs_the_extension_or_the_format(tmp_path: Path) -> None:
    damaged = bytes(6) + WINDMILL[6:]
    with pytest.raises(keyframer.FormatError):
        keyframer.salvage(damaged)
    path = tmp_path / "scene.3ds"
    path.write_bytes(damaged)
    assert keyframer.salvage(path).data == keyframer.salvage(damaged, format="3ds").data == WINDMILL
    assert keyframer.check(damaged, format="3ds").verdict == "damaged"


def test_u3d_goes_on_at_the_next_section() -> None:
    whole = (FOLDER / "uto3d" / "maxscript.u3d").read_bytes()
    cameras = whole.index(b"CAMS")
    at = whole.index(b"MESH") + 4
    counts = keyframer.load(keyframer.salvage(whole[:at] + bytes(40) + whole[at + 40 : cameras] + whole[cameras:]).data)
    expected = keyframer.load(whole)
    assert (len(counts.cameras), len(counts.lights)) == (len(expected.cameras), len(expected.lights)) == (1, 2)
    assert len(counts.meshes) < len(expected.meshes)


@pytest.mark.parametrize("name", ["hale3d/wave-nul-ended.anim", "midtown/retail.anim"])
def test_whole_frames_of_tables_are_kept(name: str) -> None:
    whole = (FOLDER / name).read_bytes()
    format_name = name.partition("/")[0]

    def rows_of(data: bytes) -> list[list[float]]:
        records = keyframer.decode(data, format=format_name).find(Record)
        rows: list[list[float]] = next(record.rows for record in records if hasattr(record, "rows")).tolist()
        return rows

    rows = rows_of(whole)
    cut = whole[: -4 * len(rows[0]) - 1]  # the last frame, and a byte of the one before
    assert rows_of(keyframer.salvage(cut, format=format_name).data) == rows[:-2]


def test_damage_does_not_change_the_layout_of_a_node_animation() -> None:
    whole = (FOLDER / "nodeanim" / "big_tcb_by_key_no_header.nanim").read_bytes()
    damaged = whole[:680] + bytes(114) + whole[794:]
    nodes = [record for record in keyframer.decode(whole, format="nodeanim").find(Node) if (record.offset or 0) < 680]
    result = keyframer.salvage(damaged, format="nodeanim")
    kept = list(keyframer.decode(result.data, format="nodeanim").find(Node))
    assert [(node.name, node.offset) for node in kept[:2]] == [(node.name, node.offset) for node in nodes[:2]]
    assert result.data[35:419] == whole[35:419]  # the second node


def test_a_file_is_changed_if_its_bytes_are() -> None:
    cut = (FOLDER / "ase" / "stage.ase").read_bytes()[:1000].rpartition(b"\n")[0] + b"\n"
    result = keyframer.salvage(cut)
    assert result.data.startswith(cut.rstrip())  # it only gets its closing braces
    assert result.changed


@pytest.mark.parametrize("name", ["arm-nul-ended.mdl", "arm-length.mdl"])
def test_a_model_without_joints_keeps_its_meshes(name: str) -> None:
    whole = (FOLDER / "hale3d" / name).read_bytes()
    joint = next(record.offset for record in keyframer.decode(whole).find(ModelJoint))
    result = keyframer.salvage(whole[:joint])
    expected, found = keyframer.load(whole), keyframer.load(result.data)
    assert [mesh.corners.tolist() for mesh in found.meshes] == [mesh.corners.tolist() for mesh in expected.meshes]
    assert {span.code for span in result.spans if span.state == DROPPED} == {"LINK_INDEX_OUT_OF_RANGE"}


@pytest.mark.parametrize("name", ["hale3d/arm-nul-ended.mdl", "uto3d/maxscript.u3d", "hale3d/cut.anim"])
def test_what_has_no_content_is_refused_with_the_cause(name: str) -> None:
    cut = (FOLDER / name).read_bytes()[:60]
    with pytest.raises(keyframer.FormatError, match="STRUCT_"):
        keyframer.salvage(cut)


def test_a_limit_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that exceeds a limit is refused at once: recovering its records would cost as much again."""
    format, few = format_by_name("3ds"), Limits(records=5)
    recovered: list[int] = []
    codec = format.codec()

    def counted(data: bytes, limits: Limits) -> keyframer.Document:
        recovered.append(len(data))
        return recover(data, limits)

    monkeypatch.setattr(type(format), "codec", lambda self: codec._replace(recover=counted))
    for refused in (
        lambda: keyframer.salvage(WINDMILL, limits=few),
        lambda: keyframer.load(WINDMILL, limits=few, salvage=True),
    ):
        with pytest.raises(keyframer.FormatError, match="LIMIT_RECORDS"):
            refused()
    assert recovered == []
    keyframer.salvage(WINDMILL[:-9])
    assert recovered


def test_what_nobody_would_recognise_is_refused(tmp_path: Path) -> None:
    whole = (FOLDER / "ase" / "stage.ase").read_bytes()
    path = tmp_path / "swapped.ase"
    for damaged in (whole[1300:] + whole[:1300], b"?" + whole):
        path.write_bytes(damaged)
        with pytest.raises(keyframer.FormatError):
            keyframer.salvage(path)
    with pytest.raises(keyframer.FormatError, match="does not begin like a file of 3ds Max ASCII scene"):
        keyframer.salvage(whole.replace(b"*3DSMAX_", b"*3DSMAXO", 1), format="ase")


@pytest.mark.parametrize(("copies", "refused"), [(20, False), (200, True)])
def test_a_scrap_of_another_file_is_not_its_clean_file(tmp_path: Path, copies: int, refused: bool) -> None:
    """A file that does not begin like its format, and has a whole scene inside: a damaged beginning, or another file.
    Less than 1 % of it is no rescue; a search for scenes inside files finds it."""
    foreign = bytes(range(0x80, 0x100)) * (len(WINDMILL) * copies // 256)
    path = tmp_path / "picture.3ds"
    path.write_bytes(foreign + WINDMILL + foreign)
    if not refused:
        assert keyframer.load(keyframer.salvage(path).data).nodes
        return
    message = "does not begin like a file of 3D Studio, and less than 1 % of it could be kept"
    with pytest.raises(keyframer.FormatError, match=message) as refusal:
        keyframer.salvage(path)
    assert refusal.value.code == "IO_UNRECOGNISED"
    path.write_bytes(WINDMILL[:60] + path.read_bytes()[60:])  # a beginning that shows the format: it was damaged behind
    assert len(keyframer.salvage(path).data) < 0.01 * path.stat().st_size
    assert [found.data for found in carve(foreign + WINDMILL + foreign)] == [WINDMILL]


def test_a_span_names_its_first_and_its_last_record() -> None:
    (span,) = keyframer.salvage(WINDMILL).spans
    places = [str(place) for place, _ in keyframer.decode(WINDMILL).walk()]
    assert (span.record, span.last_record) == ("/4d4d", places[-1])
    empty = keyframer.salvage(chunk(0x4D4D)).spans
    assert [(span.record, span.last_record) for span in empty] == [("/4d4d", "")]


# Transfers in text mode


def with_cr(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def with_control_z(data: bytes) -> bytes:
    return data + b"\x1a"


@pytest.mark.parametrize("spoil", [with_cr, with_control_z, lambda data: with_cr(data) + b"\x1a" * 5])
@pytest.mark.parametrize(("name", "path"), all_samples(), ids=lambda value: getattr(value, "name", value))
def test_what_text_mode_added_is_removed(name: str, path: Path, spoil: Callable[[bytes], bytes]) -> None:
    whole = path.read_bytes()
    damaged = spoil(whole)
    if damaged == whole or not is_whole(keyframer.decode(whole, format=name)):
        pytest.skip("nothing is added to it, or it has bytes behind its records")
    if (name in ("ase", "md5", "vue") or path.suffix in (".xml", ".skel", ".mod")) and spoil is not with_control_z:
        pytest.skip("CR LF is usual in a text")
    result = keyframer.salvage(damaged, format=name)
    assert result.data == whole
    assert byte_counts(result.spans)[DROPPED] == len(damaged) - len(whole)
    assert {span.code for span in result.spans if span.state == DROPPED} == {"IO_TEXT_MODE"}


@pytest.mark.parametrize("name", ["3ds/windmill.3ds", "uto3d/flexporter.u3d"])
def test_check_and_identify_name_a_transfer_in_text_mode(name: str) -> None:
    damaged = with_cr((FOLDER / name).read_bytes())
    assert "text mode" in str(keyframer.check(damaged))
    assert "text mode" in str(identify(damaged, len(damaged), "", lambda: damaged))


def test_a_transfer_in_text_mode_can_hide_the_format() -> None:
    whole = WINDMILL + bytes(0x2020A - len(WINDMILL))
    whole = whole[:2] + struct.pack("<I", len(whole)) + whole[6:]  # CR LF in the length of the top chunk
    damaged = with_cr(whole)
    assert keyframer.salvage(damaged).data == keyframer.salvage(whole).data
    assert len(keyframer.load(damaged, salvage=True).meshes) == len(keyframer.load(WINDMILL).meshes)


def test_removed_cr_is_put_back_where_lengths_prove_it() -> None:
    proven = chunk(0x4000, strz("One"), chunk(0x4100, chunk(0x4110, u16(1), b"\r\n\0\x3f" + bytes(8))))
    whole = file_of(proven + named("Two"))
    assert keyframer.salvage(whole.replace(b"\r\n", b"\n")).data == whole


def test_removed_cr_is_not_guessed() -> None:
    two_lines = b"\r\n\0\x3f\0\n\0\x3f" + bytes(4)  # nobody knows before which LF the CR was
    unclear = chunk(0x4000, strz("One"), chunk(0x4100, chunk(0x4110, u16(1), two_lines)))
    whole = file_of(unclear + named("Two"))
    clean = keyframer.load(keyframer.salvage(whole.replace(b"\r\n", b"\n")).data)
    assert [(mesh.name, len(mesh.positions)) for mesh in clean.meshes] == [("One", 0), ("Two", 3)]


@needs_corpus
def test_a_real_file_that_lost_its_cr() -> None:
    (path,) = (CORPUS / "3ds").glob("assimp__assimp__pyramob-*.3DS")
    result = keyframer.salvage(path)
    assert keyframer.check(result.data).count("error") == 0
    assert keyframer.load(result.data).meshes


# Files inside other files


def test_files_inside_a_file_are_found() -> None:
    samples = (
        "3ds/windmill.3ds",
        "uto3d/maxscript.u3d",
        "ase/stage.ase",
        "hale3d/wave-nul-ended.anim",
        "3ds/library.mli",
        "hale3d/arm-length.mdl",
        "ase/utf8_mark.ase",
        "ase/utf16_be_mark.ase",
        "ase/utf16_le.ase",
    )
    parts = [(FOLDER / name).read_bytes() for name in samples]
    image = b"MZ program" + b"\0\0\1".join(parts) + b"\0MM no scene \x00"
    found = list(carve(image))
    assert [piece.data.rstrip(b"\n\0") for piece in found] == [part.rstrip(b"\n\0") for part in parts]
    assert [image[piece.offset :].startswith(piece.data) for piece in found] == [True] * len(parts)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("3ds/windmill.3ds", 2000),
        ("uto3d/maxscript.u3d", 900),
        ("hale3d/arm-length.mdl", 400),
        ("hale3d/wave-length.anim", 300),
    ],
)
def test_a_whole_file_behind_a_cut_one_is_found(name: str, size: int) -> None:
    cut = (FOLDER / name).read_bytes()[:size]
    image = cut + WINDMILL + bytes(100)
    first, second = carve(image)
    assert (second.offset, second.data) == (size, WINDMILL)
    assert cut.startswith(first.data)
    assert keyframer.salvage(first.data).data == keyframer.salvage(cut).data


@pytest.mark.parametrize("gap", [0, 1, 16, 512])
@pytest.mark.parametrize(
    "name", ["3ds/windmill.3ds", "b3d/layered.b3d", "uto3d/maxscript.u3d", "hale3d/arm-length.mdl"]
)
def test_the_last_file_ends_with_the_image(name: str, gap: int) -> None:
    """A 3D Studio file was found without its beginning: its editor section looks like a file, too."""
    part = (FOLDER / name).read_bytes()
    for image in (bytes(gap) + part, part + bytes(gap) + part, WINDMILL + bytes(gap) + part):
        found = list(carve(image))
        assert (found[-1].offset, found[-1].data) == (len(image) - len(part), part)
        assert len(found) == 1 + (len(image) > len(part) + gap)


def test_a_cut_file_ends_with_its_last_record() -> None:
    cut = (FOLDER / "uto3d" / "maxscript.u3d").read_bytes()[:807]  # behind its first light
    (found,) = carve(cut + b"\xff" * 5000)
    assert found.data == cut


def test_false_signatures_are_no_files() -> None:
    empty = unhex("4d 4d  ff 00 00 00  02 00  0a 00 00 00  03 00 00 00")  # claims 255 bytes, and has only its version
    assert list(carve(b"MM" * 10_000)) == []
    assert list(carve(empty * 2)) == []


def nested_files(size: int) -> bytes:
    """A file in a file in a file: each has a version and an editor, and no object."""
    version = unhex("02 00  0a 00 00 00  03 00 00 00")
    parts = [
        struct.pack("<HI", 0x4D4D, size - at) + version + struct.pack("<HI", 0x3D3D, size - at - 16)
        for at in range(0, size - 21, 22)
    ]
    return b"".join(parts)


def test_searching_a_file_takes_time_in_proportion_to_its_size() -> None:
    """Each beginning of a file was searched up to the end of the last one; and each gap up to the end of the file."""
    assert list(carve(nested_files(4096))) == []
    assert_linear(lambda data: list(carve(data)), nested_files(4096), nested_files(32768), 8)


def test_what_is_searched_in_vain_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each false file claims to end a byte later than the last one."""
    searched: list[int] = []

    def counted(data: bytes, *given: Any) -> Recovery:
        searched.append(len(data))
        return recover_whole(data, *given)

    monkeypatch.setattr("keyframer.salvaging.recover", counted)
    false = [unhex("4d 4d") + struct.pack("<I", 30_000 - 15 * n) for n in range(1024)]
    data = b"".join(top + unhex("02 00  0a 00 00 00  03 00 00 00") for top in false).ljust(1 << 16, b"\1")
    with pytest.raises(keyframer.FormatError, match="LIMIT_COPIES"):
        list(carve(data))
    assert sum(searched) <= 4 * len(data)
