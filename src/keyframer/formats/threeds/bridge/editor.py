"""Read the editor's settings: background, fog, ambient light and the unit."""

from __future__ import annotations

from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import (
    Context,
    child,
    first_chunks,
    plain_record,
    unread_chunks,
    unread_extras,
    value_kinds,
)
from keyframer.formats.threeds.bridge.declared_fields import (
    BACKGROUND_IMAGE,
    ENVIRONMENT,
    gradient_color_kind,
    kinds_of,
    read_file_names,
)
from keyframer.scene import Environment, Scene, Space

METRES_PER_INCH = 0.0254

_KNOWN = kinds_of((*BACKGROUND_IMAGE, *ENVIRONMENT), wraps=False) | {r.MasterScale, r.Material, r.NamedObject}
_WRAPPERS = kinds_of(ENVIRONMENT, wraps=True)


def read_editor(context: Context, editor: r.Editor, scene: Scene) -> None:
    """Read environment and unit; keep chunks without a field in the scene model (views, shadow settings) as extras."""
    scale = child(editor, r.MasterScale)
    metres, rule = None, "the file has no master scale; 3D Studio uses inches"
    if scale is not None:
        metres = (scale.scale or 1.0) * METRES_PER_INCH  # 0 occurs and means 1
        rule = f"master scale {scale.scale:g}, in inches"
    scene.space = Space("z", metres_per_unit=metres, unit_rule=rule)
    scene.environment = _environment(context, editor)
    for namespace, content in unread_extras(editor, _KNOWN, _WRAPPERS).items():
        scene.extras.setdefault(namespace, {})["editor"] = content["chunks"]


def _environment(context: Context, editor: r.Editor) -> Environment:
    chunks = first_chunks(editor)
    environment = Environment()
    read_declared_fields(environment, chunks, ENVIRONMENT)
    read_file_names(environment, chunks, BACKGROUND_IMAGE, context.text)
    unread = []
    if r.BackgroundGradient in chunks:
        gradient = chunks[r.BackgroundGradient]
        kind = gradient_color_kind(gradient)
        unread += [plain_record(child) for child in gradient.children if not isinstance(child, kind)]
    if r.Fog in chunks:
        unread += unread_chunks(chunks[r.Fog], {r.FogBackground, *value_kinds(chunks[r.Fog])})
    if r.DistanceCue in chunks:
        unread += unread_chunks(chunks[r.DistanceCue], {r.DimBackground})
    if r.LayerFog in chunks:
        unread += unread_chunks(chunks[r.LayerFog], value_kinds(chunks[r.LayerFog]))
    if unread:
        environment.extras["3ds"] = {"chunks": unread}
    return environment
