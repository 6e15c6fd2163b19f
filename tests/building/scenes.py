"""Small scenes, and parts as damaged files contain them: unsorted keys, rates of 0, nodes that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from keyframer import Channel, Clip, Mesh, Node, NodeKind, Scene, Track
from keyframer.limits import Budget, Limits

TRIANGLE = np.array([[0.0, 0, 0], [2, 0, 0], [0, 3, 1]])


def triangle(name: str = "box", **parts: Any) -> Mesh:
    """A mesh of one face."""
    return Mesh(name, TRIANGLE.copy(), np.array([[0, 1, 2]]), **parts)


def one_node(*tracks: Track, node: Node | None = None, **clip: Any) -> Scene:
    """A node (a dummy, unless another is given) that has these tracks in one clip."""
    channels = [Channel(0, track) for track in tracks]
    return Scene([node or Node("box", NodeKind.DUMMY)], clips=[Clip(channels=channels, **clip)])


def rotation_matrix(x: float, y: float, z: float, w: float) -> np.ndarray:
    """The matrix of a unit quaternion, by the formula."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def to_y_up(up: str) -> np.ndarray:
    """The (4, 4) matrix that turns right-handed axes with this axis up to those of glTF: what was up becomes Y."""
    turned = np.eye(4)
    turned[:3, :3] = {
        "x": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
        "y": np.eye(3),
        "z": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
    }[up]
    return turned


@contextmanager
def as_read_from_a_file() -> Iterator[None]:
    """Inside, constructors accept what files may contain; in programs they refuse it."""
    with Budget(Limits(samples=10**15, keys=10**15, nodes=10**15, copies=10**15)).opened():
        yield
