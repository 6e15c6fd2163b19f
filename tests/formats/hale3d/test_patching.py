"""Hale3D animations in which one thing is edited: the bytes are those that a writer of our own makes of the edit."""

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
from tests.formats.editing import why_anew
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
    """`writer.wave` with other numbers: the box and the height of frame 2, the arm's turn in frame 3."""
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


def loaded(data: bytes, **options: object) -> Scene:
    return scene_of(keyframer.decode(data, format="hale3d"), options)


def edited(edit: Callable[[Scene], None], model: bool = False, **options: object) -> Written:
    scene = loaded(wave(), **({"model": decode(w.arm())} if model else {}))
    edit(scene)
    return FORMAT.from_scene(scene, options)


def values(node: int, kind: str, row: int, numbers: object) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        channel = next(
            channel for channel in scene.clips[0].channels if (channel.node, channel.track.kind) == (node, kind)
        )
        made = channel.track.values.copy()
        made[row] = numbers
        channel.track.values = made

    return edit


def set_box(scene: Scene) -> None:
    assert scene.clips[0].bounds is not None
    boxes = scene.clips[0].bounds.copy()
    boxes[2, 1, 2] += 4.0
    scene.clips[0].bounds = boxes


def turned(z: float) -> list[float]:
    return [0.0, 0.0, z, -((1 - z * z) ** 0.5)]


MERGED: dict[str, tuple[Callable[[Scene], None], bytes]] = {
    "nothing": (lambda scene: None, wave()),
    "rate": (lambda scene: setattr(scene.clips[0], "rate", 30.0), wave(rate=30)),
    "box": (set_box, wave(box=4.0)),
    "height": (values(0, "position", 2, [0.0, 9.0, 2.0]), wave(up=9.0)),
    "turn": (values(1, "rotation", 3, turned(0.5)), wave(turn=0.5)),
    "name": (lambda scene: setattr(scene.node("hand"), "name", "fist"), wave(hand=(b'"fist"', 1))),
    "parent": (lambda scene: setattr(scene.node("hand"), "parent", 0), wave(hand=(b'"hand"', 0))),
    "no parent": (lambda scene: setattr(scene.node("hand"), "parent", None), wave(hand=(b'"hand"', -1))),
    "rest place": (lambda scene: setattr(scene.node("root"), "position", np.array([0.0, 7, 2])), wave(root=(0, 7, 2))),
}


@pytest.mark.parametrize("name", MERGED)
def test_one_edit_is_one_change_of_the_bytes(name: str) -> None:
    edit, data = MERGED[name]
    written = edited(edit)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == data


def test_a_rest_turn_counts_where_no_key_says_otherwise() -> None:
    """The root never turns: its orientation is its own."""
    written = edited(lambda scene: setattr(scene.node("root"), "rotation_xyzw", np.array(TURN)))
    assert why_anew(written) == []
    data, made = wave(), keyframer.encode(written.document)
    assert made == data.replace(struct.pack("<7f", 0, 1, 2, 0, 0, 0, 1), struct.pack("<7f", 0, 1, 2, *TURN))


def sign(scene: Scene) -> None:
    values(1, "rotation", 3, [-number for number in turned(0.5)])(scene)


def all_signs(scene: Scene) -> None:
    track = next(
        channel.track for channel in scene.clips[0].channels if (channel.node, channel.track.kind) == (1, "rotation")
    )
    track.values = -track.values


@pytest.mark.parametrize(("edit", "data"), [(sign, wave(turn=0.5)), (all_signs, wave())])
def test_a_quaternion_of_the_other_sign_is_the_same_turn(edit: Callable[[Scene], None], data: bytes) -> None:
    written = edited(edit)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == data


def test_half_a_frame_a_second_has_no_place() -> None:
    """At 24 frames a second the first one is as it was, and all others are a little later in the motion."""
    written = edited(lambda scene: setattr(scene.clips[0], "rate", 23.5))
    assert why_anew(written) == []
    assert "sampled at 24 frames per second; the clip has 23.5" in "".join(loss.detail for loss in written.report)
    data, original = keyframer.encode(written.document), wave()
    table = np.frombuffer(data[-6 * 40 :], "<f4").reshape(6, 10)
    assert data[:-240] == original[:-200].replace(struct.pack("<I", 5), struct.pack("<I", 6), 1)
    heights = np.minimum(np.arange(6) * 23.5 / 24, 4) * 0.25
    assert np.allclose(table[:, 6], heights, atol=1e-6)


