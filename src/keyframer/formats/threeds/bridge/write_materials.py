"""Write materials, their maps, and the environment as chunks."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from keyframer.formats.kit.declared_fields import write_declared_fields
from keyframer.formats.kit.scene_writing import UniqueByteNames, cut_name, plain_path
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.declared_fields import (
    BACKGROUND_IMAGE,
    ENVIRONMENT,
    MAP,
    MAP_AMOUNT,
    MAP_FLAGS,
    MATERIAL,
    write_file_names,
)
from keyframer.formats.threeds.bridge.editor import SLOTS
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Environment, Material, TextureMap
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import encode_name

_STEM, _SUFFIX = 8, 3
"""longest stem and suffix of DOS file names"""


class MapNames:
    """Makes DOS file names: up to eight characters, a dot, up to three, upper case; unique for each file."""

    def __init__(self, report: LossReport, *, as_given: bool = False) -> None:
        self._report = report
        self._as_given = as_given
        """whether names are stored as they are: an original file may have long names"""
        self._claimed: dict[str, bytes] = {}
        self._taken: set[bytes] = set()

    def claim(self, name: str) -> bytes:
        """Return the stored name of an image file."""
        stored = encode_name(name) if self._as_given else self._claimed.get(name)
        if stored is not None:
            return stored
        stem, suffix = os.path.splitext(re.split(r"[\\/]", name)[-1])
        stem = stem.upper().replace(" ", "_") or "MAP"
        stored_suffix = cut_name(suffix.upper(), _SUFFIX + 1)
        candidate = cut_name(stem, _STEM) + stored_suffix
        number = 2
        while candidate in self._taken:
            digits = str(number).encode()
            candidate = cut_name(stem, _STEM - len(digits)) + digits + stored_suffix
            number += 1
        self._taken.add(candidate)
        self._claimed[name] = candidate
        if candidate != encode_name(name):
            self._report.add(Outcome.BAKED, plain_path("maps", name), f"renamed to {candidate.decode('latin-1')}")
        return candidate


def write_material(material: Material, name: bytes, maps: MapNames) -> r.Material:
    """Write a material and its maps as a material block."""
    parts: list[Chunk] = [r.MaterialName(name)]
    parts += write_declared_fields(material, MATERIAL)
    for kind, slot in SLOTS.items():
        if slot in material.maps:
            parts.append(write_map(kind, material.maps[slot], maps))
    return r.Material(children=list(parts))


def write_map(kind: type[Chunk], texture: TextureMap, maps: MapNames) -> Chunk:
    """Write one map of a material as a chunk of its slot."""
    parts: list[Chunk] = [*write_declared_fields(texture, MAP_AMOUNT), r.MapName(maps.claim(texture.file_name))]
    parts += [*write_declared_fields(texture, MAP_FLAGS), *write_declared_fields(texture, MAP)]
    return kind(children=list(parts))


def material_names(materials: Sequence[Material], report: LossReport, known: Mapping[int, bytes]) -> list[bytes]:
    """Return the stored name of each material; ``known`` are names in the original document, by number."""
    names = UniqueByteNames(16, reserved=known.values())
    claimed = [
        known[number] if number in known else names.claim(material.name, material.raw_name, "material")
        for number, material in enumerate(materials)
    ]
    for material, name in zip(materials, claimed, strict=True):
        if names.decode(name) != material.name:
            path = plain_path("materials", material.name)
            message = f"renamed to {names.decode(name)!r}: names have 1 to 16 characters and must be unique"
            report.add(Outcome.BAKED, path, message)
    return claimed


def write_environment(environment: Environment, maps: MapNames) -> list[Chunk]:
    """Write background, fog and ambient light, with the flags of those that are switched on."""
    return write_file_names(environment, BACKGROUND_IMAGE, maps.claim) + write_declared_fields(environment, ENVIRONMENT)
