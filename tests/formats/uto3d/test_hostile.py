"""Damaged and hostile scenes: for every row of the safety table all bytes are kept and a located reason is given."""

from __future__ import annotations

import struct

import pytest

import keyframer
from keyframer.formats.uto3d.records import AnyController, AnyLight, Bone, Camera, Controller, Material, Mesh
from keyframer.formats.uto3d.sections import FileHeader, Main, RawRest
from keyframer.issues import Severity
from keyframer.text import bytes_to_ascii
from tests.building import uto3d as writers
from tests.building.uto3d import LITERAL, A, B, Scene, write
from tests.growth import assert_linear

COUNTS = ("objects", "cameras", "lights", "materials", "controllers", "bones")
COUNT_AT = {name: 30 + 4 * index for index, name in enumerate(COUNTS)}
TAGS = {"objects": b"MESH", "cameras": b"CAMS", "lights": b"LITE", "materials": b"MATS", "bones": b"BONE"}
HUGE = 2**31 - 1


def decode(data: bytes) -> keyframer.Document:
    document = keyframer.decode(data)
    assert keyframer.encode(document) == data
    return document


def errors(document: keyframer.Document) -> dict[str, keyframer.Issue]:
    return {issue.code: issue for issue in document.issues if issue.severity is Severity.ERROR}


def patched(data: bytes, at: int, layout: str, *values: float) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, at, *values)
    return bytes(changed)


def raw_rest(document: keyframer.Document) -> RawRest:
    records = list(document.find(RawRest))
    assert len(records) == 1
    return records[0]


# The six counts of MAIN


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("manner", [A, B, LITERAL], ids=str)
def test_negative_count(name: str, manner: writers.Manner) -> None:
    data = patched(write(writers.small_scene(), manner), COUNT_AT[name], "<i", -1)
    issue = errors(decode(data))["STRUCT_COUNT_NEGATIVE"]
    assert issue.offset == COUNT_AT[name]
    assert issue.path == f"/uto3d/main/{name.rstrip('s')}_count"


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("count", [HUGE, 0x15555556, 100_000])
def test_a_huge_count_is_an_error_and_later_sections_are_found_by_their_tags(name: str, count: int) -> None:
    data = patched(write(writers.small_scene(), B), COUNT_AT[name], "<i", count)
    document = decode(data)
    issue = errors(document)["STRUCT_COUNT_EXCEEDS_DATA"]
    assert issue.offset == COUNT_AT[name]
    assert issue.args["count"] == count
    assert issue.args["left"] == len(data) - 54  # the bytes after MAIN
    for kind, wanted in ((Mesh, 2), (Camera, 1), (AnyLight, 2), (Material, 2), (Bone, 2), (AnyController, 3)):
        assert len(list(document.find(kind))) == wanted  # type: ignore[type-abstract]


@pytest.mark.parametrize("name", ["objects", "cameras", "lights", "materials", "bones"])
@pytest.mark.parametrize("manner", [A, B, LITERAL], ids=str)
def test_count_too_small(name: str, manner: writers.Manner) -> None:
    scene = writers.small_scene()
    scene.cameras.append(writers.camera(b"Camera02", 22))
    scene.targets.append(writers.node(b"Camera02.Target", 23))
    data = patched(write(scene, manner), COUNT_AT[name], "<i", 1)
    document = decode(data)
    issue = errors(document)["STRUCT_TAG_MISMATCH"]
    assert TAGS[name].decode() not in str(issue.args["expected"])
    assert issue.args["found"] == f"'{bytes_to_ascii(data[issue.offset : issue.offset + 4])}'"
    assert raw_rest(document).offset == issue.offset


@pytest.mark.parametrize("name", ["objects", "lights", "bones"])
def test_count_too_large_by_one(name: str) -> None:
    data = patched(write(writers.small_scene(), B), COUNT_AT[name], "<i", 3)
    document = decode(data)
    assert errors(document)
    assert raw_rest(document).reason in errors(document)