REFUSED: dict[str, tuple[Callable[[Scene], None], str]] = {
    "scale": (lambda scene: setattr(scene.node("arm"), "scale", np.array([2.0, 2, 2])), "scale of joints"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_is_said_and_all_written_anew(name: str) -> None:
    edit, words = REFUSED[name]
    written = edited(edit)
    (why,) = why_anew(written)
    assert f"({words})" in why
    assert len(loaded(keyframer.encode(written.document)).nodes) == 3


def test_the_model_goes_along_byte_for_byte() -> None:
    written = edited(values(0, "position", 2, [0.0, 9.0, 2.0]), model=True)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == wave(up=9.0)
    assert written.companions == ((".mdl", w.arm()),)


def test_parents_change_in_both_files() -> None:
    """Changing them in one of the two would part the pair."""
    written = edited(lambda scene: setattr(scene.node("hand"), "parent", 0), model=True)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == wave(hand=(b'"hand"', 0))
    hand = w.model_joint(b'"hand"', 1, (2, 1, 2), (0.25, 0, 0))
    ((suffix, model),) = written.companions
    assert suffix == ".mdl"
    assert model == w.arm().replace(hand, w.model_joint(b'"hand"', 0, (2, 1, 2), (0.25, 0, 0)))


def test_vertices_that_move_take_their_weights_along() -> None:
    """Two of the glove's vertices hang on the hand, which stands at (2, 1, 2) and is turned by 0.25 of a half: only
    their places in its space change."""

    def edit(scene: Scene) -> None:
        mesh: Mesh = scene.meshes[1]
        places = np.array(mesh.positions)
        places[1:] += (0.0, 0.0, 1.0)
        mesh.positions = places

    written = edited(edit, model=True)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == wave()
    ((_, model),) = written.companions
    x, w_ = 0.25, (1 - 0.25**2) ** 0.5
    up = (0.0, -2 * x * w_, 1 - 2 * x * x)  # z seen from a joint turned about x, the other way round (w < 0)
    old = w.mesh(*GLOVE, [(1, 2, 0, 0, 0), (1, 2, 1, 0, 0), (1, 2, 0, 1, 0)], [(0, 1, 2)])
    new = w.mesh(*GLOVE, [(1, 2, 0, 0, 0), (1, 2, 1, *up[1:]), (1, 2, 0, 1 + up[1], up[2])], [(0, 1, 2)])
    assert len(model) == len(w.arm())
    at = w.arm().index(old)
    assert model[:at] + old + model[at + len(old) :] == w.arm()
    numbers = np.frombuffer(model[at + len(old) - 72 : at + len(old) - 12], "<f4")
    assert np.allclose(numbers, np.frombuffer(new[-72:-12], "<f4"), atol=1e-6)


NOWHERE: dict[str, Callable[[Scene], object]] = {
    "hidden": lambda scene: setattr(scene.node("arm"), "hidden", True),
    "title": lambda scene: setattr(scene, "title", "waving"),
    "name of the clip": lambda scene: setattr(scene.clips[0], "name", "waving"),
    "ambient light": lambda scene: setattr(scene.environment, "ambient", (0.1, 0.2, 0.3)),
    "colour": lambda scene: setattr(scene.materials[0], "diffuse", (0.1, 0.2, 0.3)),
    "smoothing": lambda scene: setattr(scene.meshes[0], "smoothing", np.array([1, 2], np.uint32)),
    "another clip": lambda scene: scene.clips.append(Clip("walk")),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_what_no_file_can_say_is_dropped_and_the_original_kept(name: str) -> None:
    written = edited(NOWHERE[name], model=True)  # type: ignore[arg-type]
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == wave()
    assert written.companions == ((".mdl", w.arm()),)
    assert len(written.report.of(Outcome.DROPPED)) == 1


def test_another_base_frame_leaves_the_frames_what_they_say() -> None:
    """The arm's base is turned about x: frames said nothing of x and y, and have to now."""
    written = edited(lambda scene: setattr(scene.node("arm"), "rotation_xyzw", np.array([0.6, 0.0, 0.0, -0.8])))
    assert why_anew(written) == []
    found = loaded(keyframer.encode(written.document))
    assert found.node("arm").rotation_xyzw.tolist() == pytest.approx([0.6, 0, 0, -0.8])
    for frame in range(5):
        one, other = (np.asarray(keyframer.pose(each, frames=[frame]).world) for each in (loaded(wave()), found))
        assert np.allclose(one, other, atol=1e-6)


def test_a_mesh_takes_the_material_of_another() -> None:
    def edit(scene: Scene) -> None:
        scene.meshes[1].face_materials = np.zeros(1, np.int32)

    written = edited(edit, model=True)
    assert why_anew(written) == []
    assert written.companions == ((".mdl", w.arm().replace(b"materials/glove.mat", b"materials/sleeve.mat")),)


def test_a_model_cannot_be_patched_but_written_anew() -> None:
    scene = loaded(w.arm())
    scene.nodes[0].position = np.array([5.0, 5.0, 5.0])
    written = FORMAT.from_scene(scene, {"file": "model"})
    (why,) = why_anew(written)
    assert "(/nodes/0/position would read back differently)" in why


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"dialect": "nul-ended"}, True),
        ({"file": "animation"}, True),
        ({"companion": False}, True),
        ({"dialect": "length"}, False),
        ({"fps": 24}, False),
    ],
)
def test_another_layout_is_written_anew(options: dict[str, object], kept: bool) -> None:
    written = edited(lambda scene: None, **options)
    assert (keyframer.encode(written.document) == wave()) is kept
    assert ("a different layout was requested" in "".join(why_anew(written))) is not kept
