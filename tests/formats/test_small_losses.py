"""Losses of small parts are reported too: the title, and meshes that cast or receive no shadows."""

from __future__ import annotations

import numpy as np
import pytest

from keyframer.curves import Interpolation, Track
from keyframer.scene import Channel, Clip, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome
from tests.building.editing import details, write
from tests.building.scenes import triangle

STORED = {
    "3ds": {"cast_shadows", "received_shadows"},
    "uto3d": {"cast_shadows"},
    "hale3d": set(),
    "midtown": {"cast_shadows", "received_shadows"},
    "nodeanim": {"cast_shadows", "received_shadows", "title"},
}
"""midtown and nodeanim have no meshes at all, and say that instead"""


def moving() -> Scene:
    mesh = triangle(casts_shadows=False, receives_shadows=False)
    track = Track("position", np.array([0.0, 10.0]), np.array([[0.0, 0, 0], [1, 2, 3]]), Interpolation.LINEAR)
    clip = Clip(channels=[Channel(0, track)], end=10.0)
    return Scene([Node("box", NodeKind.OBJECT, mesh=0)], meshes=[mesh], clips=[clip], title="A box")


@pytest.mark.parametrize("format", STORED)
def test_parts_that_cannot_be_stored_are_reported(format: str) -> None:
    dropped = details(write(format, moving()).report, Outcome.DROPPED)
    assert {f"/{part}" for part in ("title", "cast_shadows", "received_shadows")} & set(dropped) == {
        f"/{part}" for part in {"title", "cast_shadows", "received_shadows"} - STORED[format]
    }


@pytest.mark.parametrize("format", STORED)
def test_default_values_are_not_reported(format: str) -> None:
    scene = moving()
    scene.title = ""
    scene.meshes[0].casts_shadows = scene.meshes[0].receives_shadows = True
    dropped = details(write(format, scene).report, Outcome.DROPPED)
    assert not {"/title", "/cast_shadows", "/received_shadows"} & set(dropped)


def test_shadow_flags_are_read_back() -> None:
    for format, names in (("3ds", ("casts_shadows", "receives_shadows")), ("uto3d", ("casts_shadows",))):
        (mesh,) = write(format, moving()).scene.meshes
        assert not any(getattr(mesh, name) for name in names), format
