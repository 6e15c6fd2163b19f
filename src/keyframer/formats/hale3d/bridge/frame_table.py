"""The table of frames while it is changed: which columns belong to which joint, columns that come and go."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from keyframer.formats.document import Document
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, COMPONENTS, Frames, Joint
from keyframer.formats.kit.frame_times import Indices
from keyframer.formats.kit.scene_writing import Unpatchable

Floats = npt.NDArray[np.float64]

_STILL = 1e-6
"""so far from the base frame a component may be that the flags call still"""


_Changed = tuple[Joint, list[int], npt.NDArray[np.float32]]
"""a joint, the components that move it, and their columns"""


class FrameTable:
    """Changes joints and rows of an animation; what is not asked for keeps its bits.

    Columns that joints gain or lose are put aside and laid into the table together, by `store`: one copy of the table
    however many joints change.
    """

    def __init__(self, animation: Document) -> None:
        frames = animation.first(Frames)
        if frames is None:
            raise Unpatchable("there are no frames")
        self.frames = frames
        self.joints = list(animation.find(Joint))
        self.rows: npt.NDArray[np.float32] = np.array(frames.rows)
        self._changed: dict[int, _Changed] = {}
        """by id: joints with other columns than the rows have, not laid into them yet"""

    def store(self) -> None:
        """Put the rows into the document."""
        if self._changed:
            self._lay()
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
        bits, columns = self._columns(joint)
        new = [
            bit
            for bit in range(first, first + 3)
            if bit not in bits and (np.abs(wanted[moved, bit - first] - base[bit]) > _STILL).any()
        ]
        if new:
            bits, columns = self._change(joint, sorted([*bits, *new]))
        for place, bit in enumerate(bits):
            if first <= bit < first + 3:
                columns[moved, place] = wanted[moved, bit - first]

    def still(self, joint: Joint, kind: str) -> None:
        """A joint that does not move, or not turn, any more."""
        first = 3 * (kind == "rotation")
        bits, _ = self._columns(joint)
        kept = [bit for bit in bits if not first <= bit < first + 3]
        if kept != bits:
            self._change(joint, kept)

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

    def _columns(self, joint: Joint) -> tuple[list[int], npt.NDArray[np.float32]]:
        """The components of a joint that move, and their columns, to be read and written."""
        if id(joint) in self._changed:
            return self._changed[id(joint)][1:]
        bits, at = joint.moving, BOUNDS_FLOATS + joint.start_index
        return bits, self.rows[:, at : at + len(bits)]

    def _change(self, joint: Joint, bits: list[int]) -> tuple[list[int], npt.NDArray[np.float32]]:
        """Other components for a joint: columns that it keeps are copied, new ones begin with the base frame."""
        old, columns = self._columns(joint)
        base = _base(joint)
        made = np.empty((len(self.rows), len(bits)), self.rows.dtype)
        for place, bit in enumerate(bits):
            made[:, place] = columns[:, old.index(bit)] if bit in old else base[bit]
        self._changed[id(joint)] = joint, bits, made
        return bits, made

    def _lay(self) -> None:
        """The changed columns in the table: in place of the old ones, or behind all where there were none or others
        read them, too. All joints are told where theirs are now."""
        readers = np.zeros(self.rows.shape[1] - BOUNDS_FLOATS, np.int64)
        for joint in self.joints:
            readers[_own(joint)] += 1
        in_place: list[_Changed] = []
        behind: list[_Changed] = []
        for each in self._changed.values():
            own = _own(each[0])
            if each[0].moving and not (readers[own] > 1).any():
                in_place.append(each)
            else:
                readers[own] -= 1
                behind.append(each)
        in_place.sort(key=lambda each: each[0].start_index)
        pieces, done, ends, growth = [], 0, [], []
        for joint, _, made in in_place:
            own = _own(joint)
            pieces += [self.rows[:, done : BOUNDS_FLOATS + own.start], made]
            done = BOUNDS_FLOATS + own.stop
            ends.append(own.stop)
            growth.append(made.shape[1] - len(joint.moving))
        pieces.append(self.rows[:, done:])
        shifts = np.concatenate([[0], np.cumsum(growth, dtype=np.int64)])
        moved = {id(joint) for joint, _, _ in behind}
        for joint in self.joints:
            if id(joint) not in moved:
                joint.start_index += int(shifts[np.searchsorted(ends, joint.start_index, side="right")])
        width = sum(piece.shape[1] for piece in pieces) - BOUNDS_FLOATS
        for joint, bits, made in behind:
            joint.start_index = width if bits else joint.start_index
            pieces.append(made)
            width += len(bits)
        self.rows = np.concatenate(pieces, axis=1)
        for joint, bits, _ in self._changed.values():
            joint.flags = joint.flags & ~((1 << COMPONENTS) - 1) | sum(1 << bit for bit in bits)
        self._changed = {}


def _own(joint: Joint) -> slice:
    """Its columns, behind the box."""
    return slice(joint.start_index, joint.start_index + len(joint.moving))


def _base(joint: Joint) -> tuple[float, ...]:
    return (*joint.position, *joint.orientation)
