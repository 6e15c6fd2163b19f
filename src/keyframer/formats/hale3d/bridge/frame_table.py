"""Convert the rows of an animation to named columns and back.

A column is named by its joint (a number) and one of the six components; ``"box"`` has the boxes, ``"unread"`` the
columns that no joint reads.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np

from keyframer.arrays import Singles
from keyframer.formats.hale3d.records import BOUNDS_FLOATS, COMPONENTS, Joint
from keyframer.formats.merging import FrameTable

Rows = Singles


def named_columns(rows: Rows, joints: list[Joint]) -> FrameTable:
    """Return the named columns of the original frames."""
    named: dict[object, Rows] = {"box": rows[:, :BOUNDS_FLOATS]}
    unread = np.arange(rows.shape[1]) >= BOUNDS_FLOATS
    for number, joint in enumerate(joints):
        for column, bit in enumerate(joint.moving, BOUNDS_FLOATS + joint.start_index):
            named[number, bit] = rows[:, column]
            unread[column] = False
    named["unread"] = rows[:, unread]
    return FrameTable(named, np.arange(len(rows)))


def lay_out(
    rows: Rows, before: Mapping[int, Joint], merged: Mapping[int, Joint], table: FrameTable
) -> tuple[Rows, dict[int, Joint]]:
    """Return the rows of a merged table, and its joints with their column positions.

    ``before`` are the joints of the original ``rows``, ``merged`` the current joints. Columns of a joint keep their
    position if no other joint reads them; otherwise they are appended, like those of new joints. Columns of removed
    joints are removed unless other joints read them.
    """
    components = rows[table.origins, BOUNDS_FLOATS:]
    readers = np.zeros(components.shape[1], np.int64)
    for number in merged.keys() & before.keys():
        readers[_place(before[number])] += 1
    gone = np.zeros(components.shape[1], bool)
    for number in before.keys() - merged.keys():
        gone[_place(before[number])] = True
    pieces = [(column, column + 1, components[:, :0]) for column in np.flatnonzero(gone & (readers == 0)).tolist()]
    """first and last column, and the replacement"""
    joints = {number: copy.copy(joint) for number, joint in merged.items()}
    behind: list[tuple[Joint, Rows]] = []
    for number, joint in joints.items():
        bits = [bit for bit in range(COMPONENTS) if (number, bit) in table.named]
        columns = np.stack([table.named[number, bit] for bit in bits], axis=1) if bits else components[:, :0]
        joint.flags = joint.flags & ~((1 << COMPONENTS) - 1) | sum(1 << bit for bit in bits)
        if number not in before:
            behind.append((joint, columns))
            continue
        place = _place(before[number])
        if bits == before[number].moving and columns.tobytes() == components[:, place].tobytes():
            continue
        if before[number].moving and readers[place].max() == 1:
            pieces.append((place.start, place.stop, columns))
        else:
            readers[place] -= 1
            behind.append((joint, columns))
    return _rows(table.named["box"], components, pieces, joints, behind), joints


def _rows(
    boxes: Rows,
    components: Rows,
    pieces: list[tuple[int, int, Rows]],
    joints: Mapping[int, Joint],
    behind: list[tuple[Joint, Rows]],
) -> Rows:
    """Replace columns by the pieces and append ``behind``; set the column positions of the joints."""
    pieces.sort(key=lambda piece: piece[0])
    parts, done, growth = [boxes], 0, [0]
    for begin, end, columns in pieces:
        parts += [components[:, done:begin], columns]
        growth.append(growth[-1] + columns.shape[1] - (end - begin))
        done = end
    parts.append(components[:, done:])
    ends = [end for _, end, _ in pieces]
    for joint in joints.values():
        joint.start_index += growth[int(np.searchsorted(ends, joint.start_index, side="right"))]
    width = components.shape[1] + growth[-1]
    for joint, columns in behind:
        if columns.shape[1]:
            joint.start_index = width
        parts.append(columns)
        width += columns.shape[1]
    return np.concatenate(parts, axis=1)


def _place(joint: Joint) -> slice:
    """Return the columns of a joint, after the box."""
    return slice(joint.start_index, joint.start_index + len(joint.moving))
