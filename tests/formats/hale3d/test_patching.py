"""Hale3D animations with one edit: the bytes equal those of an independent writer."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

import keyframer
from keyframer.formats.hale3d import FORMAT
from keyframer.formats.hale3d.document import decode
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.scene import Clip, Mesh, Scene
from keyframer.scene.loss_report import Outcome
from tests.formats.editing import rewrite_reasons
from tests.formats.hale3d import writer as w

GLOVE = (b"materials/glove.mat", [(0, 0, 0, 1), (0.5, 0, 1, 1), (0, 0.5, 2, 1)])
TURN = (0.0, 0.6, 0.0, -0.8)


def wave(
    *,
    rate: int = 24,
    root: tuple[float, ...] = (0, 1, 2),
    hand: tuple[bytes, int] = (b'"hand"', 1),
    hand_turn: tuple[float, ...] = (0.25, 0, 0, -0.9682458),
    box: float = 0.0,
    up: float | None = None,
    turn: float | None = None,
) -> bytes:
    """`writer.wave` with other numbers: the box and the height of frame 2, the arm's rotation in frame 3."""
    parts = [
        w.header(5, 3, 4, rate=rate),
        w.joint(b'"root"', -1, 0b000110, 0, root, (0, 0, 0, 1)),
        w.joint(b'"arm"', 0, 0b100000, 2, (0.5, 0, 0), (0, 0, 0.5, -0.8660254)),
        w.joint(hand[0], hand[1], 0b001000, 3, (1.5, 0, 0), hand_turn),
    ]
    for number in range(5):
        top = 1 + number + (box if number == 2 else 0.0)
        height = 0.25 * number if up is None or number != 2 else up
        angle = 0.1 * number - 0.2 if turn is None or number != 3 else turn
        parts.append(w.frame((-1, -1, -1, 1, 1, top), (height, 2.0, angle, 0.125)))
    return b"".join(parts)


def load(data: bytes, **options: object) -> Scene:
    return scene_of(keyframer.decode(data, format="hale3d"), options)


def save_edited(edit: Callable[[Scene], None], model: bool = False, **options: object) -> Written:
    scene = load(wave(), **({"model": decode(w.arm())} if model else {}))
    edit(scene)
    return FORMAT.from_scene(scene, options)


def set_values(node: int, kind: str, row: int, numbers: object) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        channel = next(
            channel for channel in scene.clips[0].channels if (channel.node, channel.track.kind) == (node, kind)
        )
        values = channel.track.values.copy()
        values[row] = numbers
        channel.track.values = values

    return edit


def set_box(scene: Scene) -> None:
    assert scene.clips[0].bounds is not None
    boxes = scene.clips[0].bounds.copy()
    boxes[2, 1, 2] += 4.0
    scene.clips[0].bounds = boxes


def quaternion(z: float) -> list[float]:
    return [0.0, 0.0, z, -((1 - z * z) ** 0.5)]


MERGED: dict[str, tuple[Callable[[Scene], None], bytes]] = {
    "nothing": (lambda scene: None, wave()),
    "rate": (lambda scene: setattr(scene.clips[0], "rate", 30.0), wave(rate=30)),
    "box": (set_box, wave(box=4.0)),
    "height": (set_values(0, "position", 2, [0.0, 9.0, 2.0]), wave(up=9.0)),
    "turn": (set_values(1, "rotation", 3, quaternion(0.5)), wave(turn=0.5)),
    "name": (lambda scene: setattr(scene.node("hand"), "name", "fist"), wave(hand=(b'"fist"', 1))),
    "parent": (lambda scene: setattr(scene.node("hand"), "parent", 0), wave(hand=(b'"hand"', 0))),
    "no parent": (lambda scene: setattr(scene.node("hand"), "parent", None), wave(hand=(b'"hand"', -1))),
    "rest position": (
        lambda scene: setattr(scene.node("root"), "position", np.array([0.0, 7, 2])),
        wave(root=(0, 7, 2)),
    ),
}


@pytest.mark.parametrize("name", MERGED)
def test_an_edit_changes_only_its_bytes(name: str) -> None:
    edit, data = MERGED[name]
    written = save_edited(edit)
    assert rewrite_reasons(written) == []
    assert keyframer.encode(written.document) == data


