"""Reading node animations: keys compared with a slow evaluator, guessed units, and options."""

from __future__ import annotations

import math
import random
import struct
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import RotationForm
from tests.building import editing
from tests.building.nodeanim import BEZIER, LINEAR, TCB, Bone, Clip, Framing, Key, write
from tests.posing.plain import Matrix, product, rotation, scaling, translation
from tests.reference_curves.slow import SlowTrack, evaluate, unit

DEFAULT = Framing()
TIMES = [-0.5, 0.0, 0.1, 0.5, 0.75, 1.0, 1.25, 1.9, 2.0, 3.5]


def load(clip: Clip, how: Framing = DEFAULT, **options: Any) -> keyframer.Scene:
    return editing.load("nodeanim", write(clip, how), **options)


def single(numbers: Any) -> list[float]:
    return [float(struct.unpack("<f", struct.pack("<f", number))[0]) for number in numbers]


def slow(keys: tuple[Key, ...], flags: int, relative: bool = False, turn: bool = False) -> SlowTrack:
    """Flags: 1 TCB, 2 Bezier (smooth), 4 linear, in this order of precedence; rotations are angle, then axis."""
    kind = "TCB" if flags & TCB else "BEZIER" if flags & BEZIER else "LINEAR"
    values = [single(key.value) for key in keys]
    form = "NONE"
    if turn:
        values = [[x, y, z, angle] for angle, x, y, z in values]
        form = "AXIS_ANGLE_RELATIVE" if relative else "AXIS_ANGLE_ABSOLUTE"
    slow_track = SlowTrack(single(key.time for key in keys), values, kind, form=form)
    if kind == "TCB":
        for at, name in enumerate(("tension", "continuity", "bias", "ease_to", "ease_from")):
            setattr(slow_track, name, [single(key.shape)[at] for key in keys])
    return slow_track


def slow_local(bone: Bone, time: float, relative: bool) -> Matrix:
    place, turned, size = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0]
    if bone.translations:
        place = evaluate(slow(bone.translations, bone.flags), time, place)
    if bone.rotations:
        turned = evaluate(slow(bone.rotations, bone.flags, relative, turn=True), time, turned)
    if bone.scales:
        size = evaluate(slow(bone.scales, bone.flags), time, size)
    return product(product(translation(place), rotation(unit(turned))), scaling(size))


