"""Blender's importer of USD shows the vertices where the pose has them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np

import keyframer
from tests.exchange.players import PYTHON, needs_blender

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds"
FRAMES = (0, 37, 100)
_SCRIPT = """
import json, sys
import bpy
path, frames = sys.argv[-2], json.loads(sys.argv[-1])
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.wm.usd_import(filepath=path)
found = []
for frame in frames:
    bpy.context.scene.frame_set(frame)
    graph = bpy.context.evaluated_depsgraph_get()
    for thing in bpy.data.objects:
        if thing.type == "MESH":
            shown = thing.evaluated_get(graph)
            places = [shown.matrix_world @ vertex.co for vertex in shown.to_mesh().vertices]
            found.append([frame, *(sum(place[axis] for place in places) / len(places) for axis in range(3))])
print("FOUND " + json.dumps(found))
"""


@needs_blender
def test_blender_shows_vertices_where_the_pose_has_them(tmp_path: Path) -> None:
    scene = keyframer.load(EXAMPLE)
    keyframer.save(scene, tmp_path / "windmill.usdz")
    command = [str(PYTHON), "-c", _SCRIPT, str(tmp_path / "windmill.usdz"), json.dumps(FRAMES)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = json.loads(next(line for line in said.splitlines() if line.startswith("FOUND ")).removeprefix("FOUND "))
    pose = keyframer.pose(scene, frames=FRAMES)
    metres = scene.space.metres_per_unit
    wanted = [
        [frame, *(vertices.mean(axis=0) * metres)]
        for number, node in enumerate(scene.nodes)
        if node.mesh is not None
        for frame, vertices in zip(FRAMES, pose.vertices(number), strict=True)
    ]
    order = [np.lexsort(np.round(rows, 3).T) for rows in (np.array(found), np.array(wanted))]
    assert np.abs(np.array(found)[order[0]] - np.array(wanted)[order[1]]).max() < 2e-4
