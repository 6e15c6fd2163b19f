"""Hostile files of every shape cost time and memory in proportion to their size."""

from __future__ import annotations

import sys

import pytest

from tests.hostile.measure import SIZES, memory, seconds
from tests.hostile.shapes import ALL, Shape
from tests.hostile.test_truncation import SLOW

per_shape = pytest.mark.parametrize(
    ("name", "shape"), [(name, shape) for name, _, shape in ALL], ids=[f"{name}-{title}" for name, title, _ in ALL]
)
SMALL = 96 * 1024
LARGE = 4 * SMALL
"""two doublings, of which each may take 2.5 times as long"""
TRIES = 4

HUNGRY = (
    *(("3ds", "unknown_chunks"), ("3ds", "empty_known_chunks"), ("3ds", "nodes_that_share_a_mesh")),
    *(("3ds", "morph_shapes"), ("3ds", "nodes_of_one_id"), ("uto3d", "bones_in_a_chain")),
    *(("hale3d", "joints_that_share_components"), ("hale3d", "vertices_that_share_weights")),
    *(("midtown", "midtown_bones"), ("nodeanim", "node_chunks")),
)


def test_there_are_a_dozen_shapes() -> None:
    assert len(ALL) >= 12
    assert {name for name, _, _ in ALL} == {"3ds", "uto3d", "hale3d", "midtown", "nodeanim"}


@per_shape
def test_shapes_have_the_size_that_is_asked_for(name: str, shape: Shape) -> None:
    assert 0.8 * LARGE < len(shape(LARGE)) < 1.3 * LARGE


@per_shape
def test_time_is_linear(name: str, shape: Shape) -> None:
    """The best of several tries: whatever else runs on the machine can only make it slower."""
    small, large = shape(SMALL), shape(LARGE)
    best_small = best_large = float("inf")
    for _ in range(TRIES):
        best_small = min(best_small, seconds(small, name))
        best_large = min(best_large, seconds(large, name))
        if best_large <= 2.5 * 2.5 * max(best_small, 0.02):
            return
    raise AssertionError(f"{best_large / best_small:.1f} times as long for {LARGE // SMALL} times the size")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc for the peak of memory")
@pytest.mark.parametrize(("name", "title"), HUNGRY, ids=[f"{name}-{title}" for name, title in HUNGRY])
def test_memory_is_in_proportion(name: str, title: str) -> None:
    """Documents; scenes and reports hold an object for each node, so a file of nothing but nodes costs them more."""
    size, growth = memory(name, title, SIZES[-1] if SLOW else 1024 * 1024, "document")
    assert growth <= 40 * size + 64 * 1024 * 1024
    size, growth = memory(name, title, SIZES[-1] if SLOW else 1024 * 1024, "report")
    assert growth <= 80 * size + 64 * 1024 * 1024
