"""The table of frames while it is changed: which columns belong to which joint, columns that come and go."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.formats._document import Document
from keyframer.formats._frames import Indices
from keyframer.formats._writing import Unpatchable
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, COMPONENTS, Frames, Joint

Floats = npt.NDArray[np.float64]

_STILL = 1e-6
"""so far from the base frame a component may be that the flags call still"""


class FrameTable:
    """Changes joints and rows of an animation; what is not asked for keeps its bits."""

    def __init__(self, animation: Document) -> None:
        frames = animation.first(Frames)
        if frames is None:
            raise Unpatchable("there are no frames")
        self.frames = frames
        self.joints = list(animation.find(Joint))
        self.rows: npt.NDArray[np.float32] = np.array(frames.rows)

    def store(self) -> None:
        """Put the rows into the document."""
        self.frames.rows = self.rows

    def take_frames(self, chosen: Indices) -> None:
        """Other frames: each is one of those that are there, box and all."""
        if not len(self.rows):
            raise Unpatchable("there are no frames")
        if not np.array_equal(chosen, np.arange(len(self.rows))):
            self.rows = self.rows[chosen]

    def set_boxes(self, boxes: npt.ArrayLike) -> None:
        self.rows[:, :BOUNDS_FLOATS] = np.asarray(boxes).reshape(len(self.rows), BOUNDS_FLOATS)

    def set_track(self, joint: Joint, kind: str, wanted: Floats, moved: npt.NDArray[np.bool_]) -> None:
        """Places or the first three numbers of turns (T, 3), in the frames that changed."""
        first = 3 * (kind == "rotation")
        base = _base(joint)
        bits = joint.moving
        new = [
            bit
            for bit in range(first, first + 3)
            if bit not in bits and (np.abs(wanted[moved, bit - first] - base[bit]) > _STILL).any()
        ]
        if new:
            bits = sorted([*bits, *new])
            self._lay(joint, bits)
        for place, bit in enumerate(bits):
            if first <= bit < first + 3:
                self.rows[moved, BOUNDS_FLOATS + joint.start_index + place] = wanted[moved, bit - first]

    def still(self, joint: Joint, kind: str) -> None:
        """A joint that does not move, or not turn, any more."""
        first = 3 * (kind == "rotation")
        self._lay(joint, [bit for bit in joint.moving if not first <= bit < first + 3])

    def remove(self, gone: list[Joint]) -> None:
        """Joints that go, and their columns unless others read them."""
        numbers = {id(joint) for joint in gone}
        self.joints = [each for each in self.joints if id(each) not in numbers]
        keep = np.ones(self.rows.shape[1], bool)
        for joint, stays in [*((each, False) for each in gone), *((each, True) for each in self.joints)]:
            first = BOUNDS_FLOATS + joint.start_index
            keep[first : first + len(joint.moving)] = stays
        if keep.all():
            return
        before = np.concatenate([[0], np.cumsum(~keep[BOUNDS_FLOATS:])])
        self.rows = np.ascontiguousarray(self.rows[:, keep])
        for joint in self.joints:
            joint.start_index -= int(before[min(joint.start_index, len(before) - 1)])

    def add(self, new: list[tuple[Joint, Floats]]) -> None:
        """Joints that come, with their places and turns (T, 6): columns for what moves, behind the others."""
        parts = [self.rows]
        start = self.rows.shape[1] - BOUNDS_FLOATS
        for joint, wanted in new:
            values = wanted.astype(np.float32)
            bits = np.flatnonzero((values != values[0]).any(axis=0))
            joint.flags, joint.start_index = int((1 << bits).sum()), start if len(bits) else 0
            parts.append(values[:, bits])
            start += len(bits)
            self.joints.append(joint)
        self.rows = np.concatenate(parts, axis=1)

    def _lay(self, joint: Joint, bits: list[int]) -> None:
        """Other columns for a joint: those that it keeps are copied, new ones begin with the base frame."""
        old, base, at = joint.moving, _base(joint), BOUNDS_FLOATS + joint.start_index
        if bits == old:
            return
        made = np.empty((len(self.rows), len(bits)), self.rows.dtype)
        for place, bit in enumerate(bits):
            made[:, place] = self.rows[:, at + old.index(bit)] if bit in old else base[bit]
        if not old or self._shared(joint, len(old)):
            joint.start_index = self.rows.shape[1] - BOUNDS_FLOATS if bits else joint.start_index
            self.rows = np.concatenate([self.rows, made], axis=1)
        else:
            self.rows = np.concatenate([self.rows[:, :at], made, self.rows[:, at + len(old) :]], axis=1)
            for other in self.joints:
                if other is not joint and other.start_index >= joint.start_index + len(old):
                    other.start_index += len(bits) - len(old)
        joint.flags = joint.flags & ~((1 << COMPONENTS) - 1) | sum(1 << bit for bit in bits)

    def _shared(self, joint: Joint, width: int) -> bool:
        """Whether another joint reads columns of this one."""
        begin, end = joint.start_index, joint.start_index + width
        return any(
            other is not joint and other.start_index < end and begin < other.start_index + len(other.moving)
            for other in self.joints
        )


def _base(joint: Joint) -> tuple[float, ...]:
    return (*joint.position, *joint.orientation)
