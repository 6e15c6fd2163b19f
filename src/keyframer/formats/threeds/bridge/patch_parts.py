"""Materials, cameras and lights changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keyframer.formats._document import Document
from keyframer.formats._writing import Unpatchable, encode_name
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge import materials as reading
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.write_materials import rgb, share
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Camera, Light, LightType, Material

_COLORS: dict[str, type[Chunk]] = {
    "ambient": r.MaterialAmbient,
    "diffuse": r.MaterialDiffuse,
    "specular": r.MaterialSpecular,
}
_SHARES: dict[str, type[Chunk]] = {
    "shininess": r.MaterialShininess,
    "shininess_strength": r.MaterialShininessStrength,
    "transparency": r.MaterialTransparency,
    "transparency_falloff": r.MaterialTransparencyFalloff,
    "reflection_blur": r.MaterialReflectionBlur,
    "self_illumination": r.MaterialSelfIllumination,
}
_FLAG_CHUNKS = {attribute: kind for kind, attribute in reading.FLAGS.items()}
_SLOT_CHUNKS = {slot: kind for kind, slot in reading.SLOTS.items()}


def set_color(parent: Chunk, kind: type[Chunk], color: Sequence[float] | None) -> None:
    """The colour inside a chunk: all copies of it, in the manner of each."""
    home = child(parent, kind)
    if color is None:
        parent.children = [each for each in parent.children if each is not home]
    elif home is None:
        parent.children.append(kind(children=[rgb(color)]))
    else:
        _recolor(home, color)


def _recolor(home: Chunk, color: Sequence[float]) -> None:
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


def _set_share(parent: Chunk, kind: type[Chunk], value: float | None) -> None:
    home = child(parent, kind)
    if value is None:
        parent.children = [each for each in parent.children if each is not home]
        return
    if home is None:
        home = kind()
        parent.children.append(home)
    _put_share(home, value)


def _put_share(home: Chunk, value: float) -> None:
    for place, each in enumerate(home.children):
        if isinstance(each, (r.PercentInt, r.PercentFloat)):
            home.children[place] = share(value)
            return
    home.children.insert(0, share(value))


def patch_material(document: Document, chunk: r.Material, material: Material, path: tuple[str, ...]) -> None:
    name = path[0]
    if path[1:]:
        if name != "maps":
            raise Unpatchable("/".join(path))
        _patch_map(chunk, material, path[1], path[2])
    elif name in _COLORS:
        set_color(chunk, _COLORS[name], getattr(material, name))
    elif name in _SHARES:
        _set_share(chunk, _SHARES[name], getattr(material, name))
    elif name in _FLAG_CHUNKS:
        kind = _FLAG_CHUNKS[name]
        chunk.children = [each for each in chunk.children if not isinstance(each, kind)]
        if getattr(material, name):
            chunk.children.append(kind())
    elif name == "name":
        _rename(document, chunk, material.name)
    else:
        raise Unpatchable(f"{name} of materials")


def _rename(document: Document, chunk: r.Material, name: str) -> None:
    """The material, and every group of faces that names it."""
    stored = child(chunk, r.MaterialName)
    raw = encode_name(name)
    if stored is None:
        raise Unpatchable("a material without a name")
    for group in document.find(r.MaterialGroup):
        if group.material.lower() == stored.name.lower():
            group.material = raw
    stored.name = raw


def _patch_map(chunk: r.Material, material: Material, slot: str, name: str) -> None:
    home = child(chunk, _SLOT_CHUNKS[slot])
    found = material.maps[slot]
    if home is None:
        raise Unpatchable(f"the map {slot}")
    pairs: dict[str, tuple[tuple[Any, float], ...]] = {
        "scale": ((r.MapUScale, found.scale[0]), (r.MapVScale, found.scale[1])),
        "offset": ((r.MapUOffset, found.offset[0]), (r.MapVOffset, found.offset[1])),
        "rotation_degrees": ((r.MapRotation, found.rotation_degrees),),
        "blur": ((r.MapBlur, found.blur),),
    }
    if name == "file_name":
        stored = child(home, r.MapName)
        if stored is None:
            home.children.append(r.MapName(encode_name(found.file_name)))
        else:
            stored.name = encode_name(found.file_name)
    elif name == "amount":
        _put_share(home, found.amount)
    elif name in pairs:
        for kind, value in pairs[name]:
            number: Any = child(home, kind)
            if number is None:
                home.children.append(kind(value))
            else:
                number.value = value
    else:
        raise Unpatchable(f"{name} of maps")


def patch_camera(chunk: r.NamedObject | None, camera: Camera, name: str) -> None:
    body = None if chunk is None else child(chunk, r.Camera)
    if body is None:
        raise Unpatchable("a camera that the editor does not know")
    if name == "fov_degrees":
        body.lens = 2400.0 / camera.fov_degrees
    elif name == "roll_degrees":
        body.bank = camera.roll_degrees
    elif name == "target" and camera.target is not None:
        body.target = camera.target
    elif name == "ranges" and camera.ranges is not None:
        body.children = [each for each in body.children if not isinstance(each, r.CameraRanges)]
        body.children.append(r.CameraRanges(*camera.ranges))
    elif name != "name":
        raise Unpatchable(f"{name} of cameras")


def patch_light(chunk: r.NamedObject | None, light: Light, name: str) -> None:
    body = None if chunk is None else child(chunk, r.Light)
    if body is None or light.type not in (LightType.OMNI, LightType.SPOT):
        raise Unpatchable("a light that the editor does not know")
    numbers: dict[str, tuple[Any, str]] = {
        "multiplier": (r.LightMultiplier, "multiplier"),
        "inner_range": (r.LightInnerRange, "range"),
        "outer_range": (r.LightOuterRange, "range"),
    }
    flags: dict[str, tuple[type[Chunk], bool]] = {
        "on": (r.LightOff, not light.on),
        "attenuated": (r.LightAttenuates, light.attenuated),
    }
    spot = child(body, r.Spotlight)
    if name == "color":
        _recolor(body, light.color)
    elif name in numbers:
        kind, field = numbers[name]
        body.children = [each for each in body.children if not isinstance(each, kind)]
        if getattr(light, name) is not None:
            body.children.append(kind(**{field: getattr(light, name)}))
    elif name in flags:
        flag, there = flags[name]
        body.children = [each for each in body.children if not isinstance(each, flag)]
        body.children += [flag()] if there else []
    elif spot is not None and name in ("hotspot_degrees", "falloff_degrees", "target"):
        setattr(spot, name.removesuffix("_degrees"), getattr(light, name))
    elif name != "name":
        raise Unpatchable(f"{name} of lights")
