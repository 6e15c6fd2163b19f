"""An independent, slow reader of 3D Studio chunks: which chunks a file has, and their bytes.

Every chunk becomes a path and its bytes before its sub-chunks. Objects, materials and nodes have their names in the
path, so that lists of chunks can be compared even if others were inserted.
"""

from __future__ import annotations

import struct
from collections import Counter

NODES = range(0xB001, 0xB008)
UNKNOWN = 0x7E57
"""an id that nothing uses"""

Path = tuple[str, ...]
Entry = tuple[Path, bytes]


def _own_size(chunk_id: int, data: bytes, at: int) -> int | None:
    """The number of bytes of a container before its sub-chunks; None for chunks without sub-chunks."""
    if chunk_id in (0x4D4D, 0x3D3D, 0xAFFF, 0x4100, 0xB000, *NODES):
        return 0
    if chunk_id == 0x4000:
        return data.index(b"\0", at) + 1 - at
    if chunk_id == 0x4120:
        return 2 + 8 * struct.unpack_from("<H", data, at)[0]
    return {0x4600: 12, 0x4610: 20, 0x4700: 32}.get(chunk_id)


def _name(chunk_id: int, data: bytes, at: int, end: int) -> str:
    if chunk_id == 0x4000:
        return data[at : data.index(b"\0", at)].decode("latin-1")
    wanted = 0xA000 if chunk_id == 0xAFFF else 0xB010 if chunk_id in NODES else None
    name, instance = "", ""
    while wanted is not None and at < end:
        inner, size = struct.unpack_from("<HI", data, at)
        if inner == wanted:
            name = data[at + 6 : data.index(b"\0", at + 6)].decode("latin-1")
        if inner == 0xB011:
            instance = data[at + 6 : data.index(b"\0", at + 6)].decode("latin-1")
        at += size
    return f"{name}.{instance}" if instance else name


def entries(data: bytes) -> list[Entry]:
    """Every chunk of a file in file order, by a path that is unique within its parent."""
    result: list[Entry] = []

    def walk(at: int, end: int, above: Path) -> None:
        seen: Counter[str] = Counter()
        while at < end:
            chunk_id, size = struct.unpack_from("<HI", data, at)
            inside = _own_size(chunk_id, data, at + 6)
            stop = at + size
            word = f"{chunk_id:04x}"
            if inside is not None:
                name = _name(chunk_id, data, at + 6, stop)
                word += f":{name}" if name else ""
            seen[word] += 1
            word += f"#{seen[word]}" if seen[word] > 1 else ""
            begin = stop if inside is None else at + 6 + inside
            result.append(((*above, word), data[at + 6 : begin]))
            walk(begin, stop, (*above, word))
            at = stop

    walk(0, len(data), ())
    return result


def with_unknown_chunks(data: bytes) -> bytes:
    """The file with an unknown chunk at the end of every container and at the start of the editor and keyframer
    sections.
    """
    number = 0

    def rebuild(at: int, end: int) -> bytes:
        nonlocal number
        parts = []
        while at < end:
            chunk_id, size = struct.unpack_from("<HI", data, at)
            inside = _own_size(chunk_id, data, at + 6)
            if inside is None:
                parts.append(data[at : at + size])
            else:
                begin = at + 6 + inside
                fields, below = data[at + 6 : begin], rebuild(begin, at + size)
                number += 1
                stranger = struct.pack("<HI", UNKNOWN, 6 + 9) + b"nobody" + number.to_bytes(3, "big")
                front = stranger if chunk_id in (0x3D3D, 0xB000) else b""
                body = fields + front + below + stranger
                parts.append(struct.pack("<HI", chunk_id, 6 + len(body)) + body)
            at += size
        return b"".join(parts)

    return rebuild(0, len(data))


def unknown_chunks(data: bytes) -> list[Entry]:
    return [entry for entry in entries(data) if entry[0][-1].startswith(f"{UNKNOWN:04x}")]


def compare_chunks(before: bytes, after: bytes) -> tuple[list[Path], list[Path], list[Path]]:
    """Paths that are gone, that are new, and whose bytes changed; common paths must have the same order."""
    old, new = dict(entries(before)), dict(entries(after))
    common_old = [path for path, _ in entries(before) if path in new]
    common_new = [path for path, _ in entries(after) if path in old]
    assert common_old == common_new
    gone = [path for path in old if path not in new]
    added = [path for path in new if path not in old]
    return gone, added, [path for path in common_old if old[path] != new[path]]
