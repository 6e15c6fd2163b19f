"""Edits of the frames or animated components of Hale3D animations: every other number keeps its bits.

The animation contains data that no scene has: components that no joint uses, undefined flags, unusually quoted names.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.formats.hale3d import FORMAT
from keyframer.formats.hale3d.records import Frames
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.operating import change_rate, cut, reverse
from keyframer.scene import Channel, Scene
from tests.corpus import CORPUS, needs_corpus
from tests.formats.hale3d import writer as w

FRAMES = 8
ODD_NAN = struct.unpack("<f", b"\x01\x00\xa0\x7f")[0]
Row = tuple[float, ...]


def row(number: int) -> tuple[Row, Row]:
    """Box and components: height of the root (2), unused (1), rotation of the arm (1)."""
    return (-1, -1, -1, 1, 1, 1.1 + number), (0.3 * number, 2.7 - 0.1 * number, 1000.3 + number, 0.1 * number - 0.2)


ROWS = [row(number) for number in range(FRAMES)]


def file(
    rows: list[tuple[Row, Row]],
    rate: int = 24,
    root: tuple[int, int] = (0b11000110, 0),
    arm: tuple[int, int] = (0b100000, 3),
    hand: tuple[int, int] = (0, 77),
) -> bytes:
    return b"".join(
        [
            w.header(len(rows), 3, len(rows[0][1]), rate=rate, version=9),
            w.joint(b'"origin"', -1, *root, (0.1, 1, 2), (0, 0, 0, 1)),
            w.joint(b"origin", 0, *arm, (0.5, 0, 0), (0, 0, 0.5, -0.8660254)),
            w.joint(b'"', 1, *hand, (1.5, 0, 0), (0.25, 0, 0, -0.9682458)),
            *(w.frame(*row) for row in rows),
            b"behind",
        ]
    )


def load() -> Scene:
    return scene_of(keyframer.decode(file(ROWS), format="hale3d"), {})


def save(scene: Scene) -> bytes:
    written = FORMAT.from_scene(scene, {})
    assert not [loss for loss in written.report if "could not be edited in place" in loss.detail]
    return keyframer.encode(written.document)


def channel(scene: Scene, node: int, kind: str) -> Channel:
    return next(channel for channel in scene.clips[0].channels if (channel.node, channel.track.kind) == (node, kind))


OPERATIONS: dict[str, tuple[Callable[[Scene], Scene], bytes]] = {
    "cut": (lambda scene: cut(scene, 2, 5), file(ROWS[2:6])),
    "cut at the start": (lambda scene: cut(scene, 0, 3), file(ROWS[:4])),
    "reversed": (reverse, file(ROWS[::-1])),
    "cut and reversed": (lambda scene: reverse(cut(scene, 1, 4)), file(ROWS[4:0:-1])),
    "renumbered": (
        lambda scene: replace(scene, clips=[replace(scene.clips[0], rate=30.0)]),
        file(ROWS, rate=30),
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_write_the_frames_anew(name: str) -> None:
    """All bytes before and after the frames stay."""
    change, data = OPERATIONS[name]
    saved, wanted = (keyframer.decode(each, format="hale3d") for each in (save(change(load())), data))
    (frames,), (wanted_frames,) = saved.find(Frames), wanted.find(Frames)
    unused = 8
    assert np.allclose(*(np.delete(each.rows, unused, axis=1) for each in (frames, wanted_frames)), atol=1e-6)
    frames.rows = wanted_frames.rows
    assert keyframer.encode(saved) == data


def test_doubling_the_rate_keeps_the_original_frames() -> None:
    """New frames between them: animated components are interpolated, unused ones copied from a neighbour."""
    data = save(change_rate(load(), 48.0))
    head, size = data.index(struct.pack("<4f", 0.25, 0, 0, -0.9682458)) + 16, 40
    assert data[:head] == file(ROWS)[:head].replace(struct.pack("<II", 8, 24), struct.pack("<II", 15, 48))
    table = np.frombuffer(data[head : head + 15 * size], "<f4").reshape(15, 10)
    assert data[head + 15 * size :] == b"behind"
    before = np.array([[*box, *parts] for box, parts in ROWS], "<f4")
    for column in (6, 7, 8, 9):
        assert np.array_equal(table[::2, column], before[:, column])
    for column in (6, 7):
        assert np.allclose(table[1::2, column], (before[1:, column] + before[:-1, column]) / 2, atol=1e-6)
    assert set(table[:, 8].tolist()) == set(before[:, 8].tolist())


def test_a_rate_whose_frames_differ_from_the_original_ones() -> None:
    """7 frame intervals at 24 per second are 7.3 at 25: one more frame is needed, and boxes are recomputed."""
    data = save(change_rate(load(), 25.0))
    head = data.index(struct.pack("<4f", 0.25, 0, 0, -0.9682458)) + 16
    assert data[:head] == file(ROWS)[:head].replace(struct.pack("<II", 8, 24), struct.pack("<II", 9, 25))
    table = np.frombuffer(data[head:-6], "<f4").reshape(9, 10)
    assert np.allclose(table[:, 6], 0.3 * np.minimum(np.arange(9) * 24 / 25, 7), atol=1e-5)


def test_a_component_that_starts_to_move_gets_a_column() -> None:
    """The root moves along x in frame 2: it then has three columns; all others keep their numbers."""
    scene = load()
    track = channel(scene, 0, "position").track
    values = track.values.copy()
    values[2, 0] = 5.5
    track.values = values
    x = [0.1, 0.1, 5.5, *[0.1] * 5]
    rows = [(box, (x[number], *parts)) for number, (box, parts) in enumerate(ROWS)]
    assert save(scene) == file(rows, root=(0b11000111, 0), arm=(0b100000, 4))


def test_a_joint_that_starts_to_move_gets_columns_after_the_others() -> None:
    scene = load()
    values = np.tile([1.5, 0.0, 0.0], (FRAMES, 1))
    values[:, 1] = 0.25 * np.arange(FRAMES)
    scene.clips[0].channels.append(Channel(2, Track.sampled("position", values)))
    rows = [(box, (*parts, 0.25 * number)) for number, (box, parts) in enumerate(ROWS)]
    assert save(scene) == file(rows, hand=(0b10, 4))


def test_a_joint_that_stops_loses_its_columns() -> None:
    scene = load()
    scene.clips[0].channels.remove(channel(scene, 0, "position"))
    rows = [(box, parts[2:]) for box, parts in ROWS]
    assert save(scene) == file(rows, root=(0b11000000, 0), arm=(0b100000, 1))


@pytest.mark.parametrize("edit", ["value", "component", "joint removed"])
def test_editing_one_of_two_joints_with_a_shared_column(edit: str) -> None:
    """Root and arm share the column of their height. The edited component of the arm gets a new column at the end."""

    def moving(joints: list[bytes], *columns: list[float]) -> bytes:
        frames = (w.frame((0,) * 6, row) for row in zip(*columns, strict=True))
        return b"".join([w.header(3, len(joints), len(columns)), *joints, *frames])

    height, other = [0.0, 1.0, 2.0], [5.0, 6.0, 7.0]
    root, arm = w.joint(b"root", -1, 0b100, 0), w.joint(b"arm", 0, 0b100, 0)
    scene = scene_of(keyframer.decode(moving([root, arm], height, other), format="hale3d"), {})
    track = channel(scene, 1, "position").track
    values = track.values.copy()
    if edit == "joint removed":
        scene.nodes.pop()
        scene.clips[0].channels.remove(channel(scene, 1, "position"))
        wanted = moving([root], height, other)
    elif edit == "value":
        values[1, 2] = 9.0
        wanted = moving([root, w.joint(b"arm", 0, 0b100, 2)], height, other, [0.0, 9.0, 2.0])
    else:
        values[1, 0] = 4.0
        wanted = moving([root, w.joint(b"arm", 0, 0b101, 2)], height, other, [0.0, 4.0, 0.0], height)
    track.values = values
    assert save(scene) == wanted


def test_keys_become_frames() -> None:
    """Three linear keys replace the frames of one joint; the other joint is unchanged."""
    scene = load()
    turn = np.array([[0, 0, z, -((1 - z * z) ** 0.5)] for z in (0.0, 0.5, 0.0)])
    keys = Track(
        "rotation",
        np.array([0.0, 2.0, 7.0]),
        turn,
        Interpolation.LINEAR,
        form=RotationForm.QUATERNION_ABSOLUTE,
    )
    channel(scene, 1, "rotation").track = keys
    data = save(scene)
    table = np.frombuffer(data[-6 - 320 : -6], "<f4").reshape(8, 10)
    before = np.array([[*box, *parts] for box, parts in ROWS], "<f4")
    assert np.array_equal(table[:, :9], before[:, :9])
    half = np.pi / 6  # of 60 degrees at frame 2, and straight there and back
    wanted = [np.sin(half * frame / 2 if frame < 3 else half * (7 - frame) / 5) for frame in range(8)]
    assert np.allclose(table[:, 9], wanted, atol=1e-6)


def test_missing_boxes_are_computed() -> None:
    """They contain only the joints of the skeleton."""
    scene = load()
    scene.clips[0].bounds = None
    data = save(scene)
    table = np.frombuffer(data[-6 - 320 : -6], "<f4").reshape(8, 10)
    before = np.array([[*box, *parts] for box, parts in ROWS], "<f4")
    assert np.array_equal(table[:, 6:], before[:, 6:])
    pose = keyframer.pose(load(), frames=np.arange(8.0)).world[:, :, :3, 3]
    assert np.allclose(table[:, :3], pose.min(axis=1), atol=1e-5)
    assert np.allclose(table[:, 3:6], pose.max(axis=1), atol=1e-5)


def test_a_nan_keeps_its_bits_when_another_number_changes(tmp_path: Path) -> None:
    """In an unused component, and in a box."""
    rows = [((ODD_NAN, *box[1:]), (*parts[:2], ODD_NAN, parts[3])) for box, parts in ROWS]
    data = bytearray(file(rows))
    first = data.index(w.frame(*rows[0])[4:24])
    for number in range(FRAMES):  # struct makes the NaN quiet
        data[first - 4 + 40 * number : first + 40 * number] = b"\x01\x00\xa0\x7f"
        data[first + 28 + 40 * number : first + 32 + 40 * number] = b"\x01\x00\xa0\x7f"
    path = tmp_path / "odd.anim"
    path.write_bytes(bytes(data))
    scene = keyframer.load(path, format="hale3d")
    track = channel(scene, 1, "rotation").track
    values = track.values.copy()
    values[4] = (0.0, 0.0, 0.6, -0.8)
    track.values = values
    wanted = bytearray(data)
    place = first - 4 + 40 * 4 + 36
    wanted[place : place + 4] = struct.pack("<f", 0.6)
    assert save(scene) == bytes(wanted)


@needs_corpus
def test_cutting_the_real_animation_keeps_its_frames(tmp_path: Path) -> None:
    """Frames 10 to 50: joints and all data before them are unchanged, and so is the model."""
    source = CORPUS / "hale3d" / "bob_lamp_update.anim"
    data = source.read_bytes()
    count, components = struct.unpack_from("<I", data, 8)[0], struct.unpack_from("<I", data, 20)[0]
    size = 24 + 4 * components
    first = len(data) - count * size
    out = tmp_path / "cut.anim"
    keyframer.save(cut(keyframer.load(source, format="hale3d"), 10, 50), out, format="hale3d")
    wanted = data[:8] + struct.pack("<I", 41) + data[12:first] + data[first + 10 * size : first + 51 * size]
    cut_data = out.read_bytes()
    assert (len(cut_data), cut_data[:first]) == (len(wanted), wanted[:first])
    before, after = (keyframer.load(each, format="hale3d") for each in (source, out))
    for frame in (0, 20, 40):
        poses = [keyframer.pose(before, frames=[frame + 10]).world, keyframer.pose(after, frames=[frame]).world]
        assert np.allclose(*poses, atol=1e-4)
    model = source.with_suffix(".mdl")
    if model.exists():
        assert out.with_suffix(".mdl").read_bytes() == model.read_bytes()


def still_joints(count: int) -> Scene:
    """A chain of joints of which only the first moves, and only up and down."""
    joints = (w.joint(b"j%d" % n, n - 1, 0b100 if n == 0 else 0, 0, (0, 0, 0), (0, 0, 0, -1)) for n in range(count))
    data = [w.header(FRAMES, count, 1), *joints, *(w.frame((0,) * 6, (float(n),)) for n in range(FRAMES))]
    return scene_of(keyframer.decode(b"".join(data), format="hale3d"), {})


def calls_to_save(scene: Scene) -> int:
    """The number of function calls, in Python and C, that saving takes: a measure that does not depend on the
    machine.
    """
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        save(scene)
    finally:
        sys.setprofile(None)
    return count


def test_many_joints_that_start_to_move_take_linear_work() -> None:
    work = {}
    for count in (200, 400):
        scene = still_joints(count)
        places = np.arange(3.0 * FRAMES * count).reshape(count, FRAMES, 3) / 7
        scene.clips[0].channels = [Channel(n, Track.sampled("position", places[n])) for n in range(count)]
        work[count] = calls_to_save(scene)
        decoded = keyframer.decode(save(scene), format="hale3d")
        moved = {channel.node: channel.track.values for channel in scene_of(decoded, {}).clips[0].channels}
        np.testing.assert_allclose([moved[n] for n in range(count)], places, rtol=1e-6)
    assert work[400] < 2.2 * work[200]