def test_an_edited_rest_rotation_without_keys_is_stored() -> None:
    """The root has no rotation keys."""
    written = save_edited(lambda scene: setattr(scene.node("root"), "rotation_xyzw", np.array(TURN)))
    assert rewrite_reasons(written) == []
    data, encoded = wave(), keyframer.encode(written.document)
    assert encoded == data.replace(struct.pack("<7f", 0, 1, 2, 0, 0, 0, 1), struct.pack("<7f", 0, 1, 2, *TURN))


def negate_one_quaternion(scene: Scene) -> None:
    set_values(1, "rotation", 3, [-number for number in quaternion(0.5)])(scene)


def negate_all_quaternions(scene: Scene) -> None:
    track = next(
        channel.track for channel in scene.clips[0].channels if (channel.node, channel.track.kind) == (1, "rotation")
    )
    track.values = -track.values


@pytest.mark.parametrize(("edit", "data"), [(negate_one_quaternion, wave(turn=0.5)), (negate_all_quaternions, wave())])
def test_a_negated_quaternion_is_the_same_rotation(edit: Callable[[Scene], None], data: bytes) -> None:
    written = save_edited(edit)
    assert rewrite_reasons(written) == []
    assert keyframer.encode(written.document) == data


def test_a_fractional_frame_rate_is_sampled_at_a_whole_one() -> None:
    """At 24 instead of 23.5 frames per second the first frame is unchanged, and all others are a little earlier."""
    written = save_edited(lambda scene: setattr(scene.clips[0], "rate", 23.5))
    assert rewrite_reasons(written) == []
    assert "sampled at 24 frames per second; the clip has 23.5" in "".join(loss.detail for loss in written.report)
    data, original = keyframer.encode(written.document), wave()
    table = np.frombuffer(data[-6 * 40 :], "<f4").reshape(6, 10)
    assert data[:-240] == original[:-200].replace(struct.pack("<I", 5), struct.pack("<I", 6), 1)
    heights = np.minimum(np.arange(6) * 23.5 / 24, 4) * 0.25
    assert np.allclose(table[:, 6], heights, atol=1e-6)


NOT_MERGEABLE: dict[str, tuple[Callable[[Scene], None], str]] = {
    "scale": (lambda scene: setattr(scene.node("arm"), "scale", np.array([2.0, 2, 2])), "a joint is scaled"),
}


@pytest.mark.parametrize("name", NOT_MERGEABLE)
def test_edits_that_cannot_be_merged_cause_a_new_file(name: str) -> None:
    edit, words = NOT_MERGEABLE[name]
    written = save_edited(edit)
    (why,) = rewrite_reasons(written)
    assert f"({words})" in why
    assert len(load(keyframer.encode(written.document)).nodes) == 3


def test_the_model_is_kept_byte_for_byte() -> None:
    written = save_edited(set_values(0, "position", 2, [0.0, 9.0, 2.0]), model=True)
    assert rewrite_reasons(written) == []
    assert keyframer.encode(written.document) == wave(up=9.0)
    assert written.companions == ((".mdl", w.arm()),)


def test_a_new_parent_changes_both_files() -> None:
    """Otherwise the two skeletons would not match."""
    written = save_edited(lambda scene: setattr(scene.node("hand"), "parent", 0), model=True)
    assert rewrite_reasons(written) == []
    assert keyframer.encode(written.document) == wave(hand=(b'"hand"', 0))
    hand = w.model_joint(b'"hand"', 1, (2, 1, 2), (0.25, 0, 0))
    ((suffix, model),) = written.companions
    assert suffix == ".mdl"
    assert model == w.arm().replace(hand, w.model_joint(b'"hand"', 0, (2, 1, 2), (0.25, 0, 0)))


