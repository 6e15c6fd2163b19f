"""A model with a given number of vertices."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import keyframer
from keyframer.scene import Mesh, Node, Scene


@cache
def dense_model(vertices: int) -> bytes:
    turn = np.linspace(0, 2 * np.pi, vertices)
    positions = np.column_stack([np.cos(turn), np.sin(turn), turn]) * 100
    corners = np.column_stack([np.arange(vertices - 2), np.arange(1, vertices - 1), np.arange(2, vertices)])
    scene = Scene(nodes=[Node("Strip", mesh=0)], meshes=[Mesh("Strip", positions, corners)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "strip.3ds"
        keyframer.save(scene, path)
        return path.read_bytes()
