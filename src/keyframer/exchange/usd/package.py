"""Packages of USD (``.usdz``): zip archives without compression, whose members begin at multiples of 64 bytes."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Iterator
from zlib import crc32

ALIGNMENT = 64
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION, _UTF_8, _DATE = 20, 0x800, 0x21  # 1980-01-01: the same content gives the same bytes
_PADDING_ID = 0x1986
_LARGEST = 0xFFFFFFFF
_BLOCK = 1 << 20


def package_parts(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield the parts of a package; the first file is the layer that is opened. Raises ValueError above 4 GiB."""
    position, directory = 0, []
    for name, parts in files:
        encoded = name.encode("utf-8")
        with tempfile.TemporaryFile() as content:  # its size and checksum come first
            checksum = 0
            for part in parts:
                checksum = crc32(part, checksum)
                content.write(part)
            size = content.tell()
            padding = -(position + _LOCAL.size + len(encoded)) % ALIGNMENT
            if 0 < padding < 4:  # the header of an extra field
                padding += ALIGNMENT
            extra = struct.pack("<2H", _PADDING_ID, padding - 4) + bytes(padding - 4) if padding else b""
            if position + size + 2 * ALIGNMENT + len(encoded) > _LARGEST:
                raise ValueError("the scene does not fit in a .usdz file, which is limited to 4 GiB; write a .usda")
            shared = (_VERSION, _UTF_8, 0, 0, _DATE, checksum, size, size, len(encoded))
            yield _LOCAL.pack(b"PK\x03\x04", *shared, len(extra)) + encoded + extra
            directory.append(_CENTRAL.pack(b"PK\x01\x02", _VERSION, *shared, 0, 0, 0, 0, 0, position) + encoded)
            position += _LOCAL.size + len(encoded) + len(extra) + size
            content.seek(0)
            while block := content.read(_BLOCK):
                yield block
    table = b"".join(directory)
    yield table + _END.pack(b"PK\x05\x06", 0, 0, len(directory), len(directory), len(table), position, 0)
