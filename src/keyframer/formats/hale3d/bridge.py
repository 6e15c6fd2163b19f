"""The bridge between Hale3D documents and scenes: that of all pairs of animations and models (`kit.joint_pairs`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keyframer.formats.bridge import KeyLocation
from keyframer.formats.hale3d import FORMAT, VERSION
from keyframer.formats.hale3d.document import decode, encode, new_animation, new_model
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, Animation, Frames, Joint, Model
from keyframer.formats.kit.joint_pairs import Family
from keyframer.formats.kit.joint_pairs.pair_bridge import PairBridge
from keyframer.scene import Channel
from keyframer.wire.record import Record

if TYPE_CHECKING:
    from keyframer.formats.bridge import SceneWriter

FAMILY = Family(
    FORMAT,
    Animation,
    Model,
    VERSION,
    ".anim",
    ".mdl",
    decode,
    encode,
    new_animation,
    new_model,
    lambda meshes, joints: [*meshes, *joints],
)


class HaleBridge(PairBridge):
    def key_location(self, record: Record, channel: Channel) -> KeyLocation | None:
        """Return which bytes of a frame belong to a channel: a frame has a box, then the components of all joints."""
        if not isinstance(record, Joint):
            return None
        position_count, rotation_count = (record.flags & 7).bit_count(), (record.flags >> 3 & 7).bit_count()
        first, count = (0, position_count) if channel.track.kind == "position" else (position_count, rotation_count)
        return KeyLocation("rows", Frames, (4 * (BOUNDS_FLOATS + record.start_index + first), 4 * count))

    def writer(self) -> SceneWriter[Any]:
        from keyframer.formats.hale3d.writing import HaleWriter
        from keyframer.formats.kit.joint_pairs.writing import Merger

        return HaleWriter(self.family, Merger(self.family))


BRIDGE = HaleBridge(FAMILY)
