"""All objects at given frames, as Blender's importer of 3DS files, the add-on io_scene_3ds, places them.

    python own_importer.py FOLDER REQUESTS ANSWERS

FOLDER contains the package ``io_scene_3ds``. Each line of REQUESTS is JSON: ``file`` and ``frames``. Each line of
ANSWERS has two entries, without and with the importer's *Apply Transform*: for each object name the world matrix, and
for meshes the world positions of the vertices, at each frame.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import bpy  # type: ignore[import-not-found]
import numpy as np

sys.path.insert(0, sys.argv[1])
import io_scene_3ds  # type: ignore[import-not-found]


def play(file: str, frames: list[float], apply: bool) -> dict[str, Any]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    # 0: the size of the file, instead of one that fits into ten units
    getattr(bpy.ops.import_scene, "3ds")(filepath=file, constrain_size=0.0, use_apply_transform=apply)
    shown: dict[str, dict[str, list[Any]]] = {thing.name: {"world": []} for thing in bpy.data.objects}
    for frame in frames:
        bpy.context.scene.frame_set(int(frame))
        graph = bpy.context.evaluated_depsgraph_get()
        for name, rows in shown.items():
            thing = bpy.data.objects[name].evaluated_get(graph)
            matrix = np.array(thing.matrix_world)
            rows["world"].append(matrix.ravel().tolist())
            if thing.type == "MESH":
                points = np.empty(3 * len(thing.data.vertices), np.float32)
                thing.data.vertices.foreach_get("co", points)
                placed = points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
                rows.setdefault("vertices", []).append(placed.tolist())
    return shown


io_scene_3ds.register()
with open(sys.argv[2], encoding="utf-8") as requests, open(sys.argv[3], "w", encoding="utf-8") as answers:
    for line in requests:
        request = json.loads(line)
        both = [play(request["file"], request["frames"], apply) for apply in (False, True)]
        answers.write(json.dumps(both) + "\n")
