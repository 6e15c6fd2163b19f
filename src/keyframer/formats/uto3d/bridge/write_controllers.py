"""Write tracks as controllers: TCB rotations as increments, linear rotations unchanged."""

from __future__ import annotations

import math

import numpy as np

from keyframer.arrays import Floats
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.rotation_forms import increments, with_form
from keyframer.formats.kit.key_tracks import as_tcb, axes_of_keys, constant_axes, is_eased, single_key, tcb_keys
from keyframer.formats.uto3d import records as r
from keyframer.formats.uto3d.bridge.controllers import RADIANS_BELOW
from keyframer.scene import Node, Scene
from keyframer.scene.loss_report import LossReport
from keyframer.wire.key_table import Keys

_TYPES = {kind: number for number, kind in r.CONTROLLED.items()}


def write_controllers(
    scene: Scene, node: Node, tracks: dict[str, Track], bound: bool, announced: bool, report: LossReport
) -> list[r.Controller]:
    """Return the controllers of one node, without ids.

    A rest value that the record cannot store becomes a controller with one key.

    A ``bound`` bone rests in its bind pose, so keys store its actual transform.
    """
    if bound:
        tracks.setdefault("position", single_key("position", node.position))
        turn = single_key("rotation", node.rotation_xyzw, RotationForm.QUATERNION_ABSOLUTE)
        tracks.setdefault("rotation", turn)
        tracks.setdefault("scale", single_key("scale", node.scale))
    if node.camera is not None and scene.cameras[node.camera].roll_degrees and "roll" not in tracks:
        tracks["roll"] = single_key("roll", scene.cameras[node.camera].roll_degrees)
    if node.scale_axes_xyzw is not None and "scale_axes" not in tracks:
        scale = tracks.setdefault("scale", single_key("scale", node.scale))
        tracks["scale_axes"] = constant_axes(node, scale)
    elif "scale_axes" in tracks and "scale" not in tracks:
        times = tracks["scale_axes"].times
        values = np.tile(np.asarray(node.scale, np.float64), (len(times), 1))
        tracks["scale"] = Track("scale", times, values, Interpolation.LINEAR)
    axes = tracks.pop("scale_axes", None)
    controllers = []
    for kind, track in tracks.items():
        shaped = _writable(track)
        values = shaped.values.reshape(len(shaped.times), -1)
        if kind == "rotation":
            tcb = shaped.interpolation is Interpolation.TCB
            form = RotationForm.QUATERNION_RELATIVE if tcb else RotationForm.QUATERNION_ABSOLUTE
            values = with_form(shaped, form).values
        elif kind == "scale":
            turned = axes_of_keys(axes, shaped, node, report)
            values = np.column_stack([values, np.zeros((len(shaped.times), 4)) if turned is None else turned])
        elif kind == "roll":
            values = 0.0 - np.radians(values)
        controllers.append(_controller(_TYPES[kind], shaped, values, announced))
    return controllers


def _writable(track: Track) -> Track:
    """Return linear keys if they are equivalent, else TCB keys."""
    if track.interpolation is Interpolation.LINEAR and not is_eased(track):
        if track.is_rotation:
            if not (np.abs(increments(track)[1][1:]) > math.pi).any():
                return track
        elif track.kind != "fov" or (np.abs(track.values) >= RADIANS_BELOW).any():
            return track  # small linear fields of view would be read as radians
    return as_tcb(track)


def _controller(kind: int, track: Track, values: Floats, announced: bool) -> r.Controller:
    if track.interpolation is Interpolation.TCB:
        keys = tcb_keys(track, values, announced)
        keys.flags = keys.flags.astype(np.uint8)
        return r.Controller(kind, scheme=r.TCB, key_count=len(keys), keys=keys)
    times = np.rint(track.times).astype(np.int64)
    keys = Keys(times, np.zeros(len(times), np.uint8), values.astype(np.float32))
    return r.Controller(kind, scheme=r.LINEAR, key_count=len(keys), keys=keys)
