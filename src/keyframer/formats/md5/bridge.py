"""The bridge between MD5 documents and scenes: that of all pairs of animations and models (`kit.joint_pairs`)."""

from __future__ import annotations

from keyframer.formats.kit.joint_pairs import Family
from keyframer.formats.kit.joint_pairs.pair_bridge import PairBridge
from keyframer.formats.md5 import FORMAT, VERSION
from keyframer.formats.md5.document import Animation, Model, decode, encode, new_animation, new_model

FAMILY = Family(
    FORMAT,
    Animation,
    Model,
    VERSION,
    ".md5anim",
    ".md5mesh",
    decode,
    encode,
    new_animation,
    new_model,
    lambda meshes, joints: [*joints, *meshes],
)


BRIDGE = PairBridge(FAMILY)
