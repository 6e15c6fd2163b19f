"""An independent writer of Midtown Madness 2 clips: `struct` and the specification, no code of the reader."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

Rows = Sequence[Sequence[float]]


def rows_bytes(rows: Rows) -> bytes:
    return b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)


def channel(rows: Rows, distance: float = 1.5, type: int = 1) -> bytes:
    return struct.pack("<IfB", len(rows[0]), distance, type) + rows_bytes(rows)


def retail(rows: Rows, distance: float = 1.5) -> bytes:
    return struct.pack("<II", 0, len(rows)) + channel(rows, distance)


def beta(frames: int, *channels: bytes) -> bytes:
    return struct.pack("<II", len(channels), frames) + b"".join(channels)


def old(rows: Rows, distance: float = 1.5) -> bytes:
    bones = len(rows[0]) // 3 - 1
    return struct.pack("<IIfB", len(rows), bones, distance, 1) + rows_bytes(rows)


def walk(frames: int = 4, bones: int = 19) -> list[list[float]]:
    """A figure about a metre high that swings every bone a little."""
    rows = []
    for number in range(frames):
        turn = 2 * math.pi * number / frames
        row = [0.01 * math.sin(turn), 0.95, -1.5 * number / frames]
        for bone in range(bones):
            row += [0.3 * math.sin(turn + bone), 0.05 * bone, -0.1 * math.cos(turn)]
        rows.append(row)
    return rows
