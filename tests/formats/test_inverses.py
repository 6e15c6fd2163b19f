"""What is read by code and not by a declaration: the way back gives what was stored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from keyframer.formats.hale3d.bridge.frame_table import lay_out, named_columns
from keyframer.formats.hale3d.bridge.quaternions import with_negative_w, with_w
from keyframer.formats.hale3d.records import Joint
from keyframer.formats.midtown.bridge.stored_motion import angles_of, quaternions_of, root_path, stored_path

Floats = npt.NDArray[np.float64]
ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


@pytest.mark.parametrize("order", ORDERS)
@given(rph=arrays(np.float64, (4, 3), elements=st.floats(-1.5, 1.5)))
def test_angles_of_quaternions_of_angles(order: str, rph: Floats) -> None:
    """Within a quarter of a turn angles are told apart; beyond that the same turn comes back."""
    turns = quaternions_of(rph, order)
    again = quaternions_of(angles_of(turns, order), order)
    assert np.allclose(np.abs((turns * again).sum(axis=1)), 1.0, atol=1e-9)
    assert np.allclose(angles_of(turns, order), rph, atol=1e-6)


@given(
    stored=arrays(np.float64, (5, 3), elements=st.floats(-100, 100)),
    distance=st.floats(-50, 50) | st.just(np.nan),
    in_place=st.booleans(),
)
def test_the_stored_path_of_a_root_path(stored: Floats, distance: float, in_place: bool) -> None:
    assert np.allclose(stored_path(root_path(stored, distance, in_place), distance, in_place), stored, atol=1e-9)


@given(turns=arrays(np.float64, (4, 4), elements=st.floats(-1, 1)))
def test_a_turn_without_its_w(turns: Floats) -> None:
    length = np.linalg.norm(turns, axis=1, keepdims=True)
    turns = np.where(length > 1e-3, turns / np.maximum(length, 1e-3), [[0.0, 0.0, 0.0, 1.0]])
    again, odd = with_w(with_negative_w(turns)[:, :3])
    assert odd is None
    assert np.allclose(np.abs((turns * again).sum(axis=1)), 1.0, atol=1e-6)


@given(rows=arrays(np.float32, (3, 12), elements=st.floats(-9, 9, width=32)), data=st.data())
def test_columns_that_are_named_and_laid_out_again(rows: npt.NDArray[np.float32], data: st.DataObject) -> None:
    """Joints may read the same columns, or none; some columns are nobody's."""
    joints = []
    for _ in range(3):
        flags = data.draw(st.integers(0, 63))
        most = 6 - flags.bit_count()
        joints.append(Joint(-1, flags | 0x140, data.draw(st.integers(0, most))))
    before = dict(enumerate(joints))
    made, again = lay_out(rows, before, before, named_columns(rows, joints))
    assert made.tobytes() == rows.tobytes()
    assert [(each.flags, each.start_index) for each in again.values()] == [(j.flags, j.start_index) for j in joints]
