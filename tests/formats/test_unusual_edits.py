"""Scenes with unusual edits: they are merged, or the report says why not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.formats.kit.scene_reading import scene_of
from keyframer.scene import Channel, Clip, Node, NodeKind, Scene
from keyframer.scene.loss_report import Outcome
from tests.building import midtown
from tests.building.editing import load, load_sample, merged, rewrite_reasons, save

SAMPLES = Path(__file__).parents[1] / "samples"
MOVING = (
    "3ds/windmill.3ds",
    "uto3d/maxscript.u3d",
    "hale3d/wave-length.anim",
    "midtown/retail.anim",
    "nodeanim/u16_u16.nanim",
)


@pytest.mark.parametrize("number", [-1, 10_000])
@pytest.mark.parametrize("name", MOVING)
def test_channels_of_missing_nodes_are_reported_and_left_out(name: str, number: int) -> None:
    scene = load_sample(name)
    channel = scene.clips[0].channels[0]
    scene.clips[0].channels.append(Channel(number, channel.track))
    written = save(scene)
    assert keyframer.encode(written.document) == (SAMPLES / name).read_bytes()
    lost = [loss.path for loss in written.report if loss.outcome is Outcome.DROPPED]
    assert lost == [f"/clips/channels/{number}/{channel.track.kind}"]


@pytest.mark.parametrize("number", [-1, 10_000])
@pytest.mark.parametrize("name", MOVING)
def test_missing_parents_and_targets_are_ignored(name: str, number: int) -> None:
    scene, other = load_sample(name), load_sample(name)
    root = next(place for place, node in enumerate(scene.nodes) if node.parent is None and node.target is None)
    scene.nodes[root].parent = scene.nodes[root].target = number
    assert keyframer.encode(save(scene).document) == keyframer.encode(save(other).document)


@pytest.mark.parametrize("name", MOVING)
def test_two_channels_of_one_kind_cause_a_new_file(name: str) -> None:
    scene = load_sample(name)
    scene.clips[0].channels.append(replace(scene.clips[0].channels[0]))
    (why,) = rewrite_reasons(save(scene))
    assert why == "a node has two tracks of one kind"


@pytest.mark.parametrize("name", MOVING)
def test_a_second_clip_is_dropped(name: str) -> None:
    scene = load_sample(name)
    scene.clips.append(Clip("walk"))
    written = save(scene)
    assert keyframer.encode(written.document) == (SAMPLES / name).read_bytes()
    assert len(written.report.of(Outcome.DROPPED)) == 1


SAME_LAYOUT: dict[str, list[dict[str, object]]] = {
    "uto3d/maxscript.u3d": [{}, {"dialect": "B"}, {"max_error": 1e-3}],
    "hale3d/wave-nul-ended.anim": [{"dialect": "nul-ended"}, {"file": "animation"}, {"companion": False}],
    "midtown/retail.anim": [{"dialect": "retail"}],
    "nodeanim/u16_u16.nanim": [{"dialect": "little text:nul chunk:u16+u16 size:all"}],
}
OTHER_LAYOUT: dict[str, list[dict[str, object]]] = {
    "3ds/windmill.3ds": [{"fps": 24.0}],
    "uto3d/maxscript.u3d": [{"dialect": "A"}, {"encoding": "cp1250"}],
    "hale3d/wave-nul-ended.anim": [{"dialect": "length"}, {"fps": 24}],
    "midtown/retail.anim": [{"dialect": "beta"}],
    "nodeanim/u16_u16.nanim": [{"dialect": "big text:nul chunk:u16+u16 size:all"}],
}


@pytest.mark.parametrize(("name", "options"), [(name, each) for name in SAME_LAYOUT for each in SAME_LAYOUT[name]])
def test_an_option_for_the_layout_of_the_file_changes_nothing(name: str, options: dict[str, object]) -> None:
    assert keyframer.encode(save(load_sample(name), **options).document) == (SAMPLES / name).read_bytes()


@pytest.mark.parametrize(("name", "options"), [(name, each) for name in OTHER_LAYOUT for each in OTHER_LAYOUT[name]])
def test_an_option_for_another_layout_causes_a_new_file(name: str, options: dict[str, object]) -> None:
    """Trailing bytes of the original are lost, and reported."""
    data = (SAMPLES / name).read_bytes() + b"behind"
    written = save(load(name.partition("/")[0], data), **options)
    assert rewrite_reasons(written) == ["a different layout was requested"]
    lost = [(loss.type.key, loss.args) for loss in written.report if loss.path == "/trailing"]
    assert lost == [("ORIGINAL_DATA_LOST:bytes", {"count": 6})]


def remove_end(scene: Scene) -> None:
    scene.clips[0].start = math.inf


def remove_rate(scene: Scene) -> None:
    scene.clips[0].rate = math.inf


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("3ds/tracks.3ds", remove_end),
        ("hale3d/still.anim", remove_rate),
        ("uto3d/maxscript.u3d", remove_rate),
    ],
)
def test_values_that_no_record_can_store_are_reported(name: str, edit: Callable[[Scene], None]) -> None:
    scene = load_sample(name)
    edit(scene)
    written = save(scene)
    assert rewrite_reasons(written) or written.report.of(Outcome.DROPPED)
    assert (
        keyframer.decode(keyframer.encode(written.document), format=scene.source_format).issues.first_unsafe() is None
    )


def test_a_shading_that_3d_studio_does_not_have_is_reported() -> None:
    scene = load_sample("3ds/windmill.3ds")
    scene.materials[0].shading = "toon"
    written = save(scene)
    assert keyframer.encode(written.document) == (SAMPLES / "3ds/windmill.3ds").read_bytes()
    assert [str(loss.path) for loss in written.report if loss.outcome is Outcome.DROPPED] == ["/materials/0/shading"]


@pytest.mark.parametrize("field", ["position", "rotation_xyzw", "scale"])
def test_non_finite_rest_values_are_not_written(field: str) -> None:
    """Of nodes without keys: neither a merged nor a new file gets a NaN key."""
    name = "nodeanim/big_no_header_u16_text.nanim"
    scene = load_sample(name)
    moved = {channel.node for channel in scene.clips[0].channels if channel.track.kind == field.removesuffix("_xyzw")}
    still = next(number for number in range(len(scene.nodes)) if number not in moved)
    value = np.array(getattr(scene.nodes[still], field), np.float64)
    value[0] = math.nan
    setattr(scene.nodes[still], field, value)
    for variant in (scene, replace(scene, origin=None)):
        decoded = keyframer.decode(keyframer.encode(save(variant).document), format="nodeanim")
        assert not [issue for issue in keyframer.check(decoded).issues if issue.code == "DATA_NON_FINITE"]


def test_a_figure_after_a_channel_with_too_many_bones() -> None:
    """Only the channel of the figure changes."""
    wide = midtown.channel([[0.25] * 3 * 4_099] * 3)
    rows = midtown.walk(frames=3, bones=2)
    data = midtown.beta(3, wide, midtown.channel(rows))
    scene = scene_of(keyframer.decode(data, format="midtown"), {})
    track = scene.clips[0].channels[0].track
    track.values = track.values + np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    written = save(scene)
    rows[1][0] = float(np.float32(rows[1][0])) + 1.0
    encoded, wanted = merged(written), midtown.beta(3, wide, midtown.channel(rows))
    figure = len(wanted) - 3 * 4 * len(rows[0])
    assert encoded[:figure] == wanted[:figure]
    assert np.allclose(np.frombuffer(encoded[figure:], "<f4"), np.frombuffer(wanted[figure:], "<f4"), atol=1e-6)


@pytest.mark.parametrize("origin", [True, False], ids=["merged", "new file"])
@pytest.mark.parametrize("name", MOVING)
def test_parent_cycles_do_not_give_an_invalid_file(name: str, origin: bool) -> None:
    scene = load_sample(name)
    below = next(number for number, node in enumerate(scene.nodes) if node.parent is None)
    scene.nodes[below].parent = below
    if not origin:
        scene.origin = None
    written = save(scene)
    lost = [loss.path for loss in written.report if loss.args == {"problem": "is its own ancestor"}]
    assert lost == [f"/nodes/{scene.nodes[below].name}/parent"]
    assert not origin or keyframer.encode(written.document) == (SAMPLES / name).read_bytes()
    assert not [
        issue for issue in keyframer.check(written.document).issues if issue.severity is keyframer.Severity.ERROR
    ]


@pytest.mark.parametrize("name", ["hale3d/wave-length.anim", "midtown/retail.anim"])
def test_a_new_node_that_the_format_cannot_store_is_reported(name: str) -> None:
    scene = load_sample(name)
    scene.nodes.append(Node("Eye", NodeKind.CAMERA))
    written = save(scene)
    assert merged(written) == (SAMPLES / name).read_bytes()
    assert [loss.path for loss in written.report if loss.outcome is Outcome.DROPPED] == ["/nodes/Eye"]
