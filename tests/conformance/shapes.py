"""Generators of files of one structure and any size, to test how cost grows with size.

`GENERIC` shapes extend any sample of any format; `SHAPES` has shapes for decoders by format id. Shapes that scenes are
built from are in `tests/hostile/shapes.py`. Each makes a file from a number (of records, levels, keys …) to which its
size is proportional.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from tests.building.files import ase, chunk, editor, keyframer, track

Shape = Callable[[int], bytes]

GENERIC: dict[str, Callable[[bytes, int], bytes]] = {
    "bytes after the end": lambda sample, n: sample + bytes(16 * n),
    "the file repeated": lambda sample, n: sample * max(1, 16 * n // len(sample)),
    "the second half repeated": lambda sample, n: sample + sample[len(sample) // 2 :] * max(1, 32 * n // len(sample)),
    "the first half repeated": lambda sample, n: sample[: len(sample) // 2] * max(1, 32 * n // len(sample)) + sample,
    "the last byte repeated": lambda sample, n: sample + sample[-1:] * (16 * n),
}


def _track(chunk_id: int, count: int, keys: bytes) -> bytes:
    return keyframer(chunk(0xB002, track(chunk_id, keys, count=count)))


def _nested(chunk_id: int, levels: int) -> bytes:
    return b"".join(struct.pack("<HI", chunk_id, 6 * (levels - level)) for level in range(levels))


_KEYS = struct.pack("<iH3f", 0, 0, 1, 2, 3) + struct.pack("<iHff3f", 1, 3, 0.5, 0.5, 1, 2, 3)

SHAPES: dict[str, dict[str, Shape]] = {
    "3ds": {
        "misplaced chunks": lambda n: editor(chunk(0xB020) * n),
        "chunks that are too short": lambda n: editor(chunk(0x0100) * n),
        "chunks with slack": lambda n: editor(chunk(0x1101, b"?") * n),
        "vertex lists in one mesh": lambda n: editor(chunk(0x4000, b"\0", chunk(0x4100, chunk(0x4110, bytes(2)) * n))),
        "keys with equal flags": lambda n: _track(0xB020, n, _KEYS[:18] * n),
        "a truncated table of keys": lambda n: _track(0xB020, 2 * n, (_KEYS * n)[:-1]),
        "a name without an end": lambda n: editor(chunk(0x4000, b"x" * 16 * n)),
        "names without an end": lambda n: editor(chunk(0x4000, b"x" * 10) * n),
        "nested unknown chunks": lambda n: editor(_nested(0x7777, n)),
        "nested editors": lambda n: _nested(0x3D3D, n),
        "nested objects": lambda n: editor(
            b"".join(struct.pack("<HI", 0x4000, 7 * (n - level)) + b"\0" for level in range(n))
        ),
    },
    "ase": {
        "keywords on one line": lambda n: ase("*A*A*A*A" * n),
        "known keywords with invalid values": lambda n: ase("*TM_POS 1 x\n" * n),
        "braces that never close": lambda n: ase("*MESH_VERTEX_LIST {\n" * n),
        "closing braces": lambda n: ase("}\n" * 4 * n),
        "quotes on one line": lambda n: ase('*NODE_NAME "' * (n // 2 * 2 + 1)),
        "stars": lambda n: ase("*" * 16 * n),
        "rows of a broken table": lambda n: ase(
            "*MESH_VERTEX_LIST {\n" + "*MESH_VERTEX 0 1 2 3\n" * n + "*MESH_VERTEX 0 1 2\n}\n"
        ),
        "rows with commas": lambda n: ase("*MESH_TVERTLIST {\n" + "*MESH_TVERT 0 0,5 1 0\n" * n + "}\n"),
        "tables": lambda n: ase("*MESH_TVERTLIST { *MESH_TVERT 0 0 1 0 }\n" * n),
        "a name without an end": lambda n: ase('*NODE_NAME "' + "x" * 16 * n + '"'),
    },
}
