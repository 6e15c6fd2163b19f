"""Compares ways into Blender on five files; prints the table of docs/blender.md.

    .venv/bin/python -m tools.compare_blender_importers

Three ways: our extension, glTF files of ``keyframer convert`` through Blender's own glTF importer, and the rule by
which the add-on io_scene_3ds places rotations. That add-on comes from the extensions platform since Blender 4.2 and is
not part of bpy, so its rule is computed: its source takes rotation keys for absolute ones. Everything else about it is
taken to be right, so the figure is the least that it is off. Needs bpy and the shared corpus.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.blender.outside import ROOT, Case, ask, builder, ten_frames
from tests.corpus import CORPUS
from tests.exchange.players import cases_of, in_blender

import keyframer
from keyframer.curves import RotationForm
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.scene import Channel, Scene

FILES = [
    ROOT / "examples" / "windmill.3ds",
    *(
        CORPUS / "3ds" / name
        for name in (
            "blitz-research__blitz3d__mak_running.3DS",
            "joric__j3de__01-2ndreal.3DS",
            "jumalauta__red2.3ds",
            "jumalauta__cheese.3ds",
        )
    ),
]


def with_absolute_rotations(scene: Scene) -> Scene:
    """The scene as it moves if increments are taken for absolute rotations."""

    def changed(channel: Channel) -> Channel:
        track = channel.track
        if track.form is not RotationForm.AXIS_ANGLE_RELATIVE:
            return channel
        return Channel(channel.node, replace(track, form=RotationForm.AXIS_ANGLE_ABSOLUTE))

    clips = [replace(clip, channels=[changed(channel) for channel in clip.channels]) for clip in scene.clips]
    return replace(scene, clips=clips)


def vertices_off(scene: Scene, other: Scene, frames: list[float]) -> float:
    """The largest distance of vertices of two scenes, in sizes of the first."""
    poses = [keyframer.pose(each, frames=frames) for each in (scene, other)]
    meshes = [number for number, node in enumerate(scene.nodes) if node.mesh is not None]
    away = [np.abs(poses[0].vertices(number) - poses[1].vertices(number)).max(initial=0.0) for number in meshes]
    return float(max(away, default=0.0)) / scene_size(scene)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenes = [keyframer.load(path) for path in FILES]
        cases = [Case(path, scene, ten_frames(scene)) for path, scene in zip(FILES, scenes, strict=True)]
        answers = ask(builder().build(folder), [case.request() for case in cases], folder)
        ours = [
            max(away for _, _, away in case.differences(answer)) for case, answer in zip(cases, answers, strict=True)
        ]
        gltf = {}
        for case, found in in_blender(
            cases_of((path.name, each) for path, each in zip(FILES, scenes, strict=True)), folder
        ):
            gltf[case.name] = max(found.places, found.vertices)
        print("| file | nodes that turn | this extension | glTF and its importer | rotations taken for absolute |")
        print("| --- | --- | --- | --- | --- |")
        for path, scene, case, off in zip(FILES, scenes, cases, ours, strict=True):
            turning = sum(c.track.kind == "rotation" and len(c.track.times) > 1 for c in scene.clips[0].channels)
            wrong = vertices_off(scene, with_absolute_rotations(scene), case.frames)
            print(
                f"| {path.name} | {turning} of {len(scene.nodes)} | {off:.1e} | {gltf[path.name]:.1e} | {wrong:.2f} |"
            )


if __name__ == "__main__":
    main()
