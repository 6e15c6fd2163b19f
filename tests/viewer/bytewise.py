"""Slow and obvious readers of the bytes that the byte view marks, one for each format, written from its specification.

They use nothing of the project's readers: each function unpacks the bytes at a place and compares them with the scene.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

import keyframer
from keyframer.scene import Channel, Node, NodeKind

Span = tuple[int, int]


def floats(data: bytes, at: int, count: int, order: str = "<") -> list[float]:
    return list(struct.unpack_from(f"{order}{count}f", data, at))


def assert_close(found: list[float], wanted: Any) -> None:
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(np.array(found), np.asarray(wanted, np.float64).reshape(-1), rtol=1e-6, atol=1e-6)


class ThreeDs:
    """u16 id, u32 length; keys are i32 frame, u16 flags, a float for each of the bits 0 to 4, the value."""

    TRACKS: ClassVar = {
        "position": 0xB020, "rotation": 0xB021, "scale": 0xB022, "fov": 0xB023, "roll": 0xB024, "color": 0xB025,
        "morph": 0xB026, "hotspot": 0xB027, "falloff": 0xB028, "visible": 0xB029,
    }  # fmt: skip

    def __init__(self, name: str) -> None:
        pass

    def node(self, data: bytes, span: Span, node: Node) -> None:
        identity, length = struct.unpack_from("<HI", data, span[0])
        assert identity in (*range(0xB001, 0xB008), 0x4000)
        assert length == span[1] - span[0]
        assert node.raw_name is not None
        if identity == 0x4000:
            assert data[span[0] + 6 :].startswith(node.raw_name + b"\0")
        elif node.raw_name:
            at = data.index(b"\x10\xb0", span[0], span[1])
            assert data[at + 6 :].startswith(node.raw_name + b"\0")

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        identity, length = struct.unpack_from("<HI", data, span[0])
        assert identity == self.TRACKS[channel.track.kind]
        assert length == span[1] - span[0]
        count = struct.unpack_from("<I", data, span[0] + 16)[0]
        assert count == len(channel.track.times) - (channel.track.kind == "visible")

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        track = channel.track
        frame, flags = struct.unpack_from("<iH", data, span[0])
        assert frame == track.times[key]
        at = span[0] + 6
        for bit, name in enumerate(("tension", "continuity", "bias", "ease_to", "ease_from")):
            if flags >> bit & 1:
                column = getattr(track, name)
                if column is not None:
                    assert_close(floats(data, at, 1), column[key])
                at += 4
        if track.kind == "visible":
            assert at == span[1]
        elif track.kind == "morph":
            assert data.index(b"\0", at) + 1 == span[1]
        elif track.kind == "rotation":
            angle, *axis = floats(data, at, 4)
            assert_close([*axis, -angle], track.values[key])
            assert at + 16 == span[1]
        else:
            width = np.size(track.values[key])
            assert_close(floats(data, at, width), track.values[key])
            assert at + 4 * width == span[1]


class Uto3d:
    """Names first; a controller is u8 type, i32 id, i32 owner, i32 count, u8 scheme; keys begin with i32 ticks."""

    TYPES: ClassVar = {
        "position": (0, 3),
        "rotation": (1, 4),
        "scale": (2, 7),
        "scale_axes": (2, 7),
        "fov": (3, 1),
        "roll": (4, 1),
    }

    def __init__(self, name: str) -> None:
        pass

    def node(self, data: bytes, span: Span, node: Node) -> None:
        assert node.raw_name is not None
        assert data[span[0] :].startswith(node.raw_name + b"\0")
        assert node.file_id == struct.unpack_from("<i", data, span[0] + len(node.raw_name) + 1)[0]

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        kind, _, _, count, scheme = struct.unpack_from("<BiiiB", data, span[0])
        assert kind == self.TYPES[channel.track.kind][0]
        assert count == len(channel.track.times)
        assert (scheme == 1) == (channel.track.interpolation.value == "tcb")

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        track = channel.track
        assert struct.unpack_from("<i", data, span[0])[0] == track.times[key]
        width = self.TYPES[track.kind][1]
        value = floats(data, span[0] + 4, width)
        if track.kind == "scale":
            value = value[:3]
        elif track.kind == "scale_axes":
            value = value[3:]
        elif track.kind == "roll" or (track.kind == "fov" and track.interpolation.value == "linear"):
            value = [math.degrees(value[0])]
        assert_close(value, track.values[key])
        end = span[0] + 4 + 4 * width
        if track.interpolation.value == "tcb":
            flags = data[end]
            end += 1
            for bit, name in enumerate(("tension", "continuity", "bias", "ease_to", "ease_from")):
                if flags >> bit & 1:
                    assert floats(data, end, 1) == [getattr(track, name)[key]]
                    end += 4
        assert end == span[1]


class NodeAnimation:
    """A node begins with its name; keys are i32 flags, f32 time, five floats if they are TCB keys, the value."""

    def __init__(self, name: str) -> None:
        self.order = ">" if name.startswith("big") else "<"
        self.by_key = "tcb_by_key" in name

    def node(self, data: bytes, span: Span, node: Node) -> None:
        assert node.raw_name is not None
        assert node.raw_name in data[span[0] : span[0] + 4 + len(node.raw_name)]

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        self.key(data, (span[0], span[0]), channel, 0)

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        track, at = channel.track, span[0]
        flags, time = struct.unpack_from(f"{self.order}if", data, at)
        assert time == np.float32(track.times[key])
        at += 8
        if flags & 1 if self.by_key else track.interpolation.value == "tcb":
            assert floats(data, at, 1, self.order) == [track.tension[key]]
            assert floats(data, at + 16, 1, self.order) == [track.ease_from[key]]
            at += 20
        width = 4 if track.kind == "rotation" else 3
        value = floats(data, at, width, self.order)
        if track.kind == "rotation":
            angle, *axis = value
            value = [*axis, angle]
        assert_close(value, track.values[key])
        if span[1] > span[0]:
            assert at + 4 * width == span[1]


class Blitz3d:
    """NODE: u32 length, name, 10 floats. KEYS: u32 length, i32 flags, rows of i32 frame, position, scale, rotation."""

    COLUMNS = (("position", 1, 3), ("scale", 2, 3), ("rotation", 4, 4))

    def __init__(self, name: str) -> None:
        pass

    def node(self, data: bytes, span: Span, node: Node) -> None:
        tag, length = struct.unpack_from("<4sI", data, span[0])
        assert tag in (b"NODE", b"MESH")
        assert length + 8 == span[1] - span[0]
        assert node.raw_name is not None
        if tag == b"NODE":
            assert data[span[0] + 8 :].startswith(node.raw_name + b"\0")

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        self.key(data, span, channel, 0)

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        chunk = data.rindex(b"KEYS", 0, span[0])
        flags = struct.unpack_from("<i", data, chunk + 8)[0]
        before = {"position": 0, "scale": 1, "rotation": 2}[channel.track.kind]
        at = 4 + sum(4 * count for _, bit, count in self.COLUMNS[:before] if flags & bit)
        assert struct.unpack_from("<i", data, span[0] - at)[0] == channel.track.times[key]
        if channel.track.kind == "rotation":
            w, x, y, z = floats(data, span[0], 4)
            assert_close([-x, -y, -z, w], channel.track.values[key])
        else:
            assert_close(floats(data, span[0], 3), channel.track.values[key])


class Hale3d:
    """A joint: i32 parent, u32 flags, u32 start, its name, seven floats. A frame: six floats of box, the components."""

    def __init__(self, name: str) -> None:
        self.is_model = name.endswith(".mdl")
        self.text = 4 if "length" in name else 0

    def node(self, data: bytes, span: Span, node: Node) -> None:
        if node.mesh is not None:
            assert data[span[0] + 12 + self.text :].startswith(b"materials")
            return
        assert struct.unpack_from("<i", data, span[0])[0] == (-1 if node.parent is None else node.parent)
        assert node.raw_name is not None
        name_at = span[0] + self.text + (28 if self.is_model else 12)
        assert data[name_at:].startswith(node.raw_name)

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        self.key(data, span, channel, 0)

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        noted = channel.track.extras["hale3d"]
        assert isinstance(noted, dict)
        _, flags, start = struct.unpack_from("<iII", data, noted["offset"])
        frames, _, _, components = struct.unpack_from("<IIII", data, 8)
        shift = 0 if channel.track.kind == "position" else 3
        bits = [bit for bit in range(3) if flags >> (shift + bit) & 1]
        stored = np.array(channel.track.values[key][:3])
        stored[bits] = floats(data, span[0], len(bits))
        if shift and (stored**2).sum() > 1:  # no real w: made one by dividing
            stored /= math.sqrt((stored**2).sum())
        assert_close(stored[bits].tolist(), channel.track.values[key][bits])
        assert span[1] - span[0] == 4 * len(bits)
        before = [bit for bit in range(shift) if flags >> bit & 1]
        row = span[0] - 4 * (6 + start + len(before))  # the box of this frame
        assert (len(data) - row) // (24 + 4 * components) == frames - key


class Midtown:
    """Frames contain the position of the root and three angles for each bone. The old layout counts bones, others
    floats."""

    def __init__(self, name: str) -> None:
        self.old = name.startswith("old")

    def node(self, data: bytes, span: Span, node: Node) -> None:
        assert node.name == "body", "bones are not in the file"
        assert span == (0, len(data))
        assert data.startswith(b"version: ")

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        self.key(data, span, channel, 0)

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        width = 3 * (struct.unpack_from("<I", data, 4)[0] + 1) if self.old else struct.unpack_from("<I", data, 8)[0]
        column = 0 if channel.track.kind == "position" else 3 + 3 * channel.node
        begin = (13 if self.old else 17) + 4 * (key * width + column)
        assert span == (begin, begin + 12)
        numbers = floats(data, span[0], 3)
        if channel.track.kind == "position":
            assert_close(numbers[:2], channel.track.values[key][:2])
            return
        turned = np.eye(3)
        for axis in (0, 2, 1):  # about X, then Z, then Y
            turned = turn_about(axis, numbers[axis]) @ turned
        x, y, z, w = channel.track.values[key]
        matrix = np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ])  # fmt: skip
        np.testing.assert_allclose(turned, matrix, atol=1e-5)


def turn_about(axis: int, angle: float) -> Any:
    matrix = np.eye(3)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix[first, first] = matrix[second, second] = math.cos(angle)
    matrix[first, second], matrix[second, first] = -math.sin(angle), math.sin(angle)
    return matrix


class Ase:
    """Text: a star and a keyword, and the name in quotes; keys are rows, whose bytes are not distinguished."""

    def __init__(self, name: str) -> None:
        self.encoding = {"utf16_le.ase": "utf-16-le", "utf16_be_mark.ase": "utf-16-be"}.get(name, "latin-1")

    def text(self, data: bytes, span: Span) -> str:
        characters = data[span[0] : span[1]].decode(self.encoding)
        assert characters.startswith("*")
        return characters

    def node(self, data: bytes, span: Span, node: Node) -> None:
        characters = self.text(data, span)
        name = node.raw_name.decode("utf-8" if self.encoding.startswith("utf") else "latin-1")
        kinds = [f"*{kind}OBJECT" for kind in ("GEOM", "HELPER", "SHAPE", "CAMERA", "LIGHT")]
        assert characters.split()[0] in ("*NODE_TM", "*MESH", "*GROUP", *kinds)
        if characters.startswith("*GROUP"):
            assert characters.startswith(f'*GROUP "{name}" {{')
            return
        assert "*MESH {" in characters or f'*NODE_NAME "{name}"' in characters or f"*NODE_NAME {name}" in characters

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        words = self.text(data, span).split()
        assert words[0].startswith(("*CONTROL_", "*CAMERA_ANIMATION", "*MESH_ANIMATION"))
        numbers = {float(word) for word in words if word.replace(".", "").replace("-", "").isdigit()}
        if words[0].startswith("*CONTROL_POS"):
            assert {round(x, 4) for x in channel.track.values[:, 0].tolist()} <= numbers

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        raise AssertionError("keys of text have no places")


class Horde3d:
    """An entity: 256 bytes of name, in version 3 a byte, frames of ten floats. Other nodes are in a text."""

    PLACES: ClassVar = {"rotation": (0, 4), "position": (4, 3), "scale": (7, 3)}

    def __init__(self, name: str) -> None:
        self.header = 256 + (name != "old.anim")

    def node(self, data: bytes, span: Span, node: Node) -> None:
        whole = data[span[0] : span[1]]
        assert whole.startswith(((node.raw_name or b"H3DG") + b"\0", b"H3DG", b"<?xml"))

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        self.key(data, span, channel, 0)

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        noted = channel.track.extras["horde3d"]
        assert isinstance(noted, dict)
        first, count = self.PLACES[channel.track.kind]
        assert span[0] == noted["offset"] + self.header + 40 * key + 4 * first
        assert span[1] - span[0] == 4 * count
        assert_close(floats(data, span[0], count), channel.track.values[key])


class Md5:
    """Text: a joint begins with its name in quotes, a mesh with its keyword; the frames of a camera are in a block."""

    def __init__(self, name: str) -> None:
        pass

    def node(self, data: bytes, span: Span, node: Node) -> None:
        if node.kind is NodeKind.CAMERA:
            self.frames(data, span)
        else:
            assert data[span[0] :].startswith((b'"' + (node.raw_name or b"?") + b'"', node.raw_name or b"mesh"))

    def frames(self, data: bytes, span: Span) -> None:
        assert re.search(rb"camera\s*\{\s*$", data[: span[0]])
        assert re.fullmatch(rb"(\s*[(][^(){}]+[)]\s*[(][^(){}]+[)]\s*[\d.]+)+\s*\}?\s*", data[span[0] : span[1]])

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        if data[span[0] : span[0] + 1] != b'"':
            self.frames(data, span)

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        raise AssertionError("keys of text have no places")


class Vue:
    """Text: a line with its keyword, and the name in quotes."""

    def __init__(self, name: str) -> None:
        pass

    def node(self, data: bytes, span: Span, node: Node) -> None:
        assert (node.raw_name or b"?") in data[span[0] : span[1]]

    def track(self, data: bytes, span: Span, channel: Channel) -> None:
        assert data[span[0] : span[1]].split()[0] in (b"transform", b"light", b"spotlight", b"camera", b"morph")

    def key(self, data: bytes, span: Span, channel: Channel, key: int) -> None:
        raise AssertionError("keys of text have no places")


READERS: dict[str, Callable[[str], Any]] = {
    "3ds": ThreeDs, "uto3d": Uto3d, "nodeanim": NodeAnimation, "hale3d": Hale3d, "midtown": Midtown, "ase": Ase,
    "b3d": Blitz3d, "horde3d": Horde3d, "md5": Md5, "vue": Vue,
}  # fmt: skip


def reader_for(scene: keyframer.Scene, name: str) -> Any:
    return READERS[str(scene.source_format)](name)
