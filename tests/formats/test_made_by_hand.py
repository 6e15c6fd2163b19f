"""Scenes that somebody changed by hand into something odd: edits are merged, or the report says why not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats import format_by_name
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.formats.kit.scene_writing import Written
from keyframer.scene import Channel, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome
from tests.formats.editing import why_anew
from tests.formats.midtown import writer as midtown

SAMPLES = Path(__file__).parents[1] / "samples"
MOVING = (
    "3ds/windmill.3ds",
    "uto3d/maxscript.u3d",
    "hale3d/wave-length.anim",
    "midtown/retail.anim",
    "nodeanim/u16_u16.nanim",
)


def loaded(name: str) -> Scene:
    return keyframer.load(SAMPLES / name, format=name.split("/")[0])


def written(scene: Scene) -> Written:
    return format_by_name(scene.source_format).from_scene(scene)


@pytest.mark.parametrize("number", [-1, 10_000])
@pytest.mark.parametrize("name", MOVING)
def test_channels_of_nodes_that_do_not_exist_are_told_and_left_out(name: str, number: int) -> None:
    scene = loaded(name)
    channel = scene.clips[0].channels[0]
    scene.clips[0].channels.append(Channel(number, channel.track))
    made = written(scene)
    assert keyframer.encode(made.document) == (SAMPLES / name).read_bytes()
    lost = [loss.path for loss in made.report if loss.outcome is Outcome.DROPPED]
    assert lost == [f"/clips/channels/{number}/{channel.track.kind}"]


@pytest.mark.parametrize("number", [-1, 10_000])
@pytest.mark.parametrize("name", MOVING)
def test_parents_and_targets_that_do_not_exist_are_none(name: str, number: int) -> None:
    scene, other = loaded(name), loaded(name)
    root = next(place for place, node in enumerate(scene.nodes) if node.parent is None and node.target is None)
    scene.nodes[root].parent = scene.nodes[root].target = number
    assert keyframer.encode(written(scene).document) == keyframer.encode(written(other).document)


@pytest.mark.parametrize("name", MOVING)
def test_two_channels_of_a_kind_are_a_reason_to_write_anew(name: str) -> None:
    scene = loaded(name)
    scene.clips[0].channels.append(replace(scene.clips[0].channels[0]))
    (why,) = why_anew(written(scene))
    assert "(a node has two tracks of one kind)" in why


def no_lens(scene: Scene) -> None:
    scene.cameras[0].fov_degrees = 0.0


def no_end(scene: Scene) -> None:
    scene.clips[0].start = math.inf


def no_rate(scene: Scene) -> None:
    scene.clips[0].rate = math.inf


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("3ds/bare_editor.3ds", no_lens),
        ("3ds/tracks.3ds", no_end),
        ("hale3d/still.anim", no_rate),
        ("uto3d/maxscript.u3d", no_rate),
    ],
)
def test_numbers_that_no_record_can_have(name: str, edit: Callable[[Scene], None]) -> None:
    scene = loaded(name)
    edit(scene)
    made = written(scene)
    assert why_anew(made) or made.report.of(Outcome.DROPPED)
    assert keyframer.decode(keyframer.encode(made.document), format=scene.source_format).issues.first_unsafe() is None


def test_a_shading_that_3d_studio_does_not_know_is_told() -> None:
    scene = loaded("3ds/windmill.3ds")
    scene.materials[0].shading = "toon"
    made = written(scene)
    assert keyframer.encode(made.document) == (SAMPLES / "3ds/windmill.3ds").read_bytes()
    assert [str(loss.path) for loss in made.report if loss.outcome is Outcome.DROPPED] == ["/materials/0/shading"]


@pytest.mark.parametrize("field", ["position", "rotation_xyzw", "scale"])
def test_a_rest_of_no_numbers_is_none(field: str) -> None:
    """Nodes without keys: neither a merged nor a new file gets a key of NaN."""
    name = "nodeanim/big_no_header_u16_text.nanim"
    scene = loaded(name)
    moved = {channel.node for channel in scene.clips[0].channels if channel.track.kind == field.removesuffix("_xyzw")}
    still = next(number for number in range(len(scene.nodes)) if number not in moved)
    value = np.array(getattr(scene.nodes[still], field), np.float64)
    value[0] = math.nan
    setattr(scene.nodes[still], field, value)
    for each in (scene, replace(scene, origin=None)):
        again = keyframer.decode(keyframer.encode(written(each).document), format="nodeanim")
        assert not [issue for issue in keyframer.check(again).issues if issue.code == "DATA_NON_FINITE"]


def test_a_figure_behind_a_channel_of_too_many_bones() -> None:
    """Only the channel that moves the figure changes."""
    wide = midtown.channel([[0.25] * 3 * 4_099] * 3)
    rows = midtown.walk(frames=3, bones=2)
    data = midtown.beta(3, wide, midtown.channel(rows))
    scene = scene_of(keyframer.decode(data, format="midtown"), {})
    track = scene.clips[0].channels[0].track
    track.values = track.values + np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    made = written(scene)
    assert why_anew(made) == []
    rows[1][0] = float(np.float32(rows[1][0])) + 1.0
    assert keyframer.encode(made.document) == midtown.beta(3, wide, midtown.channel(rows))


@pytest.mark.parametrize("origin", [True, False], ids=["merged", "anew"])
@pytest.mark.parametrize("name", MOVING)
def test_nodes_in_a_circle_make_no_file_that_is_refused(name: str, origin: bool) -> None:
    scene = loaded(name)
    below = next(number for number, node in enumerate(scene.nodes) if node.parent is None)
    scene.nodes[below].parent = below
    if not origin:
        scene.origin = None
    made = written(scene)
    lost = [loss.path for loss in made.report if loss.detail == "is its own ancestor"]
    assert lost == [f"/nodes/{scene.nodes[below].name}/parent"]
    assert not origin or keyframer.encode(made.document) == (SAMPLES / name).read_bytes()
    assert not [issue for issue in keyframer.check(made.document).issues if issue.severity is keyframer.Severity.ERROR]


@pytest.mark.parametrize("link", ["parent", "target"])
@pytest.mark.parametrize("name", MOVING)
def test_links_to_missing_nodes_are_reported_as_dropped(name: str, link: str) -> None:
    scene = loaded(name)
    scene.origin = None
    setattr(scene.nodes[0], link, len(scene.nodes))
    dropped = {loss.path: loss.detail for loss in written(scene).report if loss.outcome is Outcome.DROPPED}
    assert dropped[f"/nodes/{scene.nodes[0].name}/{link}"] == "no such node"


@pytest.mark.parametrize("name", ["hale3d/wave-length.anim", "midtown/retail.anim"])
def test_a_new_node_that_the_format_has_no_place_for_is_told(name: str) -> None:
    scene = loaded(name)
    scene.nodes.append(Node("Eye", NodeKind.CAMERA))
    made = written(scene)
    assert why_anew(made) == []
    assert keyframer.encode(made.document) == (SAMPLES / name).read_bytes()
    assert [loss.path for loss in made.report if loss.outcome is Outcome.DROPPED] == ["/nodes/Eye"]