def test_announced_sections_that_are_missing() -> None:
    data = patched(write(Scene(), A), COUNT_AT["objects"], "<6i", 1, 1, 1, 1, 1, 0)
    document = decode(data)
    wanted = [("MESH", 54), ("LITE", 54), ("CTRL", 58)]
    issues = [issue for issue in document.issues if issue.code == "STRUCT_TAG_MISMATCH"]
    assert [(issue.args["expected"], issue.offset) for issue in issues] == wanted
    assert document.issues.counts["LINK_COUNT_MISMATCH"] == 3  # CAMS, CTGT, MATS


def test_sections_in_another_order_and_repeated() -> None:
    data = write(Scene(), B)
    swapped = data.replace(b"CAMSCTGT", b"CTGTCAMS")
    issue = errors(decode(swapped))["STRUCT_TAG_MISMATCH"]
    assert issue.args["found"] == "'CAMS'"
    twice = data.replace(b"CAMS", b"MESHCAMS")
    assert errors(decode(twice))["STRUCT_TAG_MISMATCH"].args["found"] == "'MESH'"


# Time and scale


@pytest.mark.parametrize(
    "values",
    [(-(2**31), HUGE, 0, 0, 0.0), (100, 0, -1, -160, float("nan")), (0, 0, HUGE, HUGE, float("inf"))],
)
def test_any_time_range_and_scale_are_kept(values: tuple[float, ...]) -> None:
    document = decode(patched(write(writers.small_scene(), B), 10, "<4if", *values))
    main = document.first(Main)
    assert main is not None
    assert (main.first_frame, main.last_frame, main.frame_rate, main.delta_time) == values[:4]
    assert not errors(document)


@pytest.mark.parametrize("manner", [A, B, LITERAL], ids=str)
def test_signalling_nans_are_kept_in_every_float(manner: writers.Manner) -> None:
    scene = writers.small_scene()
    data = write(scene, manner)
    for value in sorted({1.0, 2.0, 1.5, 0.25, 45.0, 10.0, 22.5, 0.75, 0.1}):
        document = decode(data.replace(struct.pack("<f", value), b"\x01\x00\xa0\x7f"))
        assert not errors(document)
        assert not list(document.find(RawRest))


# Meshes


def mesh_scene(*parts: dict[str, object]) -> bytes:
    return write(Scene(meshes=[writers.mesh(b"M", 1, *parts)], bones=[writers.node(b"B", 50)]), B)


MESH_COUNTS = 58 + 2 + 4 + 4 + 1 + 52 + 4  # after MESH, the name, ids, hidden, placement and flags


@pytest.mark.parametrize(("index", "path"), [(0, "vertices"), (1, "faces"), (2, "uvs"), (3, "colours")])
@pytest.mark.parametrize("count", [-1, -(2**31), HUGE, 0x15555556, 0x20000001])
def test_mesh_counts(index: int, path: str, count: int) -> None:
    at = MESH_COUNTS + 4 * index
    data = patched(mesh_scene(writers.UVS, writers.COLOURS), at, "<i", count)
    document = decode(data)
    code = "STRUCT_COUNT_NEGATIVE" if count < 0 else "STRUCT_COUNT_EXCEEDS_DATA"
    issue = errors(document)[code]
    assert issue.offset == at
    assert issue.path == f"/uto3d/mesh/objects[0]/{path}"
    assert raw_rest(document).offset == 58
    assert raw_rest(document).reason == code


@pytest.mark.parametrize("skin", [2, 3, 128, 255])
def test_unknown_skin_type(skin: int) -> None:
    at = MESH_COUNTS + 16
    document = decode(patched(mesh_scene(writers.SIMPLE), at, "<B", skin))
    issue = errors(document)["SEM_UNKNOWN_ENUM"]
    assert (issue.offset, issue.path) == (at, "/uto3d/mesh/objects[0]/skin_type")
    assert issue.args["value"] == skin


@pytest.mark.parametrize(
    ("counts", "code", "index"),
    [
        ((1, -1, 2, 1), "STRUCT_COUNT_NEGATIVE", 1),
        ((1, 2, -(2**31), 1), "STRUCT_COUNT_NEGATIVE", 2),
        ((HUGE, 0, 2, 1), "STRUCT_COUNT_EXCEEDS_DATA", 0),
        ((HUGE, HUGE, HUGE, HUGE), "STRUCT_COUNT_EXCEEDS_DATA", 0),
        ((1, 0, 3, 2000), "STRUCT_COUNT_EXCEEDS_DATA", 3),
    ],
)
def test_bones_per_vertex(counts: tuple[int, ...], code: str, index: int) -> None:
    at = MESH_COUNTS + 17
    document = decode(patched(mesh_scene(writers.WEIGHTED), at, "<4i", *counts))
    issue = errors(document)[code]
    assert issue.offset == at + 4 * index
    assert issue.path == f"/uto3d/mesh/objects[0]/bones_per_vertex[{index}]"


