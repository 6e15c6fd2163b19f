"""Affine matrices: compose, decompose, invert, apply, look at."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from keyframer.maths import affine, quat
from tests.maths.test_quat import close

RNG = np.random.default_rng(4)
T = RNG.normal(size=(40, 3))
R = Rotation.random(40, random_state=3).as_quat()
S = RNG.uniform(0.2, 3, (40, 3))


def test_compose_is_t_r_s() -> None:
    matrix = affine.compose(T, R, S)
    points = RNG.normal(size=(40, 7, 3))
    expected = T[:, None] + quat.rotate(R[:, None], points * S[:, None])
    close(affine.transform_points(matrix, points), expected)


def test_scale_axes() -> None:
    axes = Rotation.random(40, random_state=9).as_quat()
    matrix = affine.compose(T, R, S, axes)
    q = quat.to_matrix3(axes)
    stretch = q @ (np.eye(3) * S[:, None]) @ np.linalg.inv(q)
    close(matrix[:, :3, :3], quat.to_matrix3(R) @ stretch)
    close(affine.compose(T, R, S, quat.IDENTITY_XYZW), affine.compose(T, R, S))


@pytest.mark.parametrize("signs", [(1, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1, -1, -1), (-1, -1, 1)])
def test_decompose_and_back(signs: tuple[int, int, int]) -> None:
    matrix = affine.compose(T, R, S * signs)
    translation, rotation, scale = affine.decompose(matrix)
    close(affine.compose(translation, rotation, scale), matrix)
    assert (scale[:, 1:] > 0).all()
    assert (np.sign(scale[:, 0]) == np.prod(signs)).all()


def test_decompose_flattened() -> None:
    for scale in ([0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 0, 0]):
        matrix = affine.compose(T, R, scale)
        close(affine.compose(*affine.decompose(matrix)), matrix)


def test_inverse_and_product() -> None:
    matrix = affine.compose(T, R, S) + 0.0
    matrix[:, 0, 1] += 0.3  # shear
    close(affine.inverse(matrix), np.linalg.inv(matrix), 1e-10)
    close(affine.multiply(affine.inverse(matrix), matrix), np.tile(np.eye(4), (40, 1, 1)), 1e-12)
    flat = affine.inverse(affine.compose(T, R, [1, 0, 1]))
    assert np.isfinite(flat).all()


def test_look_at() -> None:
    frame = affine.look_at([1, 2, 3], [1, 12, 3])  # along Y, Z up
    close(frame[:3, :3], np.column_stack([[1, 0, 0], [0, 0, 1], [0, -1, 0]]))
    close(frame[:3, 3], [1, 2, 3])
    many = affine.look_at(T, T[::-1] + 5)
    aim = T[::-1] + 5 - T
    close(-many[:, :3, 2], aim / np.linalg.norm(aim, axis=1, keepdims=True))
    close(np.linalg.det(many[:, :3, :3]), np.ones(40))
    assert (many[:, 2, 1] > 0).all()
    close(many[:, 2, 0], np.zeros(40))


def test_look_at_parallel_to_up() -> None:
    down = affine.look_at([0, 0, 10], [0, 0, 0])
    close(down[:3, :3], np.eye(3))  # the fallback, Y, is up in the picture
    nowhere = affine.look_at([1, 1, 1], [1, 1, 1])
    close(nowhere[:3, :3], np.eye(3))
    stubborn = affine.look_at([0, 0, 10], [0, 0, 0], fallback_up=[0, 0, 1])
    close(np.linalg.det(stubborn[:3, :3]), 1)


def test_positive_roll_turns_the_picture_clockwise() -> None:
    rolled = affine.look_at([0, 0, 0], [0, 5, 0], roll=np.radians(90))
    # the world's up (Z) appears to the camera's right: -X would be counter-clockwise
    close(affine.inverse(rolled)[:3, :3] @ [0, 0, 1], [1, 0, 0])
    both = affine.look_at(np.zeros((2, 3)), [0, 5, 0], roll=[0, 0.3])
    assert both.shape == (2, 4, 4)


def test_decompose_sheared() -> None:
    rng = np.random.default_rng(8)
    many = np.zeros((50, 4, 4))
    many[:, :3] = rng.normal(size=(50, 3, 4))
    many[:, 3, 3] = 1
    assert {bool(side) for side in np.linalg.det(many) < 0} == {True, False}
    close(affine.compose(*affine.decompose_sheared(many)), many)
    flat = np.diag([1.0, 0.0, 2.0, 1.0])
    close(affine.compose(*affine.decompose_sheared(flat)), flat)
    turned = affine.compose([1, 2, 3], [0.6, 0, 0, 0.8], [2, 2, 2])
    close(affine.decompose_sheared(turned)[1], [0.6, 0, 0, 0.8])  # for a matrix without shear it is its rotation


def test_scale_axes_are_needed_only_for_shear() -> None:
    straight = affine.compose([1, 2, 3], [0.6, 0, 0, 0.8], [2, 3, -4])
    sheared = affine.compose([1, 2, 3], [0.6, 0, 0, 0.8], [1, 2, 3], [0, 0, 0.6, 0.8])
    both = np.stack([straight, sheared])
    *parts, needed = affine.decompose_with_axes(both)
    assert needed.tolist() == [False, True]
    assert parts[3][0].tolist() == [0, 0, 0, 1]
    close(affine.compose(*parts), both)
    for matrix, is_sheared in zip(both, needed, strict=True):
        *alone, also = affine.decompose_with_axes(matrix)
        assert bool(also) == is_sheared
        close(affine.compose(*alone), matrix)
    nearly = straight + 1e-5 * np.eye(4, k=1)
    assert affine.decompose_with_axes(nearly)[4]
    assert not affine.decompose_with_axes(nearly, 1e-4)[4]
    assert not affine.decompose_with_axes(1e-3 * nearly, 1e-4, 1.0)[4]
