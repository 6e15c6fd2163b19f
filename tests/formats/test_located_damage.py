"""Wrong sizes, counts and types: each gives an issue with its path and its offset, and every byte is kept.

`tests/hostile/threats.py` has more such files of all formats, with their codes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace

import pytest

import keyframer
from tests.building import hale3d, uto3d
from tests.building.nodeanim import Bone, Clip, Framing, Key, bone_content, chunk, clips, header_content, write

Case = tuple[bytes, str, str, int]
"""the file, and the code, path and offset of an issue"""
HUGE = 2**31 - 1
NEGATIVE, EXCEEDS, ENUM = "STRUCT_COUNT_NEGATIVE", "STRUCT_COUNT_EXCEEDS_DATA", "SEM_UNKNOWN_ENUM"
UNTERMINATED, OVERRUN = "STRUCT_STRING_UNTERMINATED", "STRUCT_CHUNK_OVERRUN"


def patched(data: bytes, at: int, value: int, layout: str = "<i") -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, at, value)
    return bytes(changed)


def uto3d_cases() -> Iterator[Case]:
    whole = uto3d.write(uto3d.small_scene(), uto3d.B)
    for number, name in enumerate(("object", "camera", "light", "material", "controller", "bone")):
        at, path = 30 + 4 * number, f"/uto3d/main/{name}_count"
        yield patched(whole, at, -1), NEGATIVE, path, at
        yield patched(whole, at, HUGE), EXCEEDS, path, at
    counts, mesh = 58 + 2 + 4 + 4 + 1 + 52 + 4, "/uto3d/mesh/objects[0]"
    """after MESH, the name, ids, hidden, placement and flags"""
    for number, name in enumerate(("vertices", "faces", "uvs", "colours")):
        data, at = uto3d_mesh(uto3d.UVS, uto3d.COLOURS), counts + 4 * number
        yield patched(data, at, -1), NEGATIVE, f"{mesh}/{name}", at
        yield patched(data, at, 0x15555556), EXCEEDS, f"{mesh}/{name}", at
    yield patched(uto3d_mesh(uto3d.SIMPLE), counts + 16, 2, "<B"), ENUM, f"{mesh}/skin_type", counts + 16
    at = counts + 17 + 4
    yield patched(uto3d_mesh(uto3d.WEIGHTED), at, -1), NEGATIVE, f"{mesh}/bones_per_vertex[1]", at
    data = uto3d.write(uto3d.Scene(controllers=[uto3d.tcb(0, 1, 1), uto3d.tcb(1, 2, 1)]), uto3d.B)
    at, path = data.index(b"CTRL") + 4, "/uto3d/ctrl/controllers"
    yield patched(data, at + 31, 6, "<B"), ENUM, f"{path}[1]/type", at + 31
    yield patched(data, at + 13, 3, "<B"), "SEM_UNSUPPORTED_SCHEME", f"{path}[0]/scheme", at + 13
    yield patched(data, at + 9, -1), NEGATIVE, f"{path}[0]/key_count", at + 9
    yield patched(data, at + 9, HUGE), EXCEEDS, f"{path}[0]/key_count", at + 9
    endless = patched(uto3d.write(uto3d.Scene(), uto3d.B), 50, 1)[:-4] + b"B" * 100
    yield endless, UNTERMINATED, "/uto3d/bone/bones[0]/name", len(endless) - 100


def uto3d_mesh(*parts: dict[str, object]) -> bytes:
    scene = uto3d.Scene(meshes=[uto3d.mesh(b"M", 1, *parts)], bones=[uto3d.node(b"B", 50)])
    return uto3d.write(scene, uto3d.B)


def nodeanim_cases() -> Iterator[Case]:
    how, clip = Framing(), clips()["mixed"]
    one = chunk(1, header_content(clip, how), how)
    two = chunk(2, b"".join(bone_content(bone, how) for bone in clip.bones), how)
    for size in (0, 5):
        yield patched(one + two, 2, size), "STRUCT_CHUNK_TOO_SMALL", "/header", 2
        yield patched(one + two, len(one) + 2, size), "STRUCT_CHUNK_TOO_SMALL", "/animations", len(one) + 2
    yield patched(one, 2, HUGE), OVERRUN, "/header", 2
    yield patched(one + two, len(one) + 2, len(two) + 1), OVERRUN, "/animations", len(one) + 2
    yield two + one, "STRUCT_CHUNK_ORDER", "/animations", 0
    yield one, "STRUCT_CHUNK_MISSING", "/", len(one)
    yield two, "STRUCT_CHUNK_MISSING", "/", len(two)
    yield one + one + two, "STRUCT_DUPLICATE_CHUNK", "/header[1]", len(one)
    yield one + two + two, "STRUCT_DUPLICATE_CHUNK", "/animations[1]", len(one) + len(two)
    yield chunk(1, one[6:] + b"?", how) + two, "STRUCT_CHUNK_SLACK", "/header", len(one)
    yield write(replace(clip, flags=9), how), "SEM_UNKNOWN_FLAG_BITS", "/header/flags", 6
    for count, code in ((5, EXCEEDS), (-1, NEGATIVE)):
        yield write(replace(clip, count=count), how), code, "/header/node_count", len(one) - 2
    good = bone_content(Bone(b"good", 4, (Key(0, 0, (1, 2, 3)),)), how)
    start = chunk(1, header_content(Clip(count=2), how), how)
    at = len(start) + 6 + len(good) + len(b"bad\0") + 4
    for number, kind in enumerate(("translation", "rotation", "scale")):
        for count, code in ((-1, NEGATIVE), (HUGE, EXCEEDS), (0x0CCCCCCD, EXCEEDS)):  # the last times 20 wraps to 4
            counts = [0, 0, 0]
            counts[number] = count
            bad = b"bad\0" + struct.pack("<4i", 4, *counts) + bytes(20)
            path = f"/animations/nodes[1]/{kind}_key_count"
            yield start + chunk(2, good + bad, how), code, path, at + 4 * number


def hale3d_cases() -> Iterator[Case]:
    """A wrong number of components is noticed as a wrong number of frames."""
    for at, name in ((8, "frame_count"), (16, "joint_count"), (20, "frame_count")):
        for count in (0xFFFFFFFF, 0x40000000, 9):
            path, place = f"/animation/{name}", 16 if name == "joint_count" else 8
            yield patched(hale3d.wave(), at, count, "<I"), EXCEEDS, path, place
    endless = hale3d.header(0, 1, 0) + struct.pack("<iII", -1, 0, 0) + b"x" * 40
    yield endless, UNTERMINATED, "/animation/joint[0]/name", 36
    model = hale3d.arm()
    for at, name in ((8, "mesh_count"), (12, "joint_count"), (16, "mesh[0]/vertices"), (20, "mesh[0]/weights")):
        yield patched(model, at, 0x10000000, "<I"), EXCEEDS, f"/model/{name}", at
    yield patched(model, 24, 0xFFFFFFFF, "<I"), EXCEEDS, "/model/mesh[0]/triangles", 24


CASES = {"uto3d": uto3d_cases, "nodeanim": nodeanim_cases, "hale3d": hale3d_cases}


@pytest.mark.parametrize("format", CASES)
def test_damage_is_located_and_kept(format: str) -> None:
    for data, code, path, offset in CASES[format]():
        document = keyframer.decode(data, format=format)
        assert (code, path, offset) in [(issue.code, issue.path, issue.offset) for issue in document.issues]
        assert keyframer.encode(document) == data
