"""Files that contain other files: how their kinds are recognised and opened.

A new kind of container is a module with a class that follows `container_contract`, and a line in `KINDS`.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import IO, TYPE_CHECKING, NamedTuple

from keyframer.files.byte_sources import ByteSource, open_stream
from keyframer.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from keyframer.files.container_contract import Container, Member


class Kind(NamedTuple):
    """A kind of container. Its module has a class ``Archive``, called with a stream, the size, limits, and the
    number of bytes that it takes in the outermost container."""

    title: str
    module: str
    signatures: tuple[tuple[tuple[int, bytes], ...], ...]
    """what identifies it: offsets and bytes, which must all be there"""
    extensions: tuple[str, ...]
    """of files that are searched when they are in another container"""


_MODULES = "keyframer.files."
_RAW_SECTOR = (0, b"\0" + b"\xff" * 10 + b"\0")
_FAT = ((2, b"\x90"), (11, b"\0\2"), (16, b"\2"), (510, b"\x55\xaa"))
KINDS = (
    Kind("zip archive", f"{_MODULES}zip_archives", (((0, b"PK\3\4"),), ((0, b"PK\5\6"),)), (".zip",)),
    Kind(
        "disc image",
        f"{_MODULES}disc_images",
        (((0x8001, b"CD001"),), (_RAW_SECTOR, (0x9311, b"CD001")), (_RAW_SECTOR, (0x9319, b"CD001"))),
        (".iso", ".bin", ".img"),
    ),
    Kind("disk image", f"{_MODULES}fat_images", (((0, b"\xeb"), *_FAT), ((0, b"\xe9"), *_FAT[1:])), (".ima", ".img")),
    Kind(
        "tar archive or compressed file",
        f"{_MODULES}packed_streams",
        (((257, b"ustar"),), ((0, b"\x1f\x8b\x08"),), ((0, b"BZh"), (4, b"1AY&SY")), ((0, b"\xfd7zXZ\0"),)),
        (".tar", ".tgz", ".gz", ".bz2", ".xz"),
    ),
    Kind(
        "LHA, CAB, RAR or 7z archive",
        f"{_MODULES}libarchive_archives",
        (
            ((2, b"-lh"), (6, b"-")),
            ((2, b"-lz"), (6, b"-")),
            ((0, b"MSCF\0\0\0\0"),),
            ((0, b"7z\xbc\xaf\x27\x1c"),),
            ((0, b"Rar!\x1a\7\0"),),
            ((0, b"Rar!\x1a\7\1\0"),),
        ),
        (".lzh", ".lha", ".cab", ".rar", ".7z"),
    ),
)
EXTENSIONS = (*dict.fromkeys(extension for kind in KINDS for extension in kind.extensions), ".exe")
PROGRAM = b"MZ"
"""what programs of DOS and Windows begin with: they may be archives that unpack themselves"""
_PACKED = re.compile(
    rb"PK\x03\x04|MSCF\x00{4}|7z\xbc\xaf\x27\x1c\x00|Rar!\x1a\x07[\x00\x01]|..-l[hz][0-7sd]-.{13}[\x00-\x02]", re.DOTALL
)
"""what follows the program in an archive that unpacks itself"""
_MOST_PROGRAM = 1 << 20
"""bytes of a program in which an archive is searched for"""


def kind_of(stream: IO[bytes]) -> Kind | None:
    """Return the kind of container in a stream that can seek; None if it is none."""
    found = _found(stream)
    return None if found is None else found[0]


def _found(stream: IO[bytes]) -> tuple[Kind, int] | None:
    """Return the kind of a container, and its offset behind the program of an archive that unpacks itself."""
    stream.seek(0)
    head = stream.read(512)
    for kind in KINDS:
        for signature in kind.signatures:
            if all(_has(stream, head, offset, wanted) for offset, wanted in signature):
                return kind, 0
    if not head.startswith(PROGRAM):
        return None
    stream.seek(0)
    packed = _PACKED.search(stream.read(_MOST_PROGRAM))
    if packed is None:
        return None
    if packed[0].startswith(b"PK"):
        from zipfile import is_zipfile

        return (KINDS[0], 0) if is_zipfile(stream) else None
    return KINDS[-1], packed.start()


def _has(stream: IO[bytes], head: bytes, offset: int, wanted: bytes) -> bool:
    if offset + len(wanted) <= len(head):
        return head.startswith(wanted, offset)
    stream.seek(offset)
    return stream.read(len(wanted)) == wanted


def open_container(
    source: str | IO[bytes], size: int, limits: Limits = DEFAULT_LIMITS, packed: int | None = None
) -> Container[Member]:
    """Open a container; one that is not recognised is opened as the first kind, which says what is wrong.

    ``packed`` is the number of bytes that it takes in the outermost container, if it is a member.
    """
    stream = open_stream(source) if isinstance(source, str) else source
    kind, offset = _found(stream) or (KINDS[0], 0)
    stream.seek(0)
    if offset:
        stream = ByteSource(stream, size).stream(((offset, size - offset),))
    try:
        container: Container[Member] = import_module(kind.module).Archive(stream, size - offset, limits, packed)
    except BaseException:
        if isinstance(source, str):
            stream.close()
        raise
    return container
