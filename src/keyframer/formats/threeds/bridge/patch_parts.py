"""Cameras and lights changed in place."""

from __future__ import annotations

from typing import Any

from keyframer.formats.kit.scene_writing import Unpatchable, encode_name
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import child
from keyframer.formats.threeds.bridge.patch_values import recolor, set_field, set_flag
from keyframer.formats.threeds.chunk import Chunk
from keyframer.scene import Camera, Light, LightType


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
    elif name == "ranges":
        _set_ranges(body, camera.ranges)
    elif name == "shows_cone":
        set_flag(body, r.CameraSeeCone, camera.shows_cone)
    elif name != "name":
        raise Unpatchable(f"{name} of cameras")


def _set_ranges(body: r.Camera, ranges: tuple[float, float] | None) -> None:
    found = child(body, r.CameraRanges)
    if ranges is not None and found is not None:
        found.near, found.far = ranges
    elif ranges is not None:
        body.children.append(r.CameraRanges(*ranges))
    else:
        set_flag(body, r.CameraRanges, False)


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
    if name == "color":
        recolor(body, light.color)
    elif name in numbers:
        kind, field = numbers[name]
        set_field(body, kind, field, getattr(light, name))
    elif name in flags:
        set_flag(body, *flags[name])
    elif name == "excludes":
        _set_excludes(body, light.excludes)
    elif light.type is LightType.SPOT and child(body, r.Spotlight) is not None:
        _patch_spot(child(body, r.Spotlight), light, name)
    elif name != "name":
        raise Unpatchable(f"{name} of lights")


def _set_excludes(body: r.Light, names: list[str]) -> None:
    """Those that stay keep their chunks."""
    wanted = [encode_name(name) for name in names]
    old = [each for each in body.children if isinstance(each, r.LightExclude)]
    gone = [each for each in old if each.name not in wanted]
    body.children = [each for each in body.children if not any(each is other for other in gone)]
    known = [each.name for each in old]
    body.children += [r.LightExclude(name) for name in wanted if name not in known]


def _patch_spot(spot: Any, light: Light, name: str) -> None:
    flags: dict[str, type[Chunk]] = {"casts_shadows": r.SpotShadowed, "rectangular": r.SpotRectangular}
    numbers: dict[str, tuple[Any, str]] = {"roll_degrees": (r.SpotRoll, "roll"), "aspect": (r.SpotAspect, "aspect")}
    if name in ("hotspot_degrees", "falloff_degrees", "target"):
        setattr(spot, name.removesuffix("_degrees"), getattr(light, name))
    elif name in flags:
        set_flag(spot, flags[name], getattr(light, name))
    elif name in numbers:
        kind, field = numbers[name]
        set_field(spot, kind, field, getattr(light, name))
    elif name == "projector":
        set_field(spot, r.SpotMap, "name", None if light.projector is None else encode_name(light.projector))
    elif name != "name":
        raise Unpatchable(f"{name} of lights")