def test_invalid_indices_and_ids_are_kept() -> None:
    """Out of range, undefined, duplicate, in a cycle: the document keeps them; the rules report them."""
    scene = writers.small_scene()
    scene.meshes[0] |= {"faces": [(-1, 4, HUGE), (0, 0, 0)], "materials": [-5, 99], "parent": 51}
    scene.meshes[1] |= {"uv_faces": [(-9, 3, HUGE), (0, 0, 0)], "colour_faces": [(7, 7, -7), (0, 0, 0)]}
    scene.bones = [writers.node(b"Loop", 50, 51), writers.node(b"Loop", 51, 10), writers.node(b"Loop", 50, 50)]
    scene.cameras[0]["target"] = 4711
    scene.controllers = [writers.tcb(0, 1, 4711), writers.tcb(0, 1, -1)]
    for manner in (A, B, LITERAL):
        document = decode(write(scene, manner))
        assert not errors(document)
        assert len(list(document.find(Bone))) == 3


# Lights


@pytest.mark.parametrize(
    ("manner", "types"), [(B, (3, 0xFFFFFFFF)), (LITERAL, (3, 255)), (A, (5, 255))], ids=["b", "literal", "a"]
)
def test_an_unknown_light_type_has_no_tail(manner: writers.Manner, types: tuple[int, ...]) -> None:
    for light_type in types:
        scene = writers.small_scene()
        scene.lights = [writers.light(b"Odd", 30, light_type), writers.light(b"Omni", 31, 0)]
        document = decode(write(scene, manner))
        issue = document.issues[0]
        assert (issue.code, issue.severity) == ("SEM_UNKNOWN_ENUM", Severity.WARNING)
        assert issue.path == "/uto3d/lite/lights[0]/type"
        assert [light.type for light in document.find(AnyLight)] == [light_type, 0]  # type: ignore[attr-defined]
        assert not errors(document)


# Controllers


def controller_scene(*controllers: dict[str, object]) -> tuple[bytes, int]:
    data = write(Scene(controllers=list(controllers)), B)
    return data, data.index(b"CTRL") + 4


@pytest.mark.parametrize("kind", [6, 7, 255])
def test_unknown_controller_type(kind: int) -> None:
    data, at = controller_scene(writers.tcb(0, 1, 1), writers.tcb(1, 2, 1))
    second = at + 14 + 17
    document = decode(patched(data, second, "<B", kind))
    issue = errors(document)["SEM_UNKNOWN_ENUM"]
    assert (issue.offset, issue.path) == (second, "/uto3d/ctrl/controllers[1]/type")
    assert raw_rest(document).offset == second
    assert len(list(document.find(AnyController))) == 1


@pytest.mark.parametrize("scheme", [3, 255])
def test_unknown_scheme(scheme: int) -> None:
    data, at = controller_scene(writers.tcb(0, 1, 1))
    document = decode(patched(data, at + 13, "<B", scheme))
    issue = errors(document)["SEM_UNSUPPORTED_SCHEME"]
    assert (issue.offset, issue.path) == (at + 13, "/uto3d/ctrl/controllers[0]/scheme")


@pytest.mark.parametrize("scheme", [writers.tcb, writers.linear])
@pytest.mark.parametrize("count", [-1, -(2**31), HUGE, 3_000])
def test_key_count(scheme: object, count: int) -> None:
    for kind in range(5):
        data, at = controller_scene(scheme(kind, 1, 1))  # type: ignore[operator]
        document = decode(patched(data, at + 9, "<i", count))
        issue = errors(document)["STRUCT_COUNT_NEGATIVE" if count < 0 else "STRUCT_COUNT_EXCEEDS_DATA"]
        assert (issue.offset, issue.path) == (at + 9, "/uto3d/ctrl/controllers[0]/key_count")