def test_moved_vertices_change_their_positions_in_joint_space() -> None:
    """Two of the glove's vertices follow the hand, which is at (2, 1, 2) and rotated (x of its quaternion is 0.25).
    Only their positions in the space of the hand change.
    """

    def edit(scene: Scene) -> None:
        mesh: Mesh = scene.meshes[1]
        places = np.array(mesh.positions)
        places[1:] += (0.0, 0.0, 1.0)
        mesh.positions = places

    written = save_edited(edit, model=True)
    assert rewrite_reasons(written) == []
    assert keyframer.encode(written.document) == wave()
    ((_, model),) = written.companions
    x, w_ = 0.25, (1 - 0.25**2) ** 0.5
    up = (0.0, -2 * x * w_, 1 - 2 * x * x)  # z in the space of a joint rotated about x, backwards (w < 0)
    old = w.mesh(*GLOVE, [(1, 2, 0, 0, 0), (1, 2, 1, 0, 0), (1, 2, 0, 1, 0)], [(0, 1, 2)])
    new = w.mesh(*GLOVE, [(1, 2, 0, 0, 0), (1, 2, 1, *up[1:]), (1, 2, 0, 1 + up[1], up[2])], [(0, 1, 2)])
    assert len(model) == len(w.arm())
    at = w.arm().index(old)
    assert model[:at] + old + model[at + len(old) :] == w.arm()
    numbers = np.frombuffer(model[at + len(old) - 72 : at + len(old) - 12], "<f4")
    assert np.allclose(numbers, np.frombuffer(new[-72:-12], "<f4"), atol=1e-6)


NOT_STORABLE: dict[str, Callable[[Scene], object]] = {
    "hidden": lambda scene: setattr(scene.node("arm"), "hidden", True),
    "title": lambda scene: setattr(scene, "title", "waving"),
    "name of the clip": lambda scene: setattr(scene.clips[0], "name", "waving"),
    "ambient light": lambda scene: setattr(scene.environment, "ambient", (0.1, 0.2, 0.3)),
    "colour": lambda scene: setattr(scene.materials[0], "diffuse", (0.1, 0.2, 0.3)),
    "smoothing": lambda scene: setattr(scene.meshes[0], "smoothing", np.array([1, 2], np.uint32)),
    "another clip": lambda scene: scene.clips.append(Clip("walk")),
}


@pytest.mark.parametrize("name", NOT_STORABLE)
def test_edits_that_the_format_cannot_store_are_dropped(name: str) -> None:
    written = save_edited(NOT_STORABLE[name], model=True)  # type: ignore[arg-type]
    assert rewrite_reasons(written) == []
    assert keyframer.encode(written.document) == wave()
    assert written.companions == ((".mdl", w.arm()),)
    assert len(written.report.of(Outcome.DROPPED)) == 1


def test_a_new_base_frame_does_not_change_the_frames() -> None:
    """The base of the arm is rotated about x: the frames, which had no columns for x and y, get them."""
    written = save_edited(lambda scene: setattr(scene.node("arm"), "rotation_xyzw", np.array([0.6, 0.0, 0.0, -0.8])))
    assert rewrite_reasons(written) == []
    reloaded = load(keyframer.encode(written.document))
    assert reloaded.node("arm").rotation_xyzw.tolist() == pytest.approx([0.6, 0, 0, -0.8])
    for frame in range(5):
        before, after = (np.asarray(keyframer.pose(each, frames=[frame]).world) for each in (load(wave()), reloaded))
        assert np.allclose(before, after, atol=1e-6)


def test_a_mesh_can_take_the_material_of_another() -> None:
    def edit(scene: Scene) -> None:
        scene.meshes[1].face_materials = np.zeros(1, np.int32)

    written = save_edited(edit, model=True)
    assert rewrite_reasons(written) == []
    assert written.companions == ((".mdl", w.arm().replace(b"materials/glove.mat", b"materials/sleeve.mat")),)


def test_a_moved_joint_of_a_model_causes_a_new_file() -> None:
    scene = load(w.arm())
    scene.nodes[0].position = np.array([5.0, 5.0, 5.0])
    written = FORMAT.from_scene(scene, {"file": "model"})
    (why,) = rewrite_reasons(written)
    assert "(a joint moved in a model, which has only the bind pose of its skins)" in why


@pytest.mark.parametrize(
    ("options", "is_unchanged"),
    [
        ({"dialect": "nul-ended"}, True),
        ({"file": "animation"}, True),
        ({"companion": False}, True),
        ({"dialect": "length"}, False),
        ({"fps": 24}, False),
    ],
)
def test_another_dialect_causes_a_new_file(options: dict[str, object], is_unchanged: bool) -> None:
    written = save_edited(lambda scene: None, **options)
    assert (keyframer.encode(written.document) == wave()) is is_unchanged
    assert ("a different layout was requested" in "".join(rewrite_reasons(written))) is not is_unchanged
