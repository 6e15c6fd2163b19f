"""The bones of a clip: from a skeleton file, or a default rig."""

from __future__ import annotations

from keyframer.formats.midtown.skeleton import Bone, Skeleton

# Names and order are those of the game's 19-bone figures. The offsets (metres) are invented for a figure of about 1.8
# m that faces -Z with its arms down, because a clip has no offsets.
_DEFAULT: tuple[tuple[str, int, tuple[float, float, float]], ...] = (
    ("root", -1, (0.0, 1.0, 0.0)),
    ("spine", 0, (0.0, 0.15, 0.0)),
    ("neck", 1, (0.0, 0.4, 0.0)),
    ("head", 2, (0.0, 0.1, 0.0)),
    ("clavicle_r", 1, (0.05, 0.35, 0.0)),
    ("shoulder_r", 4, (0.15, 0.0, 0.0)),
    ("elbow_r", 5, (0.0, -0.3, 0.0)),
    ("wrist_r", 6, (0.0, -0.27, 0.0)),
    ("clavicle_l", 1, (-0.05, 0.35, 0.0)),
    ("shoulder_l", 8, (-0.15, 0.0, 0.0)),
    ("elbow_l", 9, (0.0, -0.3, 0.0)),
    ("wrist_l", 10, (0.0, -0.27, 0.0)),
    ("pelvis", 0, (0.0, -0.05, 0.0)),
    ("hip_l", 12, (-0.1, -0.05, 0.0)),
    ("knee_l", 13, (0.0, -0.43, 0.0)),
    ("ankle_l", 14, (0.0, -0.42, 0.0)),
    ("hip_r", 12, (0.1, -0.05, 0.0)),
    ("knee_r", 16, (0.0, -0.43, 0.0)),
    ("ankle_r", 17, (0.0, -0.42, 0.0)),
)


def default_rig(bones: int) -> Skeleton:
    """Return the 19-bone figure; for any other number of bones, numbered children of the first bone."""
    if bones == len(_DEFAULT):
        return Skeleton(tuple(Bone(name.encode(), parent, offset) for name, parent, offset in _DEFAULT))
    row = [Bone(f"bone_{n:02}".encode(), -1 if n == 0 else 0, (0.1 * n, 0.0, 0.0)) for n in range(bones)]
    return Skeleton(tuple(row))
