"""Edited Hale3D pairs: the table of frames is written anew, and the bytes equal those of an independent writer.

The pair contains data that no scene has: a component that no joint reads, undefined flags, odd names and versions, a
weight that no vertex uses, bytes behind the last record.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.editing import change_rate, cut, reverse, scale
from keyframer.formats.hale3d import FORMAT
from keyframer.formats.hale3d.document import decode
from keyframer.formats.hale3d.records import Frames, Joint
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.scene import Channel, Mesh, Node, NodeKind, Scene, Skin
from keyframer.scene.losses import MESH_SPLIT
from tests.building import editing
from tests.building import hale3d as w
from tests.building.editing import Edit, Merge, NewFile, rewrite_reasons, set_fields, set_node
from tests.corpus import CORPUS, needs_corpus

QUAD = {
    "vertices": [(0, 0, 0, 1), (1, 0, 1, 1), (1, 1, 2, 2), (0, 1, 4, 1)],
    "weights": [(1, 0, 0, 0, 0), (1, 1, 1, 0, 0), (0.5, 1, 1, 1, 0), (0.5, 3, 0, 1, 0), (1, 0, 0, 1, 0)],
    "triangles": [(0, 1, 2), (0, 2, 3)],
}
NOBODYS = (0.7, 2, 9, 9, 9)
FRAMES = range(5)


def sleeve(name: bytes = b"materials/sleeve.mat", **changes: Any) -> bytes:
    shape = {**QUAD, "weights": [*QUAD["weights"], NOBODYS], **changes}
    return w.mesh(name, shape["vertices"], shape["weights"], shape["triangles"])


def glove(hand: int = 3, name: bytes = b"materials/glove.mat") -> bytes:
    vertices = [(0, 0, 0, 1), (0.5, 0, 1, 1), (0, 0.5, 2, 1)]
    return w.mesh(name, vertices, [(1, hand, 0, 0, 0), (1, hand, 1, 0, 0), (1, hand, 0, 1, 0)], [(0, 1, 2)])


BOUND = [
    w.model_joint(b'"root"', -1, (0, 1, 2)),
    w.model_joint(b'"arm"', 0, (0.5, 1, 2), (0, 0, 0.5)),
    w.model_joint(b'"tail"', 0, (0, 1, 3)),
    w.model_joint(b'"hand"', 1, (2, 1, 2), (0.25, 0, 0)),
]


def model(meshes: list[bytes] | None = None, joints: list[bytes] | None = None) -> bytes:
    return w.model(meshes or [sleeve(), glove()], joints or BOUND, version=5) + b"model's own"


def root(flags: int = 0b11000110, start: int = 0, position: tuple[float, ...] = (0, 1, 2)) -> bytes:
    return w.joint(b'"origin"', -1, flags, start, position, (0, 0, 0, 1))


def arm(start: int = 2) -> bytes:
    return w.joint(b"origin", 0, 0b100000, start, (0.5, 0, 0), (0, 0, 0.5, -0.8660254))


def tail(start: int = 3) -> bytes:
    return w.joint(b'"origin"', 0, 0b000001, start, (0, 0, 1), (0, 0, 0, 1))


def hand(start: int = 4, parent: int = 1) -> bytes:
    return w.joint(b'"', parent, 0b001000, start, (1.5, 0, 0), (0.25, 0, 0, -0.9682458))


Columns = dict[str, Callable[[int], float]]
COLUMNS: Columns = {
    "y": lambda n: 0.25 * n,
    "z": lambda n: 2.0,
    "turn": lambda n: 0.1 * n - 0.2,
    "x of the tail": lambda n: 0.3 * n,
    "x of the hand": lambda n: 0.125,
    "nobody's": lambda n: 1000.0 + n,
}


def animation(
    *joints: bytes, columns: Columns = COLUMNS, rate: int = 24, top: float = 0.0, frames: range = FRAMES
) -> bytes:
    """An animation; ``top`` is added to the box of frame 2."""
    rows = [
        w.frame((-1, -1, -1, 1, 1, 1 + n + (top if n == 2 else 0)), [column(n) for column in columns.values()])
        for n in frames
    ]
    records = joints or (root(), arm(), tail(), hand())
    return b"".join([w.header(len(rows), len(records), len(columns), rate=rate, version=3), *records, *rows, b"behind"])


def with_frame(name: str, frame: int, value: float) -> Columns:
    return {**COLUMNS, name: lambda n: value if n == frame else COLUMNS[name](n)}


def without_column(*names: str) -> Columns:
    return {name: column for name, column in COLUMNS.items() if name not in names}


def load() -> Scene:
    return editing.load("hale3d", animation(), model=decode(model()))


load_alone = partial(editing.load, "hale3d")


def save(scene: Scene) -> Written:
    written = FORMAT.from_scene(scene)
    assert rewrite_reasons(written) == []
    return written


def files(written: Written) -> tuple[bytes, bytes]:
    """The animation and the model."""
    data = [keyframer.encode(written.document), *(data for _, data in written.companions)]
    first, second = sorted(data)  # H3DA, H3DM
    return first, second


def table(data: bytes) -> Any:
    (frames,) = keyframer.decode(data, format="hale3d").find(Frames)
    return frames.rows


def channel(scene: Scene, node: int, kind: str) -> Channel:
    return next(channel for channel in scene.clips[0].channels if (channel.node, channel.track.kind) == (node, kind))


def set_values(node: int, kind: str, row: int, numbers: object) -> Edit:
    def edit(scene: Scene) -> None:
        values = channel(scene, node, kind).track.values.copy()
        values[row] = numbers
        channel(scene, node, kind).track.values = values

    return edit


def quaternion(z: float) -> list[float]:
    return [0.0, 0.0, z, -((1 - z * z) ** 0.5)]


def set_box(scene: Scene) -> None:
    boxes = np.array(scene.clips[0].bounds)
    boxes[2, 1, 2] += 4.0
    scene.clips[0].bounds = boxes


def set_uv(scene: Scene) -> None:
    coordinates = np.array(scene.meshes[0].uv)
    coordinates[3] = (0.25, 0.5)
    scene.meshes[0].uv = coordinates


def add_face(scene: Scene) -> None:
    mesh = scene.meshes[0]
    mesh.corners = np.concatenate([mesh.corners, [[0, 1, 3]]])
    mesh.face_materials, mesh.smoothing = np.zeros(3, np.int32), np.ones(3, np.uint32)


def remove_tail(scene: Scene) -> None:
    """The tail is node 2; the hand and its weights get new numbers."""
    numbers = [0, 1, None, 2, 3, 4]
    scene.nodes = [
        replace(node, parent=None if node.parent is None else numbers[node.parent])
        for node in scene.nodes
        if node.name != "tail"
    ]
    channels = scene.clips[0].channels
    scene.clips[0].channels = [Channel(numbers[c.node] or 0, c.track) for c in channels if numbers[c.node] is not None]
    for skin in scene.skins:
        skin.joints, skin.inverse_bind = [0, 1, 2], np.asarray(skin.inverse_bind)[[0, 1, 3]]
        skin.joint_indices = np.where(np.asarray(skin.joint_indices) > 2, 2, skin.joint_indices)


def remove_sleeve(scene: Scene) -> None:
    scene.nodes = [node for node in scene.nodes if node.mesh != 0]
    scene.nodes[-1] = replace(scene.nodes[-1], mesh=0, skin=0)
    del scene.meshes[0], scene.skins[0], scene.materials[0]
    scene.meshes[0].face_materials = np.zeros(1, np.int32)


def add_tip(scene: Scene) -> None:
    """Add a joint at the end of the tail, which moves along z."""
    scene.nodes.append(Node("tip", NodeKind.BONE, 2, position=np.array([0.0, 0.5, 0.0])))
    values = np.tile([0.0, 0.5, 0.0], (5, 1))
    values[:, 2] = 0.5 * np.arange(5)
    scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, Track.sampled("position", values)))


def add_flag(scene: Scene) -> None:
    """Add a mesh without a material on the tail."""
    places, inverse = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.eye(4)
    inverse[:3, 3] = (0, -1, -3)
    scene.nodes.append(Node("flag", NodeKind.OBJECT, mesh=2, skin=2))
    uv = np.array([[0.0, 0], [1, 0], [0, 1]])
    scene.meshes.append(Mesh("flag", places + np.array([0, 1, 3]), np.array([[0, 1, 2]], np.int32), uv=uv))
    scene.skins.append(Skin("flag", [2], inverse[None], np.arange(3), np.zeros(3, np.int64), np.ones(3), places))


FLAG = w.mesh(
    b"",
    [(0, 0, 0, 1), (1, 0, 1, 1), (0, 1, 2, 1)],
    [(1, 2, 0, 0, 0), (1, 2, 1, 0, 0), (1, 2, 0, 1, 0)],
    [(0, 2, 1)],
)
TIP = w.joint(b'"tip"', 2, 0b000100, 6, (0, 0.5, 0), (0, 0, 0, -1))


EDITS: dict[str, tuple[Edit, bytes, bytes]] = {
    "nothing": (lambda scene: None, animation(), model()),
    "rate": (lambda scene: setattr(scene.clips[0], "rate", 30.0), animation(rate=30), model()),
    "box": (set_box, animation(top=4.0), model()),
    "height": (
        set_values(0, "position", 2, [0.0, 9.0, 2.0]),
        animation(columns=with_frame("y", 2, 9.0)),
        model(),
    ),
    "turn": (
        set_values(1, "rotation", 3, quaternion(0.5)),
        animation(columns=with_frame("turn", 3, 0.5)),
        model(),
    ),
    "negated quaternion": (
        set_values(1, "rotation", 3, [-number for number in quaternion(0.5)]),
        animation(columns=with_frame("turn", 3, 0.5)),
        model(),
    ),
    "rest rotation": (
        set_node("root", rotation_xyzw=np.array([0.0, 0.6, 0.0, -0.8])),
        animation().replace(struct.pack("<7f", 0, 1, 2, 0, 0, 0, 1), struct.pack("<7f", 0, 1, 2, 0, 0.6, 0, -0.8)),
        model(),
    ),
    "name": (set_node("hand", name="fist"), animation(), model().replace(b"hand", b"fist")),
    "parent": (
        set_node("hand", parent=0),
        animation(root(), arm(), tail(), hand(parent=0)),
        model(joints=[*BOUND[:3], w.model_joint(b'"hand"', 0, (2, 1, 2), (0.25, 0, 0))]),
    ),
    "no parent": (
        set_node("hand", parent=None),
        animation(root(), arm(), tail(), hand(parent=-1)),
        model(joints=[*BOUND[:3], w.model_joint(b'"hand"', -1, (2, 1, 2), (0.25, 0, 0))]),
    ),
    "texture": (
        set_fields(lambda scene: scene.materials[0].maps["texture1"], file_name="other/cloth.tga"),
        animation(),
        model([sleeve(b"other/cloth.tga"), glove()]),
    ),
    "material of another mesh": (
        set_fields(lambda scene: scene.meshes[1], face_materials=np.zeros(1, np.int32)),
        animation(),
        model([sleeve(), glove(name=b"materials/sleeve.mat")]),
    ),
    "uv": (
        set_uv,
        animation(),
        model([sleeve(vertices=[*QUAD["vertices"][:3], (0.25, 0.5, 4, 1)], weights=QUAD["weights"]), glove()]),
    ),
    "faces": (
        add_face,
        animation(),
        model([sleeve(triangles=[*QUAD["triangles"], (0, 3, 1)], weights=QUAD["weights"]), glove()]),
    ),
    "new joint": (
        add_tip,
        animation(root(), arm(), tail(), hand(), TIP, columns={**COLUMNS, "z of the tip": lambda n: 0.5 * n}),
        model(joints=[*BOUND, w.model_joint(b'"tip"', 2, (0, 1.5, 3))]),
    ),
    "removed joint": (
        remove_tail,
        animation(root(), arm(), hand(3), columns=without_column("x of the tail")),
        model(
            [sleeve(weights=[*QUAD["weights"][:3], (0.5, 2, 0, 1, 0), QUAD["weights"][4]]), glove(2)],
            [BOUND[0], BOUND[1], BOUND[3]],
        ),
    ),
    "new mesh": (add_flag, animation(), model([sleeve(), glove(), FLAG])),
    "removed mesh": (remove_sleeve, animation(), model([glove()])),
}
"""an edit and the bytes of both files; a mesh that is written anew has only the weights that its vertices use"""


PAIR = {"animation": animation(), "model": model()}
MERGED = {
    f"{name}, loaded from the {first}": Merge(
        PAIR[first], edit, tuple(pair) if first == "animation" else tuple(pair)[::-1], {second: decode(PAIR[second])}
    )
    for first, second in (tuple(PAIR), tuple(PAIR)[::-1])
    for name, (edit, *pair) in EDITS.items()
}


def test_a_new_joint_is_written_before_its_children() -> None:
    """Readers expect parents first: the hand moves behind the wrist, and its weights follow it."""
    scene = load()
    scene.nodes.append(Node("wrist", NodeKind.BONE, 1))
    scene.node("hand").parent = len(scene.nodes) - 1
    written_animation, written_model = files(save(scene))
    document = decode(written_animation)
    assert [joint.parent for joint in document.find(Joint)] == [-1, 0, 0, 1, 3]
    assert glove(4) in written_model
    saved = scene_of(document, {"model": decode(written_model)})
    before, after = (
        {node.name: keyframer.pose(each, frames=[3.0]).world[0, i] for i, node in enumerate(each.nodes)}
        for each in (load(), saved)
    )
    for name in ("root", "arm", "tail", "hand"):
        assert np.allclose(before[name], after[name], atol=1e-5)


def test_joints_stored_before_their_parents_get_parents_first() -> None:
    late, base = w.joint(b"late", 1, 0, 0, (1, 0, 0)), w.joint(b"root", -1, 0b1, 0)
    frames = [w.frame((0,) * 6, (0.5 * n,)) for n in range(2)]
    scene = load_alone(b"".join([w.header(2, 2, 1), late, base, *frames]))
    scene.node("late").position = np.array([2.0, 0.0, 0.0])
    wanted = [w.header(2, 2, 1), base, w.joint(b"late", 0, 0, 0, (2, 0, 0)), *frames]
    assert keyframer.encode(save(scene).document) == b"".join(wanted)


def test_moved_vertices_change_their_positions_in_joint_space() -> None:
    """The glove follows the hand, which is rotated (x of its quaternion is 0.25)."""
    scene = load()
    places = np.array(scene.meshes[1].positions)
    places[1:] += (0.0, 0.0, 1.0)
    scene.meshes[1].positions = places
    written_animation, written_model = files(save(scene))
    assert written_animation == animation()
    x, w_ = 0.25, (1 - 0.25**2) ** 0.5
    up = np.array([0.0, -2 * x * w_, 1 - 2 * x * x])  # z in the space of a joint rotated about x, backwards (w < 0)
    at = model().index(glove()) + len(glove()) - 72  # three weights of five numbers, and a triangle
    numbers = np.frombuffer(written_model[at : at + 60], "<f4").reshape(3, 5)[:, 2:]
    assert np.allclose(numbers, np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0)]) + np.outer([0, 1, 1], up), atol=1e-6)
    assert (written_model[:at], written_model[at + 60 :]) == (model()[:at], model()[at + 60 :])


def test_doubling_the_size_changes_only_lengths() -> None:
    written_animation, written_model = files(save(scale(load(), 2.0)))
    factors = np.array([2] * 8 + [1, 2, 1, 1], "<f4")
    assert np.array_equal(table(written_animation), table(animation()) * factors)
    before, after = (
        scene_of(decode(first), {"model": decode(second)})
        for first, second in ((animation(), model()), (written_animation, written_model))
    )
    for mesh, doubled in zip(before.meshes, after.meshes, strict=True):
        assert np.allclose(doubled.positions, 2 * np.asarray(mesh.positions), atol=1e-5)
    for node, doubled_node in zip(before.nodes, after.nodes, strict=True):
        assert np.allclose(doubled_node.position, 2 * np.asarray(node.position), atol=1e-6)


OPERATIONS: dict[str, tuple[Callable[[Scene], Scene], range]] = {
    "cut": (lambda scene: cut(scene, 1, 3), range(1, 4)),
    "reversed": (reverse, range(4, -1, -1)),
    "cut and reversed": (lambda scene: reverse(cut(scene, 1, 3)), range(3, 0, -1)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_write_the_frames_anew(name: str) -> None:
    """All bytes before and after the frames stay."""
    operation, frames = OPERATIONS[name]
    data, wanted = files(save(operation(load())))[0], animation(frames=frames)
    nobodys = 11
    assert np.allclose(*(np.delete(table(each), nobodys, axis=1) for each in (data, wanted)), atol=1e-6)
    size = len(wanted) - len(b"behind") - table(wanted).nbytes
    assert (data[:size], len(data), data[-6:]) == (wanted[:size], len(wanted), b"behind")


def test_doubling_the_rate_keeps_the_original_frames() -> None:
    """New frames between them: animated components are interpolated, unused ones copied from a neighbour."""
    doubled, before = table(files(save(change_rate(load(), 48.0)))[0]), table(animation())
    assert np.array_equal(doubled[::2, 6:], before[:, 6:])
    assert np.allclose(doubled[1::2, 6:8], (before[1:, 6:8] + before[:-1, 6:8]) / 2, atol=1e-6)
    assert set(doubled[:, 11].tolist()) == set(before[:, 11].tolist())


def test_a_fractional_frame_rate_is_sampled_at_a_whole_one() -> None:
    """At 24 instead of 23.5 frames per second, all frames but the first are a little earlier."""
    scene = load()
    scene.clips[0].rate = 23.5
    written = save(scene)
    rates = [loss.args for loss in written.report if loss.type.key == "RATE_CHANGED:sampled"]
    assert rates == [{"fps": 24, "clip_fps": 23.5}]
    assert np.allclose(table(files(written)[0])[:, 6], np.minimum(np.arange(6) * 23.5 / 24, 4) * 0.25, atol=1e-6)


def test_components_and_joints_that_start_to_move_get_columns_at_the_end() -> None:
    scene = load()
    set_values(0, "position", 2, [5.5, 0.5, 2.0])(scene)
    moved = {**without_column("y", "z"), "x": lambda n: 5.5 if n == 2 else 0.0, "y": COLUMNS["y"], "z": COLUMNS["z"]}
    joints = root(0b11000111, 4), arm(0), tail(1), hand(2)
    assert files(save(scene)) == (animation(*joints, columns=moved), model())


def test_a_joint_that_stops_loses_its_columns() -> None:
    scene = load()
    scene.clips[0].channels.remove(channel(scene, 0, "position"))
    joints = root(0b11000000), arm(0), tail(1), hand(2)
    assert files(save(scene)) == (animation(*joints, columns=without_column("y", "z")), model())


@pytest.mark.parametrize("edit", ["value", "joint removed"])
def test_editing_one_of_two_joints_with_a_shared_column(edit: str) -> None:
    """The edited joint gets a new column at the end."""

    def moving(joints: list[bytes], *columns: list[float]) -> bytes:
        frames = (w.frame((0,) * 6, row) for row in zip(*columns, strict=True))
        return b"".join([w.header(3, len(joints), len(columns)), *joints, *frames])

    height, other = [0.0, 1.0, 2.0], [5.0, 6.0, 7.0]
    first, second = w.joint(b"root", -1, 0b100, 0), w.joint(b"arm", 0, 0b100, 0)
    scene = load_alone(moving([first, second], height, other))
    if edit == "joint removed":
        scene.nodes.pop()
        scene.clips[0].channels.remove(channel(scene, 1, "position"))
        wanted = moving([first], height, other)
    else:
        set_values(1, "position", 1, [0.0, 0.0, 9.0])(scene)
        wanted = moving([first, w.joint(b"arm", 0, 0b100, 2)], height, other, [0.0, 9.0, 2.0])
    assert keyframer.encode(save(scene).document) == wanted


def test_keys_become_frames() -> None:
    """Three linear keys replace the frames of one joint; the other joints are unchanged."""
    scene = load()
    turns = np.array([quaternion(z) for z in (0.0, 0.5, 0.0)])
    form = RotationForm.QUATERNION_ABSOLUTE
    channel(scene, 1, "rotation").track = Track(
        "rotation", np.array([0.0, 2.0, 4.0]), turns, Interpolation.LINEAR, form=form
    )
    after, before = table(files(save(scene))[0]), table(animation())
    assert np.array_equal(np.delete(after, 8, axis=1), np.delete(before, 8, axis=1))
    assert np.allclose(after[:, 8], np.sin(np.pi / 6 * np.array([0, 0.5, 1, 0.5, 0])), atol=1e-6)


def test_a_new_base_frame_does_not_change_the_poses() -> None:
    """The base of the arm is rotated about x: the frames, which had no columns for x and y, get them."""
    scene = load_alone(animation())
    scene.nodes[1].rotation_xyzw = np.array([0.6, 0.0, 0.0, -0.8])
    saved = load_alone(keyframer.encode(save(scene).document))
    assert saved.nodes[1].rotation_xyzw.tolist() == pytest.approx([0.6, 0, 0, -0.8])
    poses = [keyframer.pose(each, frames=list(FRAMES)).world for each in (load_alone(animation()), saved)]
    assert np.allclose(*poses, atol=1e-6)


def test_missing_boxes_are_computed() -> None:
    """They contain only the joints of the skeleton."""
    scene = load_alone(animation())
    scene.clips[0].bounds = None
    rows = table(keyframer.encode(save(scene).document))
    assert np.array_equal(rows[:, 6:], table(animation())[:, 6:])
    places = keyframer.pose(scene, frames=list(FRAMES)).world[:, :, :3, 3]
    assert np.allclose(rows[:, :6], np.concatenate([places.min(axis=1), places.max(axis=1)], axis=1), atol=1e-5)


def test_a_nan_keeps_its_bits_when_another_number_changes() -> None:
    """In an unused component, and in a box."""
    data = bytearray(animation())
    start = len(data) - len(b"behind") - table(animation()).nbytes
    for at in (start, start + 44):
        data[at : at + 4] = b"\x01\x00\xa0\x7f"
    scene = load_alone(bytes(data))
    set_values(0, "position", 2, [0.0, 9.0, 2.0])(scene)
    data[start + 2 * 48 + 24 : start + 2 * 48 + 28] = struct.pack("<f", 9.0)
    assert keyframer.encode(save(scene).document) == bytes(data)


def test_a_new_object_becomes_a_joint_and_a_mesh() -> None:
    """The animation had no model: it gets one, and its other data is unchanged."""
    scene = load_alone(animation())
    scene.meshes.append(Mesh("hat", np.eye(3), np.array([[0, 1, 2]], np.int32)))
    scene.nodes.append(Node("hat", NodeKind.OBJECT, 0, position=np.array([0.0, 0, 4.0]), mesh=0))
    written_animation, written_model = files(save(scene))
    hat = w.joint(b"hat", 0, 0, 0, (0, 0, 4), (0, 0, 0, -1))
    assert written_animation == animation(root(), arm(), tail(), hand(), hat)
    saved = scene_of(decode(written_animation), {"model": decode(written_model)})
    places = keyframer.pose(saved, frames=[2.0]).world[0, 4, :3, 3]
    assert np.allclose(places, (0, 0.5, 6.0), atol=1e-5)
    assert np.allclose(saved.meshes[0].positions, np.eye(3) + np.array([0, 0.0, 6.0]), atol=1e-5)


NEW_FILES: dict[str, NewFile] = {
    **{
        name: NewFile(animation(), edit, words, {"model": decode(model())})
        for name, edit, words in (
            ("scale", set_node("arm", scale=np.array([2.0, 2, 2])), "a joint is scaled"),
            ("no clip", set_fields(lambda scene: scene, clips=[]), "the clip was removed"),
            (
                "another bind pose in one skin",
                set_fields(lambda scene: scene.skins[0], inverse_bind=np.tile(np.eye(4), (4, 1, 1))),
                "two skins have different bind poses",
            ),
        )
    },
    "moved joint of a model": NewFile(
        model(),
        set_fields(lambda scene: scene.nodes[0], position=np.array([5.0, 5.0, 5.0])),
        "a joint moved in a model, which has only the bind pose of its skins",
    ),
}


def test_a_mesh_with_two_materials_is_split() -> None:
    scene = load()
    scene.meshes[0].face_materials = np.array([0, 1], np.int32)
    written = save(scene)
    saved = scene_of(decode(files(written)[1]), {})
    assert [material.name for material in saved.materials] == [
        *("materials/sleeve.mat", "materials/glove.mat", "materials/glove.mat")
    ]
    assert [loss.args["pieces"] for loss in written.report if loss.type is MESH_SPLIT["pieces"]] == [2]


def test_vertices_of_a_new_mesh_without_a_joint_get_one() -> None:
    scene = load()
    add_flag(scene)
    skin = scene.skins[2]
    skin.vertex_indices, skin.joint_indices, skin.weights = np.arange(2), np.zeros(2, np.int64), np.ones(2)
    skin.positions = None
    written_animation, written_model = files(save(scene))
    saved = scene_of(decode(written_animation), {"model": decode(written_model)})
    assert [node.name for node in saved.nodes[:5]] == ["root", "arm", "tail", "hand", "anchor"]
    assert np.allclose(saved.meshes[2].positions, scene.meshes[2].positions, atol=1e-5)


@pytest.mark.parametrize("edit", [False, True])
@pytest.mark.parametrize(("suffix", "saved_suffix"), [(".anim", ".mdl"), (".mdl", ".anim"), (".anim", ".anim")])
def test_either_file_of_a_pair_can_be_saved_as_the_other(
    suffix: str, saved_suffix: str, edit: bool, tmp_path: Path
) -> None:
    """The extension selects the main file; both are written, and saving them again changes nothing."""
    (tmp_path / "arm.anim").write_bytes(animation())
    (tmp_path / "arm.mdl").write_bytes(model())
    scene = keyframer.load(tmp_path / f"arm{suffix}", format="hale3d")
    if edit:
        scene.node("hand").name = "fist"
    out = tmp_path / f"out{saved_suffix}"
    for _ in range(2):
        report = keyframer.save(scene, out, format="hale3d", overwrite=True)
        assert not [str(loss) for loss in report if loss.code == "ORIGINAL_REWRITTEN"]
        assert out.with_suffix(".anim").read_bytes() == animation()
        assert out.with_suffix(".mdl").read_bytes() == (model().replace(b"hand", b"fist") if edit else model())
        scene = keyframer.load(out, format="hale3d")


def test_a_model_saved_with_the_extension_of_an_animation(tmp_path: Path) -> None:
    """An animation and a model are written, not a model with another extension."""
    (tmp_path / "alone.mdl").write_bytes(model())
    keyframer.save(keyframer.load(tmp_path / "alone.mdl", format="hale3d"), tmp_path / "new.anim", format="hale3d")
    assert (tmp_path / "new.anim").read_bytes()[:4] == b"H3DA"
    assert (tmp_path / "new.mdl").read_bytes()[:4] == b"H3DM"


@needs_corpus
def test_cutting_the_real_animation_keeps_its_frames(tmp_path: Path) -> None:
    """Frames 10 to 50: joints and all data before them are unchanged, and so is the model."""
    source, out = CORPUS / "hale3d" / "bob_lamp_update.anim", tmp_path / "cut.anim"
    data = source.read_bytes()
    count, components = struct.unpack_from("<I", data, 8)[0], struct.unpack_from("<I", data, 20)[0]
    size = 24 + 4 * components
    first = len(data) - count * size
    keyframer.save(cut(keyframer.load(source, format="hale3d"), 10, 50), out, format="hale3d")
    cut_data = out.read_bytes()
    assert cut_data[:first] == data[:8] + struct.pack("<I", 41) + data[12:first]
    assert len(cut_data) == first + 41 * size
    before, after = (keyframer.load(each, format="hale3d") for each in (source, out))
    poses = [keyframer.pose(before, frames=[10, 30, 50]).world, keyframer.pose(after, frames=[0, 20, 40]).world]
    assert np.allclose(*poses, atol=1e-4)
    if source.with_suffix(".mdl").exists():
        assert out.with_suffix(".mdl").read_bytes() == source.with_suffix(".mdl").read_bytes()
