"""Names of nodes that a format cannot store are changed, and the report says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, Track
from keyframer.scene import Channel, Clip, Material, Mesh, Node, NodeKind, Scene, Space
from keyframer.scene.losses import NAME_CHANGED

NAMES = ["Arm", "arm", "\u8170", "", "Arm", '12" disc', "two\nlines"]


@pytest.mark.parametrize("name", ["3ds", "ase", "b3d", "hale3d", "md5", "midtown", "nodeanim", "uto3d"])
def test_changed_names_are_reported(name: str, tmp_path: Path) -> None:
    nodes = [Node(text, NodeKind.BONE, 0 if number else None) for number, text in enumerate(NAMES)]
    track = Track("position", [0.0, 30.0], [[0.0, 0, 0], [1.0, 0, 0]], Interpolation.LINEAR)
    clip = Clip(end=30.0, channels=[Channel(number, track) for number in range(len(nodes))])
    scene = Scene(nodes=nodes, clips=[clip], space=Space("y"))
    report = keyframer.save(scene, tmp_path / "file", format=name)
    found = [node.name for node in keyframer.load(tmp_path / "file", format=name).nodes]
    changed = [(f"/nodes/{old}", new) for old, new in zip(NAMES, found, strict=True) if old != new]
    assert len(changed) > 2
    reported = [(loss.path, loss.args["name"]) for loss in report if loss.type is NAME_CHANGED["rule"]]
    assert sorted(reported) == sorted(changed)


def test_quotes_in_names_of_materials(tmp_path: Path) -> None:
    mesh = Mesh("m", np.eye(3), np.array([[0, 1, 2]]), face_materials=np.zeros(1, np.int32))
    scene = Scene(nodes=[Node("a", mesh=0)], meshes=[mesh], materials=[Material('12" disc')])
    report = keyframer.save(scene, tmp_path / "file.md5mesh")
    assert [material.name for material in keyframer.load(tmp_path / "file.md5mesh").materials] == ["12' disc"]
    changed = [loss for loss in report if loss.type is NAME_CHANGED["rule"]]
    assert [(loss.path, loss.args["name"]) for loss in changed] == [('/materials/12" disc', "12' disc")]
