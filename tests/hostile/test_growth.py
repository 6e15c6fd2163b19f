"""Hostile files of every shape cost time and memory in proportion to their size."""

from __future__ import annotations

import sys

import pytest

from tests.growth import assert_linear
from tests.hostile.measure import MIB, SIZES, allowed, costs, work
from tests.hostile.shapes import ALL, Shape
from tests.slow import SLOW

per_shape = pytest.mark.parametrize(
    ("name", "shape"), [(name, shape) for name, _, shape in ALL], ids=[f"{name}-{title}" for name, title, _ in ALL]
)
SMALL = (96 if SLOW else 12) * 1024
LARGE = 4 * SMALL
GROUPS = 4
"""of shapes that are measured by one process"""

COPIES = ("nodes_that_share_a_mesh", "morph_shapes", "joints_that_share_components", "vertices_that_share_weights")
"""shapes of which a part is copied up to a limit (`LIMIT_COPIES`): that part does not grow with the file"""


def test_shapes_cover_every_format() -> None:
    assert len(ALL) >= 12
    assert {name for name, _, _ in ALL} == {"3ds", "uto3d", "hale3d", "midtown", "nodeanim", "ase"}


@per_shape
def test_shapes_have_the_requested_size(name: str, shape: Shape) -> None:
    assert 0.8 * LARGE < len(shape(LARGE)) < 1.3 * LARGE


@per_shape
def test_time_is_linear(name: str, shape: Shape) -> None:
    assert_linear(lambda data: work(data, name), shape(SMALL), shape(LARGE), times=LARGE / SMALL)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc for the peak of memory")
@pytest.mark.parametrize("group", range(GROUPS))
def test_memory_is_in_proportion(group: int) -> None:
    """Document, scene and report together. 40 times the size and 64 MiB are 44 times the size of the largest file. For
    smaller files 64 MiB would be no limit: they may need 44 times their size and what a process needs once."""
    shapes = [(name, title) for name, title, _ in ALL[group::GROUPS]]
    measured = costs(shapes, SIZES[-1] if SLOW else MIB // 4)
    assert len(measured) == len(shapes)
    for (name, title), cost in zip(shapes, measured, strict=True):
        assert cost.report <= allowed(cost.size), (name, title)
        assert title in COPIES or cost.report <= 44 * cost.size + 8 * MIB, (name, title)
