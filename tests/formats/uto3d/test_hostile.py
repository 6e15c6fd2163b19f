"""Damaged and hostile scenes, and detection: all bytes are kept and a located reason is given."""

from __future__ import annotations

import struct

import pytest

import keyframer
from keyframer.formats.uto3d import FORMAT
from keyframer.formats.uto3d.records import AnyController, AnyLight, Bone, Camera, Controller, Material, Mesh
from keyframer.formats.uto3d.sections import FileHeader, RawRest
from keyframer.issues import Severity
from keyframer.text import bytes_to_ascii
from tests.building import uto3d as writers
from tests.building.uto3d import LITERAL, A, B, Scene, samples, write
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


# Meshes


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
    assert controller.keys.flags.tolist() == [0xFF, 0xE0]
    assert controller.keys.ease_from.tolist() == [0.5, 0.0]


def test_padding_other_than_255_is_reported() -> None:
    data, at = controller_scene(writers.NOTHING, writers.tcb(0, 1, 1))
    document = decode(patched(data, at + 1, "<i", 7))
    assert [(issue.code, issue.severity) for issue in document.issues] == [("SEM_UNKNOWN_ENUM", Severity.WARNING)]


# Names, the head and the limits


@pytest.mark.parametrize("data", [b"UTO!", b"UTO!\0", b"UTO?\0\x09MAIN", b"MAIN"])
def test_other_data_is_refused(data: bytes) -> None:
    with pytest.raises(keyframer.FormatError, match=r"^IO_UNRECOGNISED\b"):
        keyframer.decode(data, format="uto3d")
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


def test_the_signature_and_main() -> None:
    for data in samples().values():
        match = FORMAT.sniff(data[:4096], len(data))
        assert (match.score, match.version) == (1.0, "0.9")


@pytest.mark.parametrize(("data", "score"), [(b"UTO!\0\x09", 0.8), (b"UTO!\0\x09MA", 0.8), (b"UTO!\0\x09MESH", 0.7)])
def test_damaged_headers_score_lower(data: bytes, score: float) -> None:
    match = FORMAT.sniff(data, len(data))
    assert match.score == score


@pytest.mark.parametrize("data", [b"", b"UTO", b"UTO!", b"U3D\0" + bytes(20), b"uto!\0\x09MAIN", b" UTO!\0\x09MAIN"])
def test_other_data_is_not_claimed(data: bytes) -> None:
    assert FORMAT.sniff(data, len(data)) is None


def test_the_extension_does_not_decide() -> None:
    assert keyframer.detect(b"U3D\0" + bytes(60), name="ecma363.u3d").format is None
