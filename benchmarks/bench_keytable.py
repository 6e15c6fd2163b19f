"""Reading and writing tables of 10,000 keys as columns, compared with a plain `struct` loop over the rows.

Usage: python -m benchmarks.bench_keytable [--keys N]
"""

from __future__ import annotations

import argparse
import struct

import numpy as np
from benchmarks._timing import against_goal, best_of_each, headline, row

from keyframer.formats.kit.key_table import EXTRAS, KeyLayout, Keys, read_keys, write_keys
from keyframer.wire.cursor import Cursor
from keyframer.wire.sink import Sink

LAYOUT = KeyLayout(width=3)
"""a position track of a 3D Studio file: i32 frame, u16 flags, up to five floats, three floats"""

_HEAD = struct.Struct("<iH")
_FLOAT = struct.Struct("<f")
_VALUE = struct.Struct("<3f")
_NO_EXTRAS = (0.0,) * 5

Columns = tuple[list[int], list[int], list[tuple[float, ...]], list[tuple[float, ...]]]


def struct_loop(data: bytes, count: int) -> Columns:
    """Read the same columns in a simple way: row by row, with the optional floats that the flags announce."""
    frames: list[int] = []
    all_flags: list[int] = []
    extras: list[tuple[float, ...]] = []
    values: list[tuple[float, ...]] = []
    pos = 0
    for _ in range(count):
        frame, flags = _HEAD.unpack_from(data, pos)
        pos += 6
        if flags & 31:
            announced = [0.0] * 5
            for bit in range(5):
                if flags >> bit & 1:
                    announced[bit] = _FLOAT.unpack_from(data, pos)[0]
                    pos += 4
            extras.append(tuple(announced))
        else:
            extras.append(_NO_EXTRAS)
        frames.append(frame)
        all_flags.append(flags)
        values.append(_VALUE.unpack_from(data, pos))
        pos += 12
    return frames, all_flags, extras, values


def struct_write_loop(columns: Columns) -> bytes:
    """Write the rows in a simple way."""
    parts = []
    for frame, flags, extras, value in zip(*columns, strict=True):
        parts.append(_HEAD.pack(frame, flags))
        if flags & 31:
            parts += [_FLOAT.pack(extras[bit]) for bit in range(5) if flags >> bit & 1]
        parts.append(_VALUE.pack(*value))
    return b"".join(parts)


def table(count: int, bits: np.ndarray) -> bytes:
    """Return the bytes of ``count`` keys with these flag bits."""
    rng = np.random.default_rng(7)
    announced = (bits[:, None] >> np.arange(5)) & 1
    extras = (rng.uniform(-1, 1, (count, 5)) * announced).astype(np.float32)
    values = rng.normal(size=(count, 3)).astype(np.float32)
    columns = dict(zip(EXTRAS, extras.T, strict=True))
    return written(Keys.make(np.arange(count), values, flags=bits, **columns))


def written(keys: Keys) -> bytes:
    sink = Sink()
    write_keys(sink, LAYOUT, keys)
    return sink.getvalue()


def read(data: bytes, count: int) -> Keys:
    return read_keys(Cursor(data), LAYOUT, count, "keys", "keys", 0)


def agree(keys: Keys, columns: Columns) -> bool:
    """Return whether both readers give the same result."""
    extras = keys.extras if keys.extras is not None else np.zeros((len(keys), len(EXTRAS)))
    ours = (keys.time, keys.flags, extras, keys.value)
    return all(np.array_equal(mine, np.array(theirs)) for mine, theirs in zip(ours, columns, strict=True))


def compare(title: str, data: bytes, count: int, goal: float) -> None:
    """Print the times of reading and writing one table with columns and with the loop."""
    keys, columns = read(data, count), struct_loop(data, count)
    if not agree(keys, columns) or written(keys) != data or struct_write_loop(columns) != data:
        raise SystemExit(f"{title}: the results differ")
    best = best_of_each(
        {
            "loop": lambda: struct_loop(data, count),
            "ours": lambda: read(data, count),
            "loop writing": lambda: struct_write_loop(columns),
            "our writing": lambda: written(keys),
        },
        runs=10,
        repeats=5,
    )
    row(f"{title}: struct loop, reading", best["loop"])
    row(f"{title}: columns, reading", best["ours"], against_goal(best["loop"] / best["ours"], goal))
    row(f"{title}: struct loop, writing", best["loop writing"])
    row(f"{title}: columns, writing", best["our writing"], f"{best['loop writing'] / best['our writing']:.1f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--keys", type=int, default=10_000)
    count = parser.parse_args().keys
    headline(f"Key tables, {count:,} keys")
    one_shape = np.zeros(count, np.int64)
    compare("no extras", table(count, one_shape), count, 50)
    compare("all five extras", table(count, one_shape + 31), count, 50)
    rng = np.random.default_rng(1)
    compare("mixed, 4 shapes", table(count, rng.choice([0, 1, 3, 24], count)), count, 5)
    compare("mixed, 32 shapes", table(count, rng.integers(0, 32, count)), count, 5)


if __name__ == "__main__":
    main()
