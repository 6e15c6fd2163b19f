"""Cameras: the old programs give the horizontal field of view, glTF wants the vertical one."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from keyframer.curves.fit import largest_difference
from keyframer.curves.lines import Measure, straight
from keyframer.exchange.gltf.asset import Json
from keyframer.exchange.gltf.context import Context
from keyframer.exchange.gltf.extras import attach, plain, raw_name, shown_name, stated
from keyframer.exchange.report import Outcome
from keyframer.scene import Camera

Floats = npt.NDArray[np.float64]

ASPECT_RATIO = 4.0 / 3.0
"""of the picture: no format stores it, and this was the screen of the time"""
_WIDEST = 179.0
_NARROWEST = 1e-4


def vertical_fov(horizontal_degrees: npt.ArrayLike) -> Floats:
    """Radians of the vertical field of view."""
    usual = np.nan_to_num(np.asarray(horizontal_degrees, np.float64), nan=48.0, posinf=_WIDEST, neginf=_NARROWEST)
    half = np.radians(np.clip(usual, _NARROWEST, _WIDEST)) / 2
    return np.asarray(2 * np.arctan(np.tan(half) / ASPECT_RATIO))


def _straight_lens(first: Floats, last: Floats, u: Floats) -> Floats:
    """Blender's way between two vertical fields of view: straight in focal lengths."""
    with np.errstate(all="ignore"):
        return np.asarray(2 * np.arctan(1 / straight(1 / np.tan(first / 2), 1 / np.tan(last / 2), u)))


FIELDS_OF_VIEW = Measure(largest_difference, (straight, _straight_lens))
"""vertical ones, in radians"""


def write_cameras(context: Context, fov_degrees: Floats) -> None:
    """All cameras of the scene, in its order, with the fields of view (C,) they begin with."""
    for camera, fov in zip(context.scene.cameras, fov_degrees.tolist(), strict=True):
        context.asset.cameras.append(_camera(context, camera, fov))


def _camera(context: Context, camera: Camera, fov: float) -> Json:
    unit = context.axes.unit
    near = max(context.size * unit * 1e-3, 1e-6)
    lens: Json = {"yfov": float(vertical_fov(fov)), "aspectRatio": ASPECT_RATIO, "znear": near}
    if camera.clip is not None and all(map(math.isfinite, camera.clip)) and 0 < camera.clip[0] < camera.clip[1]:
        lens["znear"], lens["zfar"] = camera.clip[0] * unit, camera.clip[1] * unit
    written: Json = {"type": "perspective", "perspective": lens}
    name = shown_name(camera.name)
    if name:
        written["name"] = name
    content = raw_name(camera.raw_name, camera.name)
    content.update(stated(camera, "fov_degrees", "roll_degrees", "target", "ranges", "clip", "shows_cone"))
    if camera.extras:
        content["extras"] = plain(camera.extras)
    attach(written, content)
    path = f"/cameras/{camera.name}"
    detail = "as the vertical field of view of a 4:3 picture"
    context.report.add(Outcome.EXACT, f"{path}/fov", detail, extras=camera.extras)
    if camera.ranges is not None:
        context.report.add(Outcome.EXTRAS, f"{path}/ranges", extras=camera.extras)
    return written
