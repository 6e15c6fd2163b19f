"""The CTRL section: find the rare sampled controllers (not in keyframe mode), which end after the owner id.

Nothing in such a record identifies it. It is recognised if the usual layout (a header of 14 bytes and its keys) leads
to an invalid record, or does not end with the file. The search visits each state once and stops after a number of steps
proportional to the section, so even a hostile file takes linear time. If it finds nothing, the usual layout is used.
"""

from __future__ import annotations

import struct

from keyframer.formats.uto3d.records import BEZIER, CONTROLLED, LINEAR, NOTHING, TCB, key_layout

_NO_CONTROLLER_SIZE, _SAMPLED_SIZE, _HEADER_SIZE = 5, 9, 14
_HEADER = struct.Struct("<BiiiB")
_NO_CONTROLLER = struct.pack("<Bi", NOTHING, 255)

_STATE_COST = 16
"""cost of checking one record, in steps; a TCB key costs one step"""
_FREE_STEPS = 1 << 16
"""number of steps that every search may take, in addition to one for each byte"""


def find_sampled(data: bytes, start: int, count: int, owners: set[int]) -> frozenset[int] | None:
    """Return the offsets of sampled controllers; None if the search found no solution.

    With these offsets, ``count`` controllers from ``start`` on end exactly at the end of the file.
    """
    search = _Search(data, owners, budget=len(data) - start + _FREE_STEPS)
    sampled: list[int] = []
    todo = [(start, count, 0)]  # position, controllers left, sampled controllers before this position
    seen: set[int] = set()
    while todo and search.budget > 0:
        pos, left, sampled_before = todo.pop()
        if pos > start:
            sampled[sampled_before - 1 :] = [pos - _SAMPLED_SIZE]
        while left * _NO_CONTROLLER_SIZE <= len(data) - pos:
            state = pos * (count + 1) + left
            if state in seen:
                break
            seen.add(state)
            search.budget -= _STATE_COST
            if left == 0:
                if pos == len(data):
                    return frozenset(sampled)
                break
            size = search.usual_size(pos)
            if search.may_be_sampled(pos, size is not None):
                todo.append((pos + _SAMPLED_SIZE, left - 1, len(sampled) + 1))
            if size is None:
                break
            pos, left = pos + size, left - 1
    return None


def may_be_controller(data: bytes, pos: int) -> bool:
    """Return whether a controller of the usual layout may begin at ``pos``, judged by its header alone."""
    if pos >= len(data) or data[pos] == NOTHING:
        return data[pos : pos + _NO_CONTROLLER_SIZE] == _NO_CONTROLLER
    if pos + _HEADER_SIZE > len(data):
        return data[pos] in CONTROLLED
    kind, count, scheme = _header(data, pos)
    if kind not in CONTROLLED or scheme not in (LINEAR, TCB, BEZIER):
        return False
    smallest: int = key_layout(kind, scheme).smallest_size
    return scheme == BEZIER or 0 <= count * smallest <= len(data) - pos - _HEADER_SIZE


def _header(data: bytes, pos: int) -> tuple[int, int, int]:
    """Return type, number of keys and interpolation scheme."""
    kind, _, _, count, scheme = _HEADER.unpack_from(data, pos)
    return kind, count, scheme


class _Search:
    """Computes sizes of controllers without making records. ``budget`` is the number of steps that are left."""

    def __init__(self, data: bytes, owners: set[int], budget: int) -> None:
        self.data = data
        self.owners = owners
        self.budget = budget

    def may_be_sampled(self, pos: int, usual_is_possible: bool) -> bool:
        """Return whether a sampled controller may begin at ``pos``.

        A controller type or the end of the file must follow, and the owner must exist if the usual layout is possible.
        """
        end = pos + _SAMPLED_SIZE
        if end > len(self.data) or self.data[pos] not in CONTROLLED:
            return False
        if end < len(self.data) and self.data[end] > NOTHING:
            return False
        return not usual_is_possible or int.from_bytes(self.data[pos + 5 : end], "little", signed=True) in self.owners

    def usual_size(self, pos: int) -> int | None:
        """Return the size of a controller of the usual layout; None if it is invalid or the budget is too small."""
        if self.data[pos : pos + _NO_CONTROLLER_SIZE] == _NO_CONTROLLER:
            return _NO_CONTROLLER_SIZE
        if pos + _HEADER_SIZE > len(self.data):
            return None
        kind, count, scheme = _header(self.data, pos)
        if kind not in CONTROLLED or scheme not in (LINEAR, TCB, BEZIER):
            return None
        if scheme == BEZIER:
            return _HEADER_SIZE
        layout = key_layout(kind, scheme)
        smallest: int = layout.smallest_size
        if count < 0 or count * smallest > len(self.data) - pos - _HEADER_SIZE:
            return None
        if scheme == LINEAR:
            return _HEADER_SIZE + count * smallest
        return self._tcb_size(pos, count, layout.flags_at, layout.row_sizes)

    def _tcb_size(self, pos: int, count: int, flags_at: int, sizes: list[int]) -> int | None:
        """Return the size of a controller with TCB keys, one step each; None if the file or the budget is too small."""
        if count > self.budget:
            self.budget = 0
            return None
        self.budget -= count
        at = pos + _HEADER_SIZE
        try:
            for _ in range(count):
                at += sizes[self.data[at + flags_at]]
        except IndexError:
            return None
        return at - pos if at <= len(self.data) else None
