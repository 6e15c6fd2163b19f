"""Colours, percentages, numbers and flags inside chunks, changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.write_materials import rgb, share
from keyframer.formats.threeds.chunk import Chunk

PERCENTAGES = (r.PercentInt, r.PercentFloat)


def set_color(parent: Chunk, kind: type[Chunk], color: Sequence[float] | None) -> None:
    """The colour inside a chunk: all copies of it, in the manner of each."""
    home = child(parent, kind)
    if color is None:
        take_out(parent, home)
    elif home is None:
        put_in(parent, kind(children=[rgb(color)]))
    else:
        recolor(home, color)


def recolor(home: Chunk, color: Sequence[float]) -> None:
    """Where bytes cannot say the colour, floats stand in their place."""
    found = False
    for place, each in enumerate(home.children):
        if isinstance(each, (r.ColorFloat, r.ColorFloatGamma)):
            each.rgb = tuple(float(part) for part in color)
        elif isinstance(each, (r.ColorByte, r.ColorByteGamma)):
            whole = [part * 255 for part in color]
            if all(abs(part - round(part)) < 1e-4 for part in whole):
                each.rgb = tuple(min(max(round(part), 0), 255) for part in whole)
            else:
                is_gamma = isinstance(each, r.ColorByteGamma)
                exact = tuple(float(part) for part in color)
                home.children[place] = r.ColorFloatGamma(exact) if is_gamma else r.ColorFloat(exact)
        else:
            continue
        found = True
    if not found:
        home.children.append(rgb(color))


def set_share(parent: Chunk, kind: type[Chunk], value: float | None) -> None:
    home = child(parent, kind)
    if value is None:
        take_out(parent, home)
        return
    if home is None:
        home = kind()
        parent.children.append(home)
    put_share(home, value)


def put_share(home: Chunk, value: float) -> None:
    for place, each in enumerate(home.children):
        if isinstance(each, PERCENTAGES):
            home.children[place] = share(value)
            return
    home.children.insert(0, share(value))


def set_flag(parent: Chunk, kind: type[Chunk], there: bool) -> None:
    """A chunk that says something by being there."""
    if not there:
        parent.children = [each for each in parent.children if not isinstance(each, kind)]
    elif child(parent, kind) is None:
        put_in(parent, kind())


def set_field(parent: Chunk, kind: Any, field: str, value: Any) -> None:
    """The only field of a chunk; None takes the chunk out."""
    found = child(parent, kind)
    if value is None:
        take_out(parent, found)
    elif found is None:
        put_in(parent, kind(**{field: value}))
    else:
        setattr(found, field, value)


def take_out(parent: Chunk, gone: Chunk | None) -> None:
    parent.children = [each for each in parent.children if each is not gone]


def put_in(parent: Chunk, made: Chunk) -> None:
    """A new chunk behind those that are there; what belongs to the whole editor stands before its objects."""
    place = len(parent.children)
    if isinstance(parent, r.Editor):
        place = next((i for i, each in enumerate(parent.children) if isinstance(each, r.NamedObject)), place)
    parent.children.insert(place, made)
