"""Descriptions of the formats for other programs, made from signatures and declared records.

`magic` writes magic(5), `pronom` signatures for FIDO and submissions for the registry, `mime` types for desktops,
`kaitai` and `hexpat` the structure of binary formats. All follow from `Format.signatures` and from the `Structure` that
the codec of a format puts together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from keyframer.describing.hexpat import hexpat
from keyframer.describing.kaitai import kaitai
from keyframer.describing.magic import magic
from keyframer.describing.mime import mime
from keyframer.describing.pronom import fido
from keyframer.describing.pronom import submissions as submissions
from keyframer.formats import FORMATS, Format
from keyframer.plugins import call_plugin
from keyframer.wire.structure import Structure, snake_case


class Described(NamedTuple):
    """A layout of a format, and the name of its description."""

    format: Format
    structure: Structure
    name: str


def described_layouts() -> Iterator[Described]:
    """Yield the binary formats that can be described, the default dialect of each first."""
    for known in FORMATS:
        codec = call_plugin(known, known.codec)
        if codec is None or codec.structure is None:
            continue
        for number, dialect in enumerate(codec.described):
            structure = codec.structure(dialect)
            yield Described(
                known, structure, f"{structure.name}_{snake_case(str(dialect))}" if number else structure.name
            )


def own_extensions() -> dict[str, tuple[str, ...]]:
    """Return the extensions of each format without dots; one that several formats have identifies none of them. Of a
    format without signatures, only the first can: its other files are companions, whose extensions are in wide use."""
    owners = Counter(extension for known in FORMATS for extension in known.extensions)
    told = {known.name: known.extensions if known.signatures else known.extensions[:1] for known in FORMATS}
    return {name: tuple(each[1:] for each in extensions if owners[each] == 1) for name, extensions in told.items()}


def _magic() -> dict[str, str]:
    return {"keyframer.magic": magic(FORMATS, own_extensions())}


def _pronom() -> dict[str, str]:
    return {"keyframer-pronom.xml": fido(FORMATS, own_extensions())}


def _mime() -> dict[str, str]:
    return {"keyframer.xml": mime(FORMATS, own_extensions())}


def _kaitai() -> dict[str, str]:
    extensions = own_extensions()
    return {
        f"{name}.ksy": kaitai(structure, name, known, extensions[known.name])
        for known, structure, name in described_layouts()
    }


def _hexpat() -> dict[str, str]:
    return {f"{name}.hexpat": hexpat(structure, known.title) for known, structure, name in described_layouts()}


DESCRIPTIONS: dict[str, Callable[[], dict[str, str]]] = {
    "magic": _magic,
    "pronom": _pronom,
    "mime": _mime,
    "kaitai": _kaitai,
    "hexpat": _hexpat,
}
"""for each kind of description a function that returns names and texts of its files"""
