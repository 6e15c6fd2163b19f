"""The surroundings of a scene changed in place: background, fog, ambient light, the unit of length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keyframer.formats.document import Document
from keyframer.formats.kit.scene_writing import Unpatchable, encode_name
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.editor import METRES_PER_INCH, USES
from keyframer.formats.threeds.bridge.patch_values import (
    put_in,
    recolor,
    set_color,
    set_field,
    set_flag,
    take_out,
)
from keyframer.formats.threeds.bridge.write_materials import rgb
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Environment, Fog


def patch_environment(document: Document, environment: Environment, name: str) -> None:
    """One field of the surroundings."""
    if name not in _FIELDS:
        raise Unpatchable(f"{name} of the environment")
    _FIELDS[name](editor_of(document), environment)


def patch_unit(document: Document, metres_per_unit: float | None) -> None:
    scale = None if metres_per_unit is None else metres_per_unit / METRES_PER_INCH
    set_field(editor_of(document), r.MasterScale, "scale", scale)


def editor_of(document: Document) -> r.Editor:
    editor = document.first(r.Editor)
    if editor is None:
        raise Unpatchable("there is no editor section")
    return editor


def _ambient(editor: r.Editor, environment: Environment) -> None:
    set_color(editor, r.AmbientColor, environment.ambient)


def _background_color(editor: r.Editor, environment: Environment) -> None:
    set_color(editor, r.BackgroundColor, environment.background_color)


def _background_image(editor: r.Editor, environment: Environment) -> None:
    image = environment.background_image
    set_field(editor, r.BackgroundBitmap, "name", None if image is None else encode_name(image))


def _gradient(editor: r.Editor, environment: Environment) -> None:
    """Colours in the place of those that readers take: floats if there are any, else bytes."""
    wanted, found = environment.gradient, child(editor, r.BackgroundGradient)
    if wanted is None:
        take_out(editor, found)
        return
    colors: list[Chunk] = [rgb(color) for color in wanted.colors]
    if found is None:
        put_in(editor, r.BackgroundGradient(wanted.midpoint, children=list(colors)))
        return
    found.midpoint = wanted.midpoint
    kind = r.ColorFloat if child(found, r.ColorFloat) is not None else r.ColorByte
    places = [i for i, each in enumerate(found.children) if isinstance(each, kind)]
    if len(places) != len(colors):
        found.children = [*colors, *(each for each in found.children if not isinstance(each, kind))]
        return
    for place, color in zip(places, colors, strict=True):
        found.children[place] = color


def _fog(editor: r.Editor, environment: Environment) -> None:
    fog = environment.fog
    found = _set_numbers(editor, r.Fog, fog, ("near", "near_density", "far", "far_density"))
    if found is not None and fog is not None:
        _set_inner_color(found, fog.color)
    _reach(editor, found, r.FogBackground, fog)


def _distance_cue(editor: r.Editor, environment: Environment) -> None:
    cue = environment.distance_cue
    found = _set_numbers(editor, r.DistanceCue, cue, ("near", "near_density", "far", "far_density"))
    _reach(editor, found, r.DimBackground, cue)


def _layered_fog(editor: r.Editor, environment: Environment) -> None:
    layers = environment.layered_fog
    found = _set_numbers(editor, r.LayerFog, layers, ("z_min", "z_max", "density", "flags"))
    if found is not None and layers is not None:
        _set_inner_color(found, layers.color)


def _set_numbers(editor: r.Editor, kind: Any, wanted: Any, names: tuple[str, ...]) -> Chunk | None:
    """The fields of a chunk, in their order; the chunk, or None where it is not wanted."""
    found: Any = child(editor, kind)
    if wanted is None:
        take_out(editor, found)
        return None
    values = [getattr(wanted, name) for name in names]
    if found is None:
        found = kind(*values)
        put_in(editor, found)
    else:
        for plan, value in zip(found.plan.fields, values, strict=True):
            setattr(found, plan.name, value)
    return found  # type: ignore[no-any-return]


def _set_inner_color(home: Chunk, color: tuple[float, float, float] | None) -> None:
    if color is not None:
        recolor(home, color)
        return
    colors = (r.ColorFloat, r.ColorByte, r.ColorFloatGamma, r.ColorByteGamma)
    home.children = [each for each in home.children if not isinstance(each, colors)]


def _reach(editor: r.Editor, home: Chunk | None, kind: type[Chunk], wanted: Fog | None) -> None:
    """Whether the background is affected: said inside the chunk, or beside it."""
    there = wanted is not None and wanted.affects_background
    if not there:
        set_flag(editor, kind, False)
    if home is not None and not (there and child(editor, kind) is not None):
        set_flag(home, kind, there)


def _uses(editor: r.Editor, environment: Environment) -> None:
    for kind, word in USES.items():
        set_flag(editor, kind, word in environment.uses)


_FIELDS: dict[str, Callable[[r.Editor, Environment], None]] = {
    "ambient": _ambient,
    "background_color": _background_color,
    "background_image": _background_image,
    "gradient": _gradient,
    "fog": _fog,
    "distance_cue": _distance_cue,
    "layered_fog": _layered_fog,
    "uses": _uses,
}
