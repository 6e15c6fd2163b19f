"""Read cameras and lights, and the tracks of their settings."""

from __future__ import annotations

import math

import numpy as np

from keyframer.curves import Track
from keyframer.formats.ase.bridge.declared_fields import (
    ATTENUATION,
    CAMERA,
    CAMERA_TRACKS,
    CONE,
    EXCLUDES,
    LIGHT,
    LIGHT_SETTINGS,
    LIGHT_TRACKS,
    LIGHT_TYPES,
)
from keyframer.formats.ase.bridge.tracks import sampled
from keyframer.formats.ase.records import Block
from keyframer.formats.kit.declared_fields import read_declared_fields
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.scene import Camera, Light, LightType
from keyframer.text import decode_name

_EMPTY_BLOCK = Block()


def read_camera(reporter: Reporter, node: Block, name: str) -> Camera:
    """Read the camera of a node from its first settings."""
    settings = node.block(b"CAMERA_SETTINGS") or _EMPTY_BLOCK
    camera = Camera(name, raw_name=node.name(b"NODE_NAME"))
    read_declared_fields(camera, settings, CAMERA)
    distance = settings.number(b"CAMERA_TDIST", -1.0)
    reporter.mark(camera, "ase", node, {"target_distance": distance} if distance >= 0 else None)
    return camera


def read_light(reporter: Reporter, node: Block, name: str, encoding: str | None) -> Light:
    """Read the light of a node from its first settings."""
    settings = node.block(b"LIGHT_SETTINGS") or _EMPTY_BLOCK
    light = Light(name, LIGHT_TYPES.get(node.name(b"LIGHT_TYPE") or b"", LightType.OMNI))
    light.raw_name = node.name(b"NODE_NAME")
    read_declared_fields(light, settings, LIGHT_SETTINGS)
    read_declared_fields(light, node, LIGHT)
    if light.type is LightType.SPOT:
        read_declared_fields(light, settings, CONE)
    read_declared_fields(light, settings, ATTENUATION)
    read_declared_fields(light, (node, lambda raw: decode_name(raw, encoding)), EXCLUDES)
    reporter.mark(light, "ase", node)
    return light


def setting_tracks(reporter: Reporter, node: Block, is_camera: bool) -> list[Track]:
    """Return a track for each setting that changes, from the blocks with the settings at several times."""
    animation = node.block(b"CAMERA_ANIMATION" if is_camera else b"LIGHT_ANIMATION")
    if animation is None:
        return []
    settings = animation.blocks(b"CAMERA_SETTINGS" if is_camera else b"LIGHT_SETTINGS")
    times = np.array([block.number(b"TIMEVALUE", 0.0) for block in settings])
    if not len(times):
        return []
    series: dict[str, list[object]] = {}
    for kind, word in (CAMERA_TRACKS if is_camera else LIGHT_TRACKS).items():
        keyword = word.encode()
        if kind == "color":
            series[kind] = [block.vector(keyword) or (math.nan,) * 3 for block in settings]
        else:
            series[kind] = [block.number(keyword, math.nan) for block in settings]
    tracks: list[Track] = []
    for kind, stored in series.items():
        values = np.array(stored, np.float64)
        usable = np.isfinite(values.reshape(len(times), -1)).all(axis=1)
        if not usable.any() or (values[usable] == values[usable][0]).all():
            continue
        values = np.degrees(values[usable]) if kind == "fov" else values[usable]
        track = sampled(kind, times[usable], values, np.inf)
        reporter.mark(track, "ase", animation)
        tracks.append(track)
    return tracks
