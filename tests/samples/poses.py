"""The poses that samples must have: ``sample.pose.json`` beside a sample has them, with the source that says so.

The source is a program or a computation that shares no code with the project. Most poses are written by the modules
``poses.py`` in the folders of the samples: ``python -m tests.samples.poses``. The conformance suite compares them.

    {"source": who says so, "frames": [0, 2.5], "nodes": [
    {"name": "hip", "world": [[[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 0]], …], "vertices": {"0": [[x, y, z], …]}}]}

``world`` has the upper three rows of a matrix for each frame, in the axes of the file; rows of three numbers have no
position. ``vertices`` has some vertices of the node's mesh in the world, each with a point for each frame.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.samples import FOLDER, sample_files

Matrix = Sequence[Sequence[float]]
Point = Sequence[float]


class Expected(NamedTuple):
    """The poses of a sample."""

    frames: Sequence[float]
    nodes: list[dict[str, Any]]


def expected_node(
    name: str, world: Iterable[Matrix], vertices: Mapping[int, Sequence[Point]] | None = None
) -> dict[str, Any]:
    """Return what is expected of a node: a matrix for each frame, and some vertices."""
    node: dict[str, Any] = {
        "name": name,
        "world": [[[round(x, 9) + 0.0 for x in row] for row in matrix[:3]] for matrix in world],
    }
    if vertices:
        node["vertices"] = {
            str(number): [[round(x, 9) + 0.0 for x in point] for point in points] for number, points in vertices.items()
        }
    return node


def pose_file(sample: Path) -> Path:
    return sample.with_name(sample.name + ".pose.json")


def text_of(source: str, expected: Expected) -> str:
    text = json.dumps({"source": source, **expected._asdict()}, separators=(",", ":"))
    return text.replace('{"name"', '\n{"name"') + "\n"


def computed(format_name: str) -> dict[Path, str]:
    """Return the pose files of a format whose numbers a module of the tests computes, and their texts."""
    modules = {f"tests.samples.{format_name}.poses": f"{format_name}/poses.py"}
    modules[f"tests.samples.poses_{format_name}"] = f"poses_{format_name}.py"  # a package cannot begin with a digit
    found = next((name for name, file in modules.items() if (FOLDER / file).exists()), None)
    if found is None:
        return {}
    module = importlib.import_module(found)
    known = {path.name: path for path in sample_files(format_name)}
    return {pose_file(known[name]): text_of(module.SOURCE, expected) for name, expected in module.poses().items()}


if __name__ == "__main__":
    for folder in sorted(path.name for path in FOLDER.iterdir() if path.is_dir()):
        for file, text in computed(folder).items():
            file.write_text(text, encoding="utf-8")
