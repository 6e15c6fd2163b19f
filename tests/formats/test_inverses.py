"""Conversions written as code instead of declarations: writing is the inverse of reading."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.curves.rotation_forms import increments
from keyframer.formats import format_by_name
from keyframer.formats.document import Document
from keyframer.formats.hale3d.bridge.surface import with_negative_w, with_w
from keyframer.formats.kit.scene_reading import Reporter
from keyframer.formats.midtown.bridge.scene import angles_of, quaternions_of, root_path, stored_path
from keyframer.formats.threeds import records as r
from keyframer.formats.threeds.bridge.context import Context
from keyframer.formats.threeds.bridge.context import Options as StudioOptions
from keyframer.formats.threeds.bridge.declared_fields import REVERSED_EDGES, fov_of_lens, lens_of_fov
from keyframer.formats.threeds.bridge.tracks import read_tracks
from keyframer.formats.threeds.bridge.write_motion import write_track
from keyframer.formats.threeds.document import new_document
from keyframer.formats.uto3d.bridge.controllers import read_controller, write_controllers
from keyframer.issues import IssueLog
from keyframer.scene import Node, Scene
from keyframer.scene.loss_report import LossReport

Floats = npt.NDArray[np.float64]
ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


@pytest.mark.parametrize("order", ORDERS)
@given(rph=arrays(np.float64, (4, 3), elements=st.floats(-1.5, 1.5)))
def test_angles_to_quaternions_and_back(order: str, rph: Floats) -> None:
    """Up to a quarter of a turn the angles are the same; beyond that the rotation is."""
    turns = quaternions_of(rph, order)
    restored = quaternions_of(angles_of(turns, order), order)
    assert np.allclose(np.abs((turns * restored).sum(axis=1)), 1.0, atol=1e-9)
    assert np.allclose(angles_of(turns, order), rph, atol=1e-6)


@given(
    stored=arrays(np.float64, (5, 3), elements=st.floats(-100, 100)),
    distance=st.floats(-50, 50) | st.just(np.nan),
    in_place=st.booleans(),
)
def test_stored_and_played_root_path(stored: Floats, distance: float, in_place: bool) -> None:
    assert np.allclose(stored_path(root_path(stored, distance, in_place), distance, in_place), stored, atol=1e-9)


@given(turns=arrays(np.float64, (4, 4), elements=st.floats(-1, 1)))
def test_rotations_stored_without_w(turns: Floats) -> None:
    length = np.linalg.norm(turns, axis=1, keepdims=True)
    turns = np.where(length > 1e-3, turns / np.maximum(length, 1e-3), [[0.0, 0.0, 0.0, 1.0]])
    restored, odd = with_w(with_negative_w(turns)[:, :3])
    assert odd is None
    assert np.allclose(np.abs((turns * restored).sum(axis=1)), 1.0, atol=1e-6)


@given(fov=st.floats(0.001, 160))
def test_field_of_view_to_lens_and_back(fov: float) -> None:
    assert fov_of_lens(lens_of_fov(fov)) == pytest.approx(fov, rel=1e-12)


@pytest.mark.parametrize("flags", range(8))
def test_edges_to_face_flags_and_back(flags: int) -> None:
    """AB, BC, CA are bits 0, 1, 2 of a mesh and 2, 1, 0 of a stored face."""
    edges = int(REVERSED_EDGES[flags])
    assert REVERSED_EDGES[edges] == flags
    assert [edges >> bit & 1 for bit in range(3)] == [flags >> bit & 1 for bit in (2, 1, 0)]


TIMES = np.array([0.0, 10.0, 25.0])
AXES = arrays(np.float64, (3, 3), elements=st.floats(-1, 1)).filter(lambda axes: (np.abs(axes).max(axis=1) > 0.1).all())
ANGLES = arrays(np.float64, 3, elements=st.floats(-20, 20).filter(lambda angle: abs(angle) > 1e-3))


def reread(chunk: r.Track, *, absolute: bool = False) -> Track:
    """The track of a chunk that was written."""
    return read_tracks(writing_context(), [chunk], absolute=absolute, from_max=False)[id(chunk)].track


@pytest.mark.parametrize("absolute", [False, True])
@given(axes=AXES, angles=ANGLES)
def test_3d_studio_rotation_keys_and_back(axes: Floats, angles: Floats, absolute: bool) -> None:
    """The file stores angle (clockwise) and axis; increments of any size, absolute keys of up to half a turn."""
    form = RotationForm.AXIS_ANGLE_ABSOLUTE if absolute else RotationForm.AXIS_ANGLE_RELATIVE
    angles = np.clip(angles, -3, 3) if absolute else angles
    axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    track = Track("rotation", TIMES, np.column_stack([axes, angles]), Interpolation.TCB, form=form)
    chunk = write_track(track, False, absolute=absolute)
    restored = reread(chunk, absolute=absolute)
    assert restored.form is form
    before, after = (increments(keys) for keys in (track, restored))
    assert np.allclose(before[0] * before[1][:, None], after[0] * after[1][:, None], atol=1e-4)


@pytest.mark.parametrize("wrap", list(Wrap))
def test_3d_studio_wrap_flags_and_back(wrap: Wrap) -> None:
    track = Track("position", TIMES, np.eye(3), Interpolation.TCB, wrap)
    restored = reread(write_track(track, False))
    assert restored.wrap is wrap


@given(
    axes=AXES,
    angles=ANGLES,
    way=st.sampled_from([Interpolation.TCB, Interpolation.LINEAR]),
)
def test_u3d_rotation_controllers_and_back(axes: Floats, angles: Floats, way: Interpolation) -> None:
    axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    values = np.column_stack([axes, np.clip(angles, -3, 3)])
    given_track = Track("rotation", TIMES, values, way, form=RotationForm.AXIS_ANGLE_RELATIVE)
    scene = Scene([Node("box")])
    (record,) = write_controllers(scene, scene.nodes[0], {"rotation": given_track}, False, False, LossReport("uto3d"))
    reporter = Reporter(Document(format_by_name("uto3d"), [record]), IssueLog())
    (restored,) = read_controller(reporter, record, "auto", 1.0)
    before, after = (increments(keys) for keys in (given_track, restored))
    assert np.allclose(before[0] * before[1][:, None], after[0] * after[1][:, None], atol=1e-4)


def writing_context() -> Context:
    document = new_document()
    return Context(document, StudioOptions(), IssueLog())
