"""Hale3D animations in which one thing is edited: the bytes are those that a writer of our own makes of the edit."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

import keyframer
from keyframer.formats._loading import scene_of
from keyframer.formats._writing import Written
from keyframer.formats.hale3d import FORMAT
from keyframer.formats.hale3d.document import decode
from keyframer.scene import Mesh, Scene
from tests.formats.hale3d import writer as w

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


def why_anew(written: Written) -> list[str]:
    """Why all was written anew, if it was."""
    return [loss.detail for loss in written.report if "could not be patched" in loss.detail]


def values(node: int, kind: str, row: int, numbers: object) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        channel = next(each for each in scene.clips[0].channels if (each.node, each.track.kind) == (node, kind))
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


PATCHED: dict[str, tuple[Callable[[Scene], None], bytes]] = {
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


@pytest.mark.parametrize("name", PATCHED)
def test_one_edit_is_one_change_of_the_bytes(name: str) -> None:
    edit, data = PATCHED[name]
    written = edited(edit)
    assert why_anew(written) == []
    assert keyframer.encode(written.document) == data


def test_a_rest_turn_counts_where_no_key_says_otherwise() -> None:
    """The root never turns: its orientation is its own."""
    written = edited(lambda scene: setattr(scene.node("root"), "rotation_xyzw", np.array(TURN)))
    assert why_anew(written) == []
    data, made = wave(), keyframer.encode(written.document)
    assert made == data.replace(struct.pack("<7f", 0, 1, 2, 0, 0, 0, 1), struct.pack("<7f", 0, 1, 2, *TURN))


def fewer_boxes(scene: Scene) -> None:
    assert scene.clips[0].bounds is not None
    scene.clips[0].bounds = scene.clips[0].bounds[:3]


def fewer_frames(scene: Scene) -> None:
    for channel in scene.clips[0].channels:
        channel.track.times, channel.track.values = channel.track.times[:3], channel.track.values[:3]


REFUSED: dict[str, tuple[Callable[[Scene], None], str]] = {
    "still component": (values(0, "position", 2, [5.0, 1.0, 2.0]), "a component that the flags call still"),
    "fewer boxes": (fewer_boxes, "another number of frames"),
    "fewer frames": (fewer_frames, "other frames"),
    "no track": (lambda scene: scene.clips[0].channels.pop(), "other frames"),  # type: ignore[dict-item]
    "half a frame a second": (lambda scene: setattr(scene.clips[0], "rate", 23.5), "clips/0/rate"),
    "scale": (lambda scene: setattr(scene.node("arm"), "scale", np.array([2.0, 2, 2])), "scale of joints"),
    "hidden": (lambda scene: setattr(scene.node("arm"), "hidden", True), "hidden of joints"),
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


def test_parents_are_shared_with_the_model() -> None:
    """Changing them in one of the two files would part the pair."""
    (why,) = why_anew(edited(lambda scene: setattr(scene.node("hand"), "parent", 0), model=True))
    assert "(parent of joints)" in why


def test_a_mesh_cannot_be_changed_in_place() -> None:
    def edit(scene: Scene) -> None:
        mesh: Mesh = scene.meshes[0]
        mesh.positions = np.asarray(mesh.positions) + 1.0

    (why,) = why_anew(edited(edit, model=True))
    assert "meshes/0/positions" in why


def test_a_model_cannot_be_patched_but_written_anew() -> None:
    scene = loaded(w.arm())
    scene.nodes[0].position = np.array([5.0, 5.0, 5.0])
    written = FORMAT.from_scene(scene, {"file": "model"})
    (why,) = why_anew(written)
    assert "(nodes/0/position)" in why


@pytest.mark.parametrize(
    ("options", "patched"),
    [
        ({"dialect": "nul-ended"}, True),
        ({"file": "animation"}, True),
        ({"companion": False}, True),
        ({"dialect": "length"}, False),
        ({"fps": 24}, False),
    ],
)
def test_another_layout_is_written_anew(options: dict[str, object], patched: bool) -> None:
    written = edited(lambda scene: None, **options)
    assert (keyframer.encode(written.document) == wave()) is patched
    assert ("another layout is asked for" in "".join(why_anew(written))) is not patched