def dancing(seed: int, flags: int) -> Bone:
    dice = random.Random(seed)

    def shape() -> tuple[float, ...]:
        return (*(dice.uniform(-1, 1) for _ in range(3)), *(dice.uniform(0, 0.6) for _ in range(2)))

    times = [0.0, 0.5, 1.25, 2.0]
    return Bone(
        b"Bip01",
        flags,
        tuple(Key(0, time, tuple(dice.uniform(-3, 3) for _ in range(3)), shape()) for time in times),
        tuple(
            Key(0, time, (dice.uniform(0.2, 1.5), *(dice.uniform(-1, 1) for _ in range(3))), shape()) for time in times
        ),
        tuple(Key(0, time, tuple(dice.uniform(0.5, 2) for _ in range(3)), shape()) for time in times),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("relative", [True, False], ids=["relative", "absolute"])
@pytest.mark.parametrize("flags", [TCB, BEZIER, LINEAR, TCB | LINEAR, BEZIER | LINEAR])
def test_against_the_slow_evaluator(flags: int, relative: bool, seed: int) -> None:
    bone = dancing(seed, flags)
    scene = load(Clip((bone,)), rotation_keys="relative" if relative else "absolute", time_unit="seconds")
    pose = keyframer.pose(scene, TIMES)
    for at, time in enumerate(TIMES):
        np.testing.assert_allclose(pose.world[at, 0], slow_local(bone, time, relative), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "how", [DEFAULT, Framing(">", "u16", "none"), Framing(header="u8+u32"), Framing(tcb_by_key=True)], ids=str
)
def test_every_framing_gives_the_same_scene(how: Framing) -> None:
    bone = dancing(1, LINEAR)
    pose = keyframer.pose(load(Clip((bone,)), how, rotation_keys="absolute"), TIMES)
    for at, time in enumerate(TIMES):
        np.testing.assert_allclose(pose.world[at, 0], slow_local(bone, time, False), rtol=0, atol=1e-8)


def sliding(times: list[float]) -> Clip:
    return Clip((Bone(b"a", LINEAR, tuple(Key(0, time, (time, 0.0, 0.0)) for time in times)),))


@pytest.mark.parametrize(
    ("times", "options", "unit_", "seconds"),
    [
        ([0, 0.5, 2], {}, "second", 2),
        ([0, 160, 4800], {}, "tick", 1),  # 30 frames a second
        ([0, 200, 4800], {}, "tick", 1),  # 24
        ([0, 192, 4800], {}, "tick", 1),  # 25
        ([0, 10, 90], {}, "frame", 3),
        ([0, 10, 60], {}, "second", 60),  # whole, but a minute of seconds is as likely
        ([0, 10, 90], {"fps": 15.0}, "frame", 6),
        ([0, 10, 90], {"time_unit": "seconds"}, "second", 90),
        ([0, 0.5, 2], {"time_unit": "frames"}, "frame", 2 / 30),
        ([0, 10, 90], {"time_unit": "ticks"}, "tick", 90 / 4800),
        ([0, 160, 4800], {"time_unit": "frames", "fps": 24.0}, "frame", 200),
        ([0, 0, 0], {}, "second", 0),
    ],
)
def test_time_units(times: list[float], options: dict[str, Any], unit_: str, seconds: float) -> None:
    scene = load(sliding(times), **options)
    clip = scene.clips[0]
    assert clip.unit == unit_
    assert clip.end / clip.rate == pytest.approx(seconds)
    assert keyframer.pose(scene, [seconds]).world[0, 0, 0, 3] == pytest.approx(times[-1])


def test_ticks_per_frame_follow_the_key_times() -> None:
    assert load(sliding([0, 192, 4800])).clips[0].frames_per_second == 25
    assert load(sliding([0, 200, 4600])).clips[0].frames_per_second == 24
    assert load(sliding([0, 0.5, 2])).clips[0].frames_per_second == 30


def spinning(flags: int, angles: list[float]) -> Clip:
    keys = tuple(Key(0, index / 4, (angle, 0.0, 0.0, 1.0), (0.0,) * 5) for index, angle in enumerate(angles))
    return Clip((Bone(b"a", flags, rotations=keys),))


def form(clip: Clip, **options: Any) -> RotationForm:
    return load(clip, **options).clips[0].channels[0].track.form


RELATIVE, ABSOLUTE = RotationForm.AXIS_ANGLE_RELATIVE, RotationForm.AXIS_ANGLE_ABSOLUTE


@pytest.mark.parametrize(
    ("flags", "angles", "wanted"),
    [
        (TCB, [0.1, 0.2, -0.1, 0.15], RELATIVE),  # small rotations, which as absolute keys would jump
        (LINEAR, [0.0, 1.0, 1.2, 1.4, 1.6], ABSOLUTE),
        (TCB, [1.0, 1.1, 1.2, 1.3], ABSOLUTE),  # near each other, far from 0: implausible as increments
        (LINEAR, [0.1, -0.1, 0.1, -0.1], RELATIVE),  # as absolute keys they are twice as far apart
        (TCB, [0.3, 0.3, 0.3], RELATIVE),  # a pause or a steady spin: habit decides
        (LINEAR, [0.3, 0.3, 0.3], ABSOLUTE),
        (TCB, [0.0, 0.5], RELATIVE),
        (BEZIER, [0.0, 0.5], ABSOLUTE),
    ],
)
def test_relative_or_absolute_rotation_keys(flags: int, angles: list[float], wanted: RotationForm) -> None:
    assert form(spinning(flags, angles)) is wanted
    for word, always in (("relative", RELATIVE), ("absolute", ABSOLUTE)):
        assert form(spinning(flags, angles), rotation_keys=word) is always


def test_relative_keys_are_accumulated() -> None:
    scene = load(spinning(LINEAR, [0.5, 0.5, 0.5]), rotation_keys="relative", time_unit="seconds")
    world = keyframer.pose(scene, [0, 0.125, 0.5]).world[:, 0]
    np.testing.assert_allclose(np.arctan2(world[:, 1, 0], world[:, 0, 0]), [0.5, 0.75, 1.5], atol=1e-9)


@pytest.mark.parametrize(
    ("angles", "options", "wanted"),
    [
        ([0, 1.5], {}, 1.5),
        ([0, 8 * math.pi - 0.1], {}, 8 * math.pi - 0.1),
        ([0, 8 * math.pi + 0.1], {}, math.radians(8 * math.pi + 0.1)),
        ([0, -8 * math.pi + 0.1], {}, -8 * math.pi + 0.1),
        ([0, -8 * math.pi - 0.1], {}, math.radians(-8 * math.pi - 0.1)),
        ([0, 90], {}, math.pi / 2),
        ([0, 90], {"angle_unit": "radians"}, 90),
        ([0, 1.5], {"angle_unit": "degrees"}, math.radians(1.5)),
    ],
)
def test_angle_units(angles: list[float], options: dict[str, str], wanted: float) -> None:
    track = load(spinning(LINEAR, angles), **options).clips[0].channels[0].track
    assert track.values[1].tolist() == pytest.approx([0, 0, 1, wanted])


def test_title_author_and_copyright_are_read() -> None:
    scene = load(Clip((Bone(b"a", LINEAR),), b"run", b"(C) 2002 J. R\xf6der"))
    assert (scene.title, scene.author, scene.copyright) == ("run", "(C) 2002 J. Röder", "(C) 2002 J. Röder")
    assert scene.clips[0].name == "run"
    plain = load(Clip((), b"idle", b"somebody"))
    assert (plain.title, plain.author, plain.copyright) == ("idle", "somebody", "")
    assert load(Clip((), b"", b"\x94"), encoding="cp437").author == "ö"


@pytest.mark.parametrize(
    ("options", "up", "hand"), [({}, "z", "right"), ({"up": "y", "handedness": "left"}, "y", "left")]
)
def test_axes_are_an_option(options: dict[str, str], up: str, hand: str) -> None:
    space = load(sliding([0, 1]), **options).space
    assert (space.up, space.handedness.value) == (up, hand)


def test_bezier_keys_are_read_as_smooth() -> None:
    scene = load(Clip((dancing(2, BEZIER),)))
    assert scene.issues.counts["SCENE_BEZIER_SMOOTH"] == 3


def test_a_zero_axis_is_reported_and_does_not_rotate() -> None:
    clip = Clip((Bone(b"a", LINEAR, rotations=(Key(0, 0.0, (1.0, 0.0, 0.0, 0.0)),)),))
    scene = load(clip)
    assert [issue.path for issue in scene.issues] == ["/animations/nodes[0]/rotation_keys[0]"]
    assert scene.issues[0].code == "DATA_ZERO_AXIS"
    np.testing.assert_allclose(keyframer.pose(scene, [0]).world[0, 0], np.eye(4))


def test_names_and_extras() -> None:
    scene = load(Clip((Bone(b"Bip01", LINEAR), Bone(b"Bip01", TCB)), flags=0))
    assert [node.name for node in scene.nodes] == ["Bip01", "Bip01.2"]
    assert [node.extras["nodeanim"]["flags"] for node in scene.nodes] == [LINEAR, TCB]
    assert scene.clips[0].extras["nodeanim"] == {"flags": 0, "node_count": 2}
    assert "little" in scene.extras["nodeanim"]["dialect"]


def test_key_flags_are_kept() -> None:
    bone = Bone(b"a", LINEAR, (Key(3, 0.0, (1.0, 2.0, 3.0)), Key(256, 1.0, (1.0, 2.0, 3.0))))
    scene = load(Clip((bone,)))
    assert scene.clips[0].channels[0].track.flags.tolist() == [3, 256]


@pytest.mark.parametrize("field", ["translations", "rotations", "scales"])
def test_key_flags_without_a_meaning_are_reported(field: str) -> None:
    value = (0.5, 0.0, 0.0, 1.0) if field == "rotations" else (1.0, 2.0, 3.0)
    keys = (Key(0, 0.0, value), Key(6, 1.0, value))
    scene = load(Clip((Bone(b"a", LINEAR, **{field: keys}),)))
    place = f"{field.removesuffix('s')}_keys[1]/flags"
    (issue,) = [issue for issue in scene.issues if issue.code == "SEM_UNKNOWN_FLAG_BITS"]
    assert issue.path.endswith(place)
    assert issue.args["bits"] == 6
    assert not load(Clip((Bone(b"a", LINEAR, **{field: keys[:1]}),))).issues.counts["SEM_UNKNOWN_FLAG_BITS"]
