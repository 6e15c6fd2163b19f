"""Read controllers as authored tracks, and write them: TCB rotations as increments, linear ones as absolute values."""

from __future__ import annotations

import math

import numpy as np

from keyframer.arrays import Floats
from keyframer.catalogue import SCENE_BEZIER_SMOOTH, SCENE_NO_KEYS
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.curves.rotation_forms import increments, with_form
from keyframer.formats.kit.key_table import EXTRAS, Keys
from keyframer.formats.kit.key_tracks import as_tcb, axes_of_keys, constant_axes, is_eased, single_key, tcb_keys
from keyframer.formats.kit.scene_reading import Reporter, check_keys
from keyframer.formats.uto3d import records as r
from keyframer.scene import Node, Scene
from keyframer.scene.loss_report import LossReport

RADIANS_BELOW = 3.2
"""linear keys of a field of view are in radians if all values are below this (a field of view is less than pi), else in
degrees
"""

_INTERPOLATIONS = {r.TCB: Interpolation.TCB, r.BEZIER: Interpolation.BEZIER}

_COLUMNS = ("tension", "continuity", "bias", "ease_to", "ease_from", "flags")


def read_controller(reporter: Reporter, record: r.AnyController, fov_keys: str, position_scale: float) -> list[Track]:
    """Return the tracks of one controller: none without keys, two for a scale with axes."""
    if not isinstance(record, r.Controller) or not record.has_keys:
        if not isinstance(record, r.NoController):
            reporter.report(SCENE_NO_KEYS, record)
        return []
    tracks = _tracks(reporter, record, fov_keys, position_scale)
    if record.scheme == r.BEZIER and len(record.keys) > 1:
        reporter.report(SCENE_BEZIER_SMOOTH, record, "keys")
    for track in tracks:
        reporter.mark(track, "uto3d", record, {"controller_id": record.id})
    return tracks


def _tracks(reporter: Reporter, record: r.Controller, fov_keys: str, position_scale: float) -> list[Track]:
    keys = record.keys
    if len(keys) == 0:
        return []
    columns = [keys.extras] if keys.extras is not None else []
    check_keys(reporter, record, "keys", keys.time, keys.value, *columns)
    values = np.asarray(keys.value, np.float64)
    tcb = record.scheme == r.TCB
    if record.type == r.POSITION:
        return [_track(record, "position", values * position_scale)]
    if record.type == r.ROTATION:
        # 3ds Max returns TCB rotations as increments, linear ones as absolute values.
        form = RotationForm.QUATERNION_RELATIVE if tcb else RotationForm.QUATERNION_ABSOLUTE
        return [_track(record, "rotation", values, form)]
    if record.type == r.SCALE:
        tracks = [_track(record, "scale", values[:, :3])]
        axes = values[:, 3:]
        if (axes != 0).any():  # the MAXScript exporter writes zeros, which mean no rotation
            tracks.append(_track(record, "scale_axes", axes, RotationForm.QUATERNION_ABSOLUTE))
        return tracks
    if record.type == r.FOV:
        return [_track(record, "fov", _degrees(values[:, 0], tcb, fov_keys))]
    return [_track(record, "roll", 0.0 - np.degrees(values[:, 0]))]  # 3ds Max: a positive roll is counter-clockwise


def _degrees(values: Floats, tcb: bool, unit: str) -> Floats:
    """Return fields of view in degrees. If the unit is ``auto``, linear keys with small values are radians.

    Only the Flexporter writes linear keys, and it stores radians.
    """
    if unit == "auto":
        usable = values[np.isfinite(values)]
        small = len(usable) > 0 and bool((np.abs(usable) < RADIANS_BELOW).all())
        unit = "radians" if small and not tcb else "degrees"
    return np.degrees(values) if unit == "radians" else values


def _track(record: r.Controller, kind: str, values: Floats, form: RotationForm = RotationForm.NONE) -> Track:
    keys = record.keys
    interpolation = _INTERPOLATIONS.get(record.scheme, Interpolation.LINEAR)
    track = Track(kind, np.asarray(keys.time, np.float64), values, interpolation, form=form)
    if record.scheme == r.TCB:
        track.flags = np.asarray(keys.flags, np.int64)
    if keys.extras is not None:
        for name in EXTRAS:
            setattr(track, name, np.asarray(keys.column(name), np.float64))
    return track


def plain_track(track: Track) -> dict[str, object]:
    """Return a track without a node as plain values, for the extras of its clip."""
    plain: dict[str, object] = {
        "kind": track.kind,
        "interpolation": track.interpolation.value,
        "form": track.form.value,
    }
    plain |= {"times": track.times, "values": track.values}
    plain |= {name: column for name in _COLUMNS if (column := getattr(track, name)) is not None}
    return plain


_TYPES = {kind: number for number, kind in r.CONTROLLED.items()}


def write_controllers(
    scene: Scene, node: Node, tracks: dict[str, Track], bound: bool, keep_flags: bool, report: LossReport
) -> list[r.Controller]:
    """Return the controllers of one node, without ids.

    A rest value that the record cannot store becomes a controller. The record of a ``bound`` node has its transform in
    the bind pose, so controllers store its transform in the rest pose. ``keep_flags``: see `tcb_keys`.
    """
    if bound:
        tracks.setdefault("position", single_key("position", node.position))
        rotation = single_key("rotation", node.rotation_xyzw, RotationForm.QUATERNION_ABSOLUTE)
        tracks.setdefault("rotation", rotation)
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
        writable = _writable(track)
        values = writable.values.reshape(len(writable.times), -1)
        if kind == "rotation":
            tcb = writable.interpolation is Interpolation.TCB
            form = RotationForm.QUATERNION_RELATIVE if tcb else RotationForm.QUATERNION_ABSOLUTE
            values = with_form(writable, form).values
        elif kind == "scale":
            key_axes = axes_of_keys(axes, writable, node, report)
            values = np.column_stack([values, np.zeros((len(writable.times), 4)) if key_axes is None else key_axes])
        elif kind == "roll":
            values = 0.0 - np.radians(values)
        controllers.append(_controller(_TYPES[kind], writable, values, keep_flags))
    return controllers


def _writable(track: Track) -> Track:
    """Return the track unchanged if readers get the same motion from its linear keys; else with TCB keys."""
    if track.interpolation is Interpolation.LINEAR and not is_eased(track):
        if track.is_rotation:
            if not (np.abs(increments(track)[1][1:]) > math.pi).any():
                return track
        # linear keys need a large field of view among them: if all were small, they would be read as radians
        elif track.kind != "fov" or (np.abs(track.values) >= RADIANS_BELOW).any():
            return track
    return as_tcb(track)


def _controller(type_number: int, track: Track, values: Floats, keep_flags: bool) -> r.Controller:
    if track.interpolation is Interpolation.TCB:
        keys = tcb_keys(track, values, keep_flags)
        return r.Controller(type_number, scheme=r.TCB, key_count=len(keys), keys=keys)
    keys = Keys.make(np.rint(track.times).astype(np.int64), values)
    return r.Controller(type_number, scheme=r.LINEAR, key_count=len(keys), keys=keys)