def test_a_bezier_controller_has_no_keys_whatever_its_count() -> None:
    data, at = controller_scene(writers.bezier(0, 1, 1), writers.tcb(1, 2, 1))
    for count in (0, HUGE, -1):
        document = decode(patched(data, at + 9, "<i", count))
        assert not errors(document)
        assert len(list(document.find(Controller))) == 2
        assert document.issues.counts["STRUCT_COUNT_NEGATIVE"] == (count < 0)


def test_only_five_flag_bits_announce_floats() -> None:
    key = (0, (1.0, 2.0, 3.0), 0xFF, (0.1, 0.2, 0.3, 0.4, 0.5))
    plain = (160, (1.0, 2.0, 3.0), 0xE0, ())
    data, _ = controller_scene({"type": 0, "id": 1, "owner": 1, "scheme": 1, "keys": [key, plain]})
    controller = decode(data).first(Controller)
    assert controller is not None
    assert controller.keys.flags.tolist() == [0xFF, 0xE0]
    assert controller.keys.ease_from.tolist() == [0.5, 0.0]


def test_padding_other_than_255_is_reported() -> None:
    data, at = controller_scene(writers.NOTHING, writers.tcb(0, 1, 1))
    document = decode(patched(data, at + 1, "<i", 7))
    assert [(issue.code, issue.severity) for issue in document.issues] == [("SEM_UNKNOWN_ENUM", Severity.WARNING)]


# Names, the head and the limits


def test_a_name_without_an_end() -> None:
    data = patched(write(Scene(), B), COUNT_AT["bones"], "<i", 1)[:-4] + b"B" * 100
    issue = errors(decode(data))["STRUCT_STRING_UNTERMINATED"]
    assert issue.path == "/uto3d/bone/bones[0]/name"


def test_a_name_over_the_limit() -> None:
    data = write(Scene(materials=[(b"m" * 70_000, 1)]), B)
    assert not decode(data).issues
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(data, limits=keyframer.Limits(name=60_000))
    assert (caught.value.code, caught.value.path) == ("LIMIT_NAME", "/uto3d/mats/materials[0]/name")


def test_hostile_names_are_kept_as_bytes() -> None:
    for name in (b"\x1b[2J", b"<script>", b"\xff\xfe", b"=1+1", b"../../etc/passwd", b""):
        document = decode(write(Scene(materials=[(name, 1)], bones=[writers.node(name, 1)]), B))
        assert [record.name for record in document.find(Material)] == [name]
        assert not errors(document)


def test_record_limit() -> None:
    data = write(Scene(materials=[(b"m", 1)] * 100), B)
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(data, limits=keyframer.Limits(records=50))
    assert caught.value.code == "LIMIT_RECORDS"


@pytest.mark.parametrize("data", [b"UTO!", b"UTO!\0", b"UTO?\0\x09MAIN", b"MAIN"])
def test_other_data_is_refused(data: bytes) -> None:
    with pytest.raises(keyframer.FormatError) as caught:
        keyframer.decode(data, format="uto3d")
    assert caught.value.code == "IO_UNRECOGNISED"
    assert keyframer.detect(data).format is None


def test_a_header_without_main() -> None:
    for data in (b"UTO!\0\x09", b"UTO!\0\x09MESH", b"UTO!\0\x09MAIN" + bytes(10)):
        document = decode(data)
        assert document.first(FileHeader) is not None
        assert document.issues.worst() is Severity.ERROR


def test_other_versions_are_read_and_reported() -> None:
    data = patched(write(writers.small_scene(), B), 4, "<BB", 1, 2)
    assert keyframer.detect(data).version == "1.2"
    assert [issue.code for issue in decode(data).issues] == ["SEM_UNKNOWN_VERSION"]


def test_searching_for_sampled_controllers_takes_linear_time() -> None:
    """Zeros can be read as controllers without keys of a known owner, and as ones that are not in keyframe mode."""

    def file(size: int) -> bytes:
        scene = Scene(meshes=[writers.mesh(b"M", 0)], claims={"controllers": size // 14})
        return write(scene, A) + b"CTRL" + bytes(size - 14) + b"\xff" * 14

    assert_linear(decode, file(1 << 16), file(1 << 20), times=16)
