"""The poses of the node animation samples, from the keys they were made of and the slow evaluator of curves."""

from __future__ import annotations

from tests.building.files import single
from tests.building.nodeanim import BEZIER, LINEAR, TCB, Bone, Key, clips
from tests.posing.plain import local
from tests.reference_curves.slow import SlowTrack
from tests.samples.poses import Expected, expected_node

SOURCE = "tests/samples/nodeanim/poses.py: keys of the specification, curves of tests/reference_curves/slow.py"
COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from")
KINDS = {LINEAR: "LINEAR", TCB: "TCB", BEZIER: "BEZIER"}
FRAMES = [0.0, 7.5, 11.25, 20.0, 30.0]


def poses() -> dict[str, Expected]:
    mixed = [expected(bone) for bone in clips()["mixed"].bones]
    return {name: Expected(FRAMES, mixed) for name in ("default_mixed.nanim", "big_id_only_u16.nanim")}


def expected(bone: Bone) -> dict[str, object]:
    """A rotation key is an angle and an axis. Here they are absolute: turns between them are smaller."""
    turns = [[*key.value[1:], key.value[0]] for key in bone.rotations]
    place = track(bone, bone.translations, [list(key.value) for key in bone.translations])
    turn = track(bone, bone.rotations, turns, "AXIS_ANGLE_ABSOLUTE")
    size = track(bone, bone.scales, [list(key.value) for key in bone.scales])
    return expected_node(bone.name.decode(), [local(frame / 30, place, turn, size) for frame in FRAMES])


def track(bone: Bone, keys: tuple[Key, ...], values: list[list[float]], form: str = "NONE") -> SlowTrack | None:
    if not keys:
        return None
    slow = SlowTrack(
        [key.time for key in keys], [[single(x) for x in row] for row in values], KINDS[bone.flags], form=form
    )
    if bone.flags == TCB:
        for place, name in enumerate(COLUMNS):
            setattr(slow, name, [key.shape[place] for key in keys])
    return slow
