"""Animations of joints and the models that they move, in two files: the MD5 files of Doom 3 and their descendants.

`records` are what both files store; a format adds its headers and its codec, and is a `Family`. `reading` makes scenes,
`writing` writes them with the records of `pair_writer`, `rules` checks documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from keyframer.formats.contract import Format
from keyframer.formats.document import Document
from keyframer.wire.record import Record


class Family(NamedTuple):
    """What distinguishes the formats of such pairs."""

    format: Format
    animation: type[Any]
    """the header of an animation: has ``version``, ``frame_rate`` and ``component_count``"""
    model: type[Any]
    """the header of a model: has ``version``"""
    version: int
    animation_ending: str
    model_ending: str
    decode: Callable[[bytes], Document]
    encode: Callable[[Document], bytes]
    new_animation: Callable[..., Document]
    """makes an animation of joints and components: see `keyframer.formats.hale3d.document.new_animation`"""
    new_model: Callable[..., Document]
    """makes a model of meshes and joints"""
    in_order: Callable[[Iterable[Record], Iterable[Record]], list[Record]]
    """returns the meshes and the joints of a model in the order of its file"""

    @property
    def name(self) -> str:
        return self.format.name

    def kind(self, document: Document) -> str:
        return "model" if document.first(self.model) is not None else "animation"
