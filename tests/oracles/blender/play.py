"""Plays glTF files with Blender's importer and animation system, to test what a user of Blender sees.

Runs in an environment with ``bpy`` (tools/install_blender.sh), so it shares only files with the tests. Arguments: a
file of requests and a file for answers, one JSON line each:

    {"file", "names": [of every glTF node], "seconds": [...], "animations": [names], "vertices": {node: [numbers]}}
    {"file", "places": {node: [[x, y, z] for each time]}, "cameras": {node: [[aim, up, yfov] ...]}, "vertices": {...}}

Node names must be unique. Answers are in the axes of glTF. Nodes and vertices are evaluated by Blender, with scale
and skin.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import bpy  # type: ignore[import-not-found]
import numpy as np


def in_gltf_axes(rows: np.ndarray) -> np.ndarray:
    """Convert rows from Blender's axes (Z up) to those of glTF (Y up)."""
    return rows[..., (0, 2, 1)] * (1.0, 1.0, -1.0)


class Player:
    def __init__(self, file: str, animations: list[str]) -> None:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.import_scene.gltf(filepath=file)
        self.scene = bpy.context.scene
        if animations:
            for moved in self._animated():
                self._choose(moved, animations)
        self.bones = {
            bone.name: owner for owner in bpy.data.objects if owner.type == "ARMATURE" for bone in owner.pose.bones
        }

    @staticmethod
    def _animated() -> list[Any]:
        data = [*bpy.data.objects, *bpy.data.shape_keys, *bpy.data.cameras, *bpy.data.lights]
        return [block for block in data if block.animation_data is not None]

    @staticmethod
    def _choose(moved: Any, animations: list[str]) -> None:
        """Select the animation with one of these names: the importer puts each on a separate muted track."""
        tracks = moved.animation_data.nla_tracks
        strip = next((track.strips[0] for track in tracks if track.name in animations), None)
        moved.animation_data.action = None if strip is None else strip.action
        if strip is not None:
            moved.animation_data.action_slot = strip.action_slot

    def set_time(self, seconds: float) -> None:
        frame = seconds * self.scene.render.fps
        whole = int(np.floor(frame))
        self.scene.frame_set(whole, subframe=min(frame - whole, np.nextafter(1.0, 0.0)))
        self.graph = bpy.context.evaluated_depsgraph_get()

    def place(self, name: str) -> list[float]:
        if name in self.bones:
            owner = self.bones[name].evaluated_get(self.graph)
            position = owner.matrix_world @ owner.pose.bones[name].head
        else:
            position = bpy.data.objects[name].evaluated_get(self.graph).matrix_world.translation
        return in_gltf_axes(np.array(position)).tolist()

    def camera(self, name: str) -> list[Any]:
        thing = bpy.data.objects[name].evaluated_get(self.graph)
        turn = np.array(thing.matrix_world.to_3x3())
        turn /= np.linalg.norm(turn, axis=0)
        return [in_gltf_axes(-turn[:, 2]).tolist(), in_gltf_axes(turn[:, 1]).tolist(), float(thing.data.angle_y)]

    def vertices(self, name: str, numbers: list[int]) -> list[list[float]]:
        thing = bpy.data.objects[name].evaluated_get(self.graph)
        mesh = thing.to_mesh()
        points = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", points)
        chosen = points.reshape(-1, 3)[numbers].astype(np.float64)
        thing.to_mesh_clear()
        matrix = np.array(thing.matrix_world)
        return in_gltf_axes(chosen @ matrix[:3, :3].T + matrix[:3, 3]).tolist()


def play(request: dict[str, Any]) -> dict[str, Any]:
    player = Player(request["file"], request["animations"])
    cameras = [
        name for name in request["names"] if name in bpy.data.objects and bpy.data.objects[name].type == "CAMERA"
    ]
    places: dict[str, list[Any]] = {name: [] for name in request["names"]}
    aims: dict[str, list[Any]] = {name: [] for name in cameras}
    shapes: dict[str, list[Any]] = {name: [] for name in request["vertices"]}
    for seconds in request["seconds"]:
        player.set_time(seconds)
        for name, column in places.items():
            column.append(player.place(name))
        for name, column in aims.items():
            column.append(player.camera(name))
        for name, column in shapes.items():
            column.append(player.vertices(name, request["vertices"][name]))
    return {"file": request["file"], "places": places, "cameras": aims, "vertices": shapes}


with open(sys.argv[1], encoding="utf-8") as requests, open(sys.argv[2], "w", encoding="utf-8") as answers:
    for line in requests:
        answers.write(json.dumps(play(json.loads(line))) + "\n")
