"""Matrices of VUE files, as the manual of 3ds Max says: row vectors times a 4 x 4 matrix of the twelve numbers.

It reads words from the text and uses none of our code.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np


def frames_of(text: bytes) -> dict[int, list[list[str]]]:
    """Return the commands of each frame, as words."""
    frames: dict[int, list[list[str]]] = {}
    for line in text.decode("latin-1").splitlines():
        words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', line)]
        if words[:1] == ["frame"]:
            frames[int(words[1])] = commands = []
        elif words:
            commands.append(words)
    return frames


def matrix_of(words: list[str]) -> Any:
    """Return the matrix of a transform for column vectors."""
    rows = np.zeros((4, 4))
    rows[:, :3] = np.array([float(word) for word in words[2:14]]).reshape(4, 3)
    rows[3, 3] = 1.0
    return rows.T
