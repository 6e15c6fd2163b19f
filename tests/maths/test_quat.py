"""Quaternions against scipy's rotations (a test oracle only) and against their own laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from keyframer.maths import quat

RNG = np.random.default_rng(11)
A = Rotation.random(200, random_state=1).as_quat()
B = Rotation.random(200, random_state=2).as_quat()


def close(actual: object, expected: object, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def test_products_and_matrices() -> None:
    product = quat.multiply(A, B)
    close(quat.to_matrix3(product), (Rotation.from_quat(A) * Rotation.from_quat(B)).as_matrix())
    close(quat.to_matrix3(product), quat.to_matrix3(A) @ quat.to_matrix3(B))
    close(quat.multiply(A, quat.conjugate(A)), np.tile(quat.IDENTITY_XYZW, (200, 1)))
    assert quat.multiply(A[:, None], B[None, :3]).shape == (200, 3, 4)


def test_from_matrix_and_back() -> None:
    back = quat.from_matrix3(Rotation.from_quat(A).as_matrix())
    close(back * np.sign(np.sum(back * A, axis=1, keepdims=True)), A)
    half_turns = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0.6, 0.8, 0, 0]], float)
    close(np.abs(quat.from_matrix3(quat.to_matrix3(half_turns))), half_turns)
    assert (back[:, 3] >= 0).all()


def test_rotating_vectors() -> None:
    vectors = RNG.normal(size=(200, 3))
    close(quat.rotate(A, vectors), Rotation.from_quat(A).apply(vectors))
    assert quat.rotate(A[:, None], vectors[None]).shape == (200, 200, 3)


def test_axis_angle() -> None:
    axes, angles = RNG.normal(size=(200, 3)), RNG.uniform(-10, 10, 200)
    unit = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    expected = Rotation.from_rotvec(unit * angles[:, None]).as_matrix()
    close(quat.to_matrix3(quat.from_axis_angle(axes, angles)), expected)
    close(quat.from_axis_angle([0, 0, 0], 1.0), quat.IDENTITY_XYZW)
    axis, angle = quat.to_axis_angle(A)
    close(quat.from_axis_angle(axis, angle), A)
    axis, angle = quat.to_axis_angle(quat.IDENTITY_XYZW)
    close(axis, [0, 0, 1])
    close(angle, 0)


def test_exp_and_log_keep_the_sign() -> None:
    close(quat.exp(quat.log(A)), A)
    close(quat.exp(quat.log(-A)), -A)
    small = RNG.normal(size=(50, 3)) * 1e-9
    close(quat.log(quat.exp(small)), small, 1e-24)
    close(quat.exp([0, 0, 0]), quat.IDENTITY_XYZW)
    close(quat.log([0, 0, 0, -1]), [0, 0, 0])


def test_normalising_zero_gives_the_identity() -> None:
    close(quat.normalise([[0, 0, 0, 0], [0, 0, 3, 4]]), [[0, 0, 0, 1], [0, 0, 0.6, 0.8]])


def test_slerp_shortest() -> None:
    for a, b in zip(A[:20], B[:20], strict=True):
        u = np.linspace(0, 1, 9)
        expected = Slerp([0, 1], Rotation.from_quat([a, b]))(u).as_matrix()
        close(quat.to_matrix3(quat.slerp(a, b, u)), expected)


def test_slerp_the_long_way() -> None:
    start, end = quat.from_axis_angle([0, 0, 1], 0.0), quat.from_axis_angle([0, 0, 1], np.radians(300))
    long_way = quat.slerp(start, end, 0.5, shortest=False)
    close(long_way, quat.from_axis_angle([0, 0, 1], np.radians(150)))
    close(np.abs(quat.slerp(start, end, 0.5)), np.abs(quat.from_axis_angle([0, 0, 1], np.radians(-30))))


@pytest.mark.parametrize("u", [0.0, 1.0])
def test_slerp_ends(u: float) -> None:
    close(quat.slerp(A, B, u, shortest=False), A if u == 0 else B)
