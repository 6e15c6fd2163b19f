"""Rasterising triangles: compared with a slow loop; shared edges, depth, the near plane."""

from __future__ import annotations

import numpy as np
import pytest

from keyframer.errors import FormatError
from keyframer.limits import Budget, Limits
from keyframer.rendering.raster import DepthBuffer, Screen, fragments, project_faces
from keyframer.rendering.viewpoint import View
from tests.rendering.simple import FRONT


def screen_of(points: np.ndarray, closeness: np.ndarray | None = None) -> Screen:
    count = len(points)
    near = np.ones((count, 3)) if closeness is None else closeness
    return Screen(points, near, np.arange(count), np.zeros(count, np.int64), np.eye(3)[None])


def slow_pixels(triangle: np.ndarray, width: int, height: int) -> set[tuple[int, int]]:
    """Pixels whose centre is clearly inside the triangle, one by one, by the signs of three areas."""
    pixels = set()
    for y in range(height):
        for x in range(width):
            p = np.array([x + 0.5, y + 0.5])
            sides = []
            for a, b in ((0, 1), (1, 2), (2, 0)):
                edge, to = triangle[b] - triangle[a], p - triangle[a]
                sides.append(edge[0] * to[1] - edge[1] * to[0])
            if min(sides) > 1e-9 or max(sides) < -1e-9:
                pixels.add((x, y))
    return pixels


def test_pixels_equal_those_of_a_slow_loop() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        triangle = rng.uniform(-10, 30, (1, 3, 2))
        screen = screen_of(triangle)
        parts = list(fragments(screen, np.array([0]), 20, 16))
        pixels = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, int)
        assert len(set(pixels.tolist())) == len(pixels)
        assert {(int(p) % 20, int(p) // 20) for p in pixels} == slow_pixels(triangle[0], 20, 16)


def test_triangles_that_tile_a_square_cover_each_pixel_once() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        middle = rng.uniform(2, 14, 2)
        corners = np.array([[0, 0], [16, 0], [16, 16], [0, 16]], float)
        fan = np.stack([np.stack([corners[i], corners[(i + 1) % 4], middle]) for i in range(4)])
        parts = fragments(screen_of(fan), np.arange(4), 16, 16)
        counts = np.bincount(np.concatenate([part[0] for part in parts]), minlength=256)
        assert (counts == 1).all()


def test_inverse_depth_is_linear_over_the_picture() -> None:
    triangle = np.array([[[0.0, 0], [16, 0], [0, 16]]])
    closeness = np.array([[1.0, 2.0, 3.0]])
    ((pixel, _, near),) = fragments(screen_of(triangle, closeness), np.array([0]), 16, 16)
    x, y = pixel % 16 + 0.5, pixel // 16 + 0.5
    assert np.allclose(near, 1 + x / 16 + 2 * y / 16)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_nearest_triangle_is_visible_in_any_order(order: list[int]) -> None:
    big = np.array([[0.0, 0], [40, 0], [0, 40]])
    screen = screen_of(np.stack([big, big]), np.array([[1.0, 1, 1], [2, 2, 2]])[order])
    buffer = DepthBuffer(8, 8)
    buffer.draw(screen, np.arange(2))
    assert (buffer.owner == order.index(1)).all()


def test_splitting_the_work_does_not_change_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    screen = screen_of(rng.uniform(0, 64, (200, 3, 2)), rng.uniform(0.1, 1, (200, 3)))
    whole = DepthBuffer(64, 64)
    whole.draw(screen, np.arange(200))
    monkeypatch.setattr("keyframer.rendering.raster.ROWS_AT_ONCE", 50)
    monkeypatch.setattr("keyframer.rendering.raster.PIXELS_AT_ONCE", 100)
    parts = DepthBuffer(64, 64)
    parts.draw(screen, np.arange(200))
    assert np.array_equal(whole.owner, parts.owner)


def test_faces_without_area_or_outside_the_picture_are_skipped() -> None:
    points = np.array([[[3.0, 3], [3, 3], [3, 3]], [[1, 1], [5, 5], [9, 9]], [[100, 0], [120, 0], [100, 9]]])
    assert sum(len(part[0]) for part in fragments(screen_of(points), np.arange(3), 16, 16)) == 0


def clipped(points: list[list[float]]) -> Screen:
    return project_faces(np.array(points), np.array([[0, 1, 2]]), FRONT, 32, 32)


def test_triangles_are_clipped_at_the_near_plane() -> None:
    # y is forward of the eye at -10; near is 0.1
    behind, ahead = [0.0, -11.0, 0.0], [0.5, 0.0, 0.5]
    assert len(clipped([behind, [0, -12, 1], [1, -12, 0]])) == 0
    one = clipped([ahead, [-0.5, 0, 0.5], behind])
    assert len(one) == 2
    two = clipped([ahead, behind, [0.0, -11, 1.0]])
    assert len(two) == 1
    for screen in (one, two):
        assert np.isfinite(screen.points).all()
        assert np.allclose(screen.barycentric.sum(axis=2), 1)
        assert screen.closeness.max() <= 10 + 1e-6  # nothing nearer than the plane


def test_faces_with_non_finite_points_are_left_out() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 0, 1], [np.nan, 0, 0]])
    screen = project_faces(points, np.array([[0, 1, 2], [0, 1, 3]]), FRONT, 8, 8)
    assert screen.source.tolist() == [0]


def test_a_view_is_defined_by_its_directions() -> None:
    view = View(np.zeros(3), np.array([0.0, 1, 0]), np.array([0.0, 0, 1]), np.array([-1.0, 0, 0]), 1, 1, 0.1)
    assert view.camera_coordinates(np.array([[-5.0, 2.0, 3.0]])).tolist() == [[2.0, 3.0, 5.0]]


def test_hidden_triangles_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keyframer.rendering.raster.BOXES_AT_ONCE", 1)
    big = np.array([[-9.0, -9], [400, -9], [-9, 400]])
    screen = screen_of(np.stack([big] * 500), np.repeat(np.linspace(1, 2, 500)[:, None], 3, axis=1))
    buffer = DepthBuffer(64, 64)
    before = buffer.left
    buffer.draw(screen, np.arange(500))
    assert (buffer.owner == 499).all()
    assert before - buffer.left == 64 * 64


def test_work_is_limited() -> None:
    half = np.array([[-9.0, -9], [30, -9], [-9, 30]])
    screen = screen_of(np.stack([half] * 500))
    budget = Budget(Limits(pixels=6_000))
    with budget.opened():
        buffer = DepthBuffer(64, 64)
        buffer.draw(screen, np.arange(500))
    assert buffer.left < 0
    assert buffer.left > -50_000 * 64
    assert budget.spent["pixels"] <= 6_000
    with budget.opened(), pytest.raises(FormatError, match="LIMIT_PIXELS"):
        DepthBuffer(64, 64)
