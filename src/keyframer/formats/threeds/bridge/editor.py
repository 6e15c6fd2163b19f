"""The editor's settings: background, fog, ambient light and the unit."""

from __future__ import annotations

from keyframer.formats.threeds.bridge.context import (
    Context,
    child,
    color,
    firsts,
    has,
    leftover,
    leftovers,
    own_value,
    rgb_of,
    unread,
)
from keyframer.formats.threeds.bridge.declared_fields import AMBIENT, BACKGROUND, kinds_of
from keyframer.formats.threeds.chunk import Chunk
from keyframer.formats.threeds.records import (
    BackgroundBitmap,
    BackgroundGradient,
    ColorByte,
    ColorFloat,
    DimBackground,
    DistanceCue,
    Editor,
    FogBackground,
    LayerFog,
    MasterScale,
    Material,
    NamedObject,
    UseBackgroundBitmap,
    UseBackgroundColor,
    UseBackgroundGradient,
    UseDistanceCue,
    UseFog,
    UseLayerFog,
)
from keyframer.formats.threeds.records import Fog as FogChunk
from keyframer.scene import Environment, Fog, Gradient, LayeredFog, Scene, Space

METRES_PER_INCH = 0.0254

USES: dict[type[Chunk], str] = {
    UseBackgroundBitmap: "background_image",
    UseBackgroundColor: "background_color",
    UseBackgroundGradient: "gradient",
    UseFog: "fog",
    UseDistanceCue: "distance_cue",
    UseLayerFog: "layered_fog",
}

_KNOWN = frozenset(
    (
        *USES,
        BackgroundBitmap,
        BackgroundGradient,
        DistanceCue,
        FogBackground,
        DimBackground,
        FogChunk,
        LayerFog,
        MasterScale,
        Material,
        NamedObject,
    )
)
_COLORS = kinds_of((AMBIENT, BACKGROUND), wraps=True)


def read_editor(context: Context, editor: Editor, scene: Scene) -> None:
    """Surroundings, unit, and what the model has no place for (views, shadow settings) as leftovers."""
    scale = child(editor, MasterScale)
    metres, rule = None, "the file has no master scale; 3D Studio uses inches"
    if scale is not None:
        metres = (scale.scale or 1.0) * METRES_PER_INCH  # 0 occurs and means 1
        rule = f"master scale {scale.scale:g}, in inches"
    scene.space = Space("z", metres_per_unit=metres, unit_rule=rule)
    scene.environment = _environment(context, editor)
    for namespace, content in leftovers(editor, _KNOWN, _COLORS).items():
        scene.extras.setdefault(namespace, {})["editor"] = content["chunks"]


def _environment(context: Context, editor: Editor) -> Environment:
    inside = firsts(editor)
    environment = Environment(
        ambient=AMBIENT.get(inside),
        background_color=BACKGROUND.get(inside),
        uses={name for kind, name in USES.items() if kind in inside},
    )
    kept = []
    bitmap = child(editor, BackgroundBitmap)
    if bitmap is not None:
        environment.background_image = context.text(bitmap.name)
    gradient = child(editor, BackgroundGradient)
    if gradient is not None:
        kind = ColorFloat if has(gradient, ColorFloat) else ColorByte
        colors = [rgb_of(child) for child in gradient.children if isinstance(child, kind)]
        environment.gradient = Gradient(gradient.midpoint, colors)
        kept += [leftover(child) for child in gradient.children if not isinstance(child, kind)]
    fog = child(editor, FogChunk)
    if fog is not None:
        environment.fog = Fog(fog.near, fog.near_density, fog.far, fog.far_density, color(fog))
        environment.fog.affects_background = has(fog, FogBackground) or has(editor, FogBackground)
        kept += unread(fog, {FogBackground, *own_value(fog)})
    cue = child(editor, DistanceCue)
    if cue is not None:
        environment.distance_cue = Fog(cue.near, cue.near_dimming, cue.far, cue.far_dimming)
        environment.distance_cue.affects_background = has(cue, DimBackground) or has(editor, DimBackground)
        kept += unread(cue, {DimBackground})
    layers = child(editor, LayerFog)
    if layers is not None:
        environment.layered_fog = LayeredFog(layers.z_min, layers.z_max, layers.density, layers.flags, color(layers))
        kept += unread(layers, own_value(layers))
    if kept:
        environment.extras["3ds"] = {"chunks": kept}
    return environment
