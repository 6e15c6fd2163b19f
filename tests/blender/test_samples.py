"""Every sample and example, played by Blender, against `keyframer.pose`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer import Channel, Clip, Interpolation, Mesh, Node, RotationForm, Scene, Track
from keyframer.errors import FormatError
from tests.blender.outside import ROOT, Answer, Case, ask, needs_blender, ten_frames

pytestmark = needs_blender
SAMPLES = [*sorted((ROOT / "tests" / "samples").glob("*/*")), *sorted((ROOT / "examples").glob("*"))]


def cases() -> list[Case]:
    found = []
    for path in SAMPLES:
        if path.is_dir() or path.suffix in (".py", ".pyc"):
            continue
        try:
            scene = keyframer.load(path, salvage=True)
        except FormatError:
            continue
        for clip in range(max(1, len(scene.clips))):
            found.append(Case(path, scene, ten_frames(scene, clip), clip, {"salvage": True}))
    return found


def two_clips(folder: Path) -> list[Case]:
    """A file with two clips of different nodes: each moves what the other leaves at rest."""
    turn = [(0, 0, 0, 1), (0, 0, 0.6, 0.8), (0, 0, 1, 0)]
    first = Track("position", [0, 10, 30], [(0, 0, 0), (4, 0, 1), (0, 3, 0)], Interpolation.LINEAR)
    second = Track("rotation", [0, 20, 40], turn, form=RotationForm.QUATERNION_ABSOLUTE)
    mesh = Mesh("Square", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    nodes = [Node("Base", mesh=0, position=[1, 2, 3]), Node("Arm", parent=0, mesh=0, position=[0, 0, 2])]
    clips = [Clip("slide", [Channel(0, first)], 0, 30), Clip("turn", [Channel(1, second)], 0, 40)]
    path = folder / "clips.glb"
    keyframer.save(Scene(nodes=nodes, meshes=[mesh], clips=clips), path)
    scene = keyframer.load(path)
    return [Case(path, scene, ten_frames(scene, clip), clip) for clip in range(2)]


@pytest.fixture(scope="module")
def played(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Case, Answer]]:
    folder = tmp_path_factory.mktemp("samples")
    every = [*cases(), *two_clips(folder)]
    answers = ask(archive, [case.request() for case in every], folder)
    return list(zip(every, answers, strict=True))


def test_blender_plays_every_sample_as_keyframer_does(played: list[tuple[Case, Answer]]) -> None:
    assert len(played) > 40
    refused = [(case.path.name, answer.said) for case, answer in played if "FINISHED" not in answer.said["result"]]
    assert not refused
    troubles = [trouble for case, answer in played for trouble in case.troubles(answer)]
    assert not troubles, "\n".join(troubles)


def test_every_clip_is_an_action_of_its_own(played: list[tuple[Case, Answer]]) -> None:
    first, second = (answer for case, answer in played if case.path.name == "clips.glb")
    assert first.said["actions"] == second.said["actions"] == ["slide", "turn"]


def test_meshes_have_everything_that_the_file_says(played: list[tuple[Case, Answer]]) -> None:
    seen = dict.fromkeys(("uv", "colors", "shape_keys", "groups", "smooth"), 0)
    for case, answer in played:
        for number, described in answer.said["meshes"].items():
            node = case.scene.nodes[int(number)]
            mesh = case.scene.meshes[node.mesh or 0]
            corners = np.sort(np.asarray(mesh.corners), axis=1)
            whole = (np.diff(corners, axis=1) > 0).all(axis=1)
            shapes = 0 if node.morph is None or not node.morph.names else 1 + len(node.morph.names)
            wanted = {
                "faces": int(whole.sum()),
                "uv": int(mesh.uv is not None and len(mesh.uv) > 0),
                "colors": int(mesh.colors is not None and len(mesh.colors) > 0),
                "shape_keys": shapes,
                "smooth": 0 if mesh.smoothing is None else int(np.count_nonzero(np.asarray(mesh.smoothing)[whole])),
            }
            assert {name: described[name] for name in wanted} == wanted, (case.path.name, node.name)
            assert (described["groups"] > 0) == (node.skin is not None), (case.path.name, node.name)
            for name in seen:
                seen[name] += described[name]
    assert all(seen.values()), seen
