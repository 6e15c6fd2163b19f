"""Reading U3D scenes, compared with a slow evaluator on files of the independent writer."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation
from keyframer.scene import Handedness, LightType
from tests.building import editing
from tests.building.uto3d import (
    COLOURS,
    NOTHING,
    SPHERE,
    UVS,
    WIDTHS,
    A,
    B,
    Manner,
    Scene,
    bezier,
    camera,
    light,
    linear,
    mesh,
    node,
    sampled,
    tcb,
    write,
)
from tests.formats.uto3d import slow

TICKS = [0, 1, 79.5, 160, 333, 480, 700.25, 960, 1500, -20]
MANNERS = pytest.mark.parametrize("manner", [A, B], ids=["flexporter", "maxscript"])


def load(scene: Scene, manner: Manner = B, **options: Any) -> keyframer.Scene:
    return editing.load("uto3d", write(scene, manner), **options)


def codes(scene: keyframer.Scene) -> set[str]:
    return {issue.code for issue in scene.issues}


def quaternion(dice: random.Random, degrees: float) -> list[float]:
    return slow.turn([dice.uniform(-1, 1) for _ in range(3)], dice.uniform(-degrees, degrees))


def controller(dice: random.Random, kind: int, owner: int, scheme: int) -> dict[str, Any]:
    """Four random keys."""
    keys = []
    for index in range(4):
        value = [dice.uniform(0.5, 3.0) for _ in range(WIDTHS[kind])]
        if kind == slow.ROTATION:
            value = quaternion(dice, 120)
        if kind == slow.SCALE:
            value[3:] = quaternion(dice, 60)
        flags = dice.randrange(32)
        extras = [dice.uniform(-1, 1) if bit < 3 else dice.uniform(0, 0.7) for bit in range(5) if flags >> bit & 1]
        time = 320 * index + dice.randrange(100)
        keys.append((time, value, flags, extras) if scheme else (time, value))
    return {"type": kind, "id": 100 * kind + owner, "owner": owner, "scheme": scheme, "keys": keys}


def moving_scene(seed: int) -> Scene:
    """Meshes, a bone and a target that are children of each other across sections, with every kind of motion."""
    dice = random.Random(seed)
    scene = Scene(
        meshes=[
            mesh(b"Box", 10),
            mesh(b"Lid", 11, parent=50),
            mesh(b"Still", 12, parent=10),
            mesh(b"Lost", 13, parent=77),
        ],
        bones=[node(b"Bone", 50, 10), node(b"Tip", 51, 50)],
        targets=[node(b"Goal", 60, 51)],
        materials=[(b"Steel", 7), (b"Glass", 8)],
    )
    for data in slow.nodes(scene):
        data["position"] = tuple(dice.uniform(-5, 5) for _ in range(3))
        data["rotation"] = tuple(quaternion(dice, 170))
        data["scale"] = tuple(dice.uniform(0.5, 2) for _ in range(3))
    for owner in (10, 50, 51, 11, 60):
        for kind in (slow.POSITION, slow.ROTATION, slow.SCALE):
            if dice.random() < 0.8:
                scene.controllers.append(controller(dice, kind, owner, dice.randrange(2)))
    return scene


@pytest.mark.parametrize("seed", range(12))
def test_against_the_slow_evaluator(seed: int) -> None:
    written = moving_scene(seed)
    scene = load(written)
    pose = keyframer.pose(scene, frames=np.array(TICKS) / 160)
    assert [node.file_id for node in scene.nodes] == [node["id"] for node in slow.nodes(written)]
    for number, data in enumerate(scene.nodes):
        assert data.file_id is not None
        for at, tick in enumerate(TICKS):
            truth = slow.world(written, data.file_id, tick)
            np.testing.assert_allclose(pose.world[at, number], truth, rtol=0, atol=1e-8, err_msg=f"{data} at {tick}")


def test_tcb_rotations_are_relative_and_linear_rotations_absolute() -> None:
    """Three quarter turns about Y in sequence, or the same quarter turn three times."""
    quarter = slow.turn([0, 1, 0], 90)
    keys = [(160 * index, quarter) for index in range(3)]
    relative = {"type": 1, "id": 1, "owner": 10, "scheme": 1, "keys": [(*key, 0, []) for key in keys]}
    absolute = {"type": 1, "id": 1, "owner": 10, "scheme": 0, "keys": keys}
    still = {"position": (0, 0, 0), "scale": (1, 1, 1)}
    for wanted, turning in ((relative, [90, 180, 270]), (absolute, [90, 90, 90])):
        scene = load(Scene(meshes=[mesh(b"Box", 10, **still)], controllers=[wanted]))
        world = keyframer.pose(scene, frames=[0, 1, 2]).world[:, 0]
        for at, degrees in enumerate(turning):
            np.testing.assert_allclose(world[at], slow.rotation(slow.turn([0, 1, 0], degrees)), atol=1e-6)


def test_scale_acts_along_rotated_axes() -> None:
    """Twice as long along the diagonal of X and Y; four zeros mean no axes and never become NaN."""
    diagonal = slow.turn([0, 0, 1], 45)
    plain = {"position": (0, 0, 0), "rotation": (0, 0, 0, 1)}
    for axes, wanted in ((diagonal, [[1.5, 0.5, 0], [0.5, 1.5, 0], [0, 0, 1]]), ([0, 0, 0, 0], np.diag([2, 1, 1]))):
        keys = [(0, [2, 1, 1, *axes], 0, [])]
        scene = Scene(meshes=[mesh(b"Box", 10, **plain)])
        scene.controllers = [{"type": 2, "id": 1, "owner": 10, "scheme": 1, "keys": keys}]
        world = keyframer.pose(load(scene), frames=[0]).world[0, 0]
        np.testing.assert_allclose(world[:3, :3], wanted, atol=1e-6)


def test_space_and_time() -> None:
    scene = load(Scene(meshes=[mesh(b"Box", 10)], controllers=[tcb(0, 1, 10, (0, 0, 0))], frames=(0, 50, 25, 192)))
    assert scene.space.up == "y"
    assert scene.space.handedness is Handedness.LEFT
    assert scene.space.v_up
    clip = scene.clips[0]
    assert (clip.unit, clip.rate, clip.units_per_frame, clip.frames_per_second) == ("tick", 4800, 192, 25)
    assert keyframer.pose(scene, frames=[25]).times_seconds == pytest.approx([1.0])
    at_tick = keyframer.pose(scene, [80 / 4800]).world[0, 0, :3, 3]  # half way between the keys at 0 and 160
    assert 0 < at_tick[0] < 1


@pytest.mark.parametrize(
    ("manner", "first", "last", "keys", "start", "end"),
    [
        (B, 0, 100, 3, 0, 16000),  # 100 is no multiple of 160: frames
        (B, 160, 16000, 3, 160, 16000),  # ticks that cover the last key at 320
        (B, 0, 160, 3, 0, 25600),  # a multiple, but as ticks it would end before the last key: frames
        (B, 0, 0, 3, 0, 0),
        (A, 0, 320, 3, 0, 51200),  # the Flexporter writes frames, whatever they look like
    ],
)
def test_first_and_last_frame_in_frames_or_ticks(
    manner: Manner, first: int, last: int, keys: int, start: float, end: float
) -> None:
    scene = Scene(meshes=[mesh(b"Box", 10)], lights=[light(b"Omni", 30)], frames=(first, last, 30, 160))
    scene.controllers = [tcb(0, 1, 10, (0,) * keys)]
    clip = load(scene, manner).clips[0]
    assert (clip.start, clip.end) == (start, end)
    assert clip.extras["uto3d"]["last_frame"] == last


def camera_scene(**fields: Any) -> Scene:
    plain = {"position": (0, 0, 0), "rotation": (0, 0, 0, 1), "scale": (1, 1, 1)}
    scene = Scene(cameras=[camera(b"Eye", 20, 21)], targets=[node(b"Eye.Target", 21, **plain)], **fields)
    scene.cameras[0] |= plain
    scene.controllers = [
        {"type": 0, "id": 1, "owner": 20, "scheme": 1, "keys": [(0, [0, 1, -5], 0, []), (320, [4, 2, -5], 0, [])]},
        {"type": 0, "id": 2, "owner": 21, "scheme": 0, "keys": [(0, [0, 0, 3]), (320, [0, 2, 9])]},
    ]
    return scene


@pytest.mark.parametrize("rolled", [False, True])
def test_cameras_are_aimed_at_their_targets(rolled: bool) -> None:
    scene = camera_scene()
    if rolled:
        keys = [(0, [0.25], 0, []), (320, [-1.0], 1, [0.5])]
        scene.controllers.append({"type": 4, "id": 3, "owner": 20, "scheme": 1, "keys": keys})
    pose = keyframer.pose(load(scene), frames=[0, 0.5, 2])
    for at, tick in enumerate((0, 80, 320)):
        eye, goal = (slow.transform_point(slow.world(scene, number, tick), [0, 0, 0]) for number in (20, 21))
        roll = slow.value(slow.track(scene, 20, slow.ROLL, slice(1)), tick, [0.0])[0]
        np.testing.assert_allclose(pose.world[at, 0], slow.look_at(eye, goal, roll), atol=1e-9)


@pytest.mark.parametrize(
    ("scheme", "values", "option", "wanted"),
    [
        (1, [45, 60], "auto", [45, 60]),
        (0, [0.5, 1.0], "auto", np.degrees([0.5, 1.0])),  # the Flexporter's linear keys are radians
        (0, [30, 60], "auto", [30, 60]),
        (1, [1.5, 3.0], "auto", [1.5, 3.0]),  # a telescope: TCB keys are degrees
        (0, [0.5, 1.0], "degrees", [0.5, 1.0]),
        (1, [0.5, 1.0], "radians", np.degrees([0.5, 1.0])),
    ],
)
def test_fields_of_view(scheme: int, values: list[float], option: str, wanted: Any) -> None:
    scene = camera_scene()
    keys = [(320 * at, [value], *([0, []] if scheme else [])) for at, value in enumerate(values)]
    scene.controllers.append({"type": 3, "id": 4, "owner": 20, "scheme": scheme, "keys": keys})
    pose = keyframer.pose(load(scene, fov_keys=option), frames=[0, 2])
    np.testing.assert_allclose(pose.camera_fov_degrees[:, 0], wanted, rtol=1e-6)


def test_near_and_far_are_fog_or_clip_planes() -> None:
    scene = camera_scene(lights=[light(b"Omni", 30)])
    scene.controllers = []
    by_script, by_plugin = load(scene, B).cameras[0], load(scene, A).cameras[0]
    assert (by_script.clip, by_script.ranges) == ((1.0, 900.0), None)
    assert (by_plugin.clip, by_plugin.ranges) == (None, (1.0, 900.0))
    assert by_script.fov_degrees == 45


def test_lights_use_the_target_id_or_else_the_stored_point() -> None:
    plain = {"position": (1.0, 2.0, 3.0), "rotation": (0, 0, 0, 1), "scale": (1, 1, 1)}
    scene = Scene(targets=[node(b"Aim", 32, **plain | {"position": (1.0, 0.0, 9.0)})])
    scene.lights = [{**light(b"Spot", 31, 2), **plain, "target": 32}, {**light(b"Sun", 33, 1), **plain}]
    scene.lights += [{**light(b"Gone", 34, 2), **plain, "target": 99}, {**light(b"Omni", 35), **plain, "target": 32}]
    loaded = load(scene)
    spot, sun, gone, omni = loaded.lights
    assert [light.type for light in loaded.lights] == [
        LightType.SPOT,
        LightType.DIRECTIONAL,
        LightType.SPOT,
        LightType.OMNI,
    ]
    by_name = {node.name: node for node in loaded.nodes}
    assert loaded.nodes[by_name["Spot"].target or 0].name == "Aim"
    assert by_name["Sun"].target is by_name["Gone"].target is by_name["Omni"].target is None
    assert sun.target == gone.target == (4.0, 5.0, 6.0)
    assert (spot.falloff_degrees, spot.hotspot_degrees) == (45.0, 40.0)  # cut-off is half the outer angle
    assert (omni.attenuated, omni.inner_range, omni.outer_range, omni.multiplier) == (True, 10.0, 20.0, 1.5)
    assert omni.color == (1.0, 0.75, 0.5)
    unresolved = [issue for issue in loaded.issues if issue.code == "LINK_UNRESOLVED_ID"]
    assert [issue.args["id"] for issue in unresolved] == [99]
    pose = keyframer.pose(loaded, frames=[0])
    eye = [1.0, 2.0, 3.0]
    for name, goal in (("Spot", [1.0, 0.0, 9.0]), ("Sun", [4.0, 5.0, 6.0]), ("Gone", [4.0, 5.0, 6.0])):
        number = loaded.nodes.index(by_name[name])
        np.testing.assert_allclose(pose.world[0, number], slow.look_at(eye, goal, 0), atol=1e-9)


def test_targets_of_the_flexporter_are_found_by_name() -> None:
    scene = Scene(targets=[node(b"Fspot01.Target", 32)], lights=[light(b"Fspot01", 31, 1), light(b"Fdirect01", 33, 4)])
    scene.lights += [light(b"free", 34, 3), light(b"Sun", 35, 2)]
    loaded = load(scene, A)
    assert loaded.nodes[loaded.node("Fspot01").target or 0].name == "Fspot01.Target"
    assert [loaded.node(name).target for name in ("Fdirect01", "free", "Sun")] == [None, None, None]
    reported = [str(issue) for issue in loaded.issues if issue.code == "LINK_UNRESOLVED_NAME"]
    assert len(reported) == 1
    assert "Fdirect01.Target" in reported[0]


def skinned_scene(skin: dict[str, Any]) -> Scene:
    dice = random.Random(5)
    scene = Scene(meshes=[mesh(b"Skin", 10, skin)], bones=[node(b"Upper", 50), node(b"Lower", 51, 50)])
    for bone in scene.bones:
        bone["position"] = tuple(dice.uniform(-2, 2) for _ in range(3))
        bone["rotation"] = tuple(quaternion(dice, 90))
        bone["scale"] = (1.0, 1.25, 1.0)
        scene.controllers += [controller(dice, kind, bone["id"], 1) for kind in (slow.POSITION, slow.ROTATION)]
    return scene


SKINS = {
    "rigid": {"flags": 4, "skin": 0, "bones": [50, 50, 51, 51]},
    "weighted": {"flags": 4, "skin": 1, "weights": [[(50, 1.0)], [], [(51, 0.75), (50, 0.25)], [(51, 1.0)]]},
}


@pytest.mark.parametrize("kind", SKINS)
def test_skins_in_both_vertex_spaces(kind: str) -> None:
    scene = skinned_scene(SKINS[kind])
    loaded = load(scene)
    assert loaded.skins[0].rigid == (kind == "rigid")
    assert [loaded.nodes[joint].name for joint in loaded.skins[0].joints] == ["Upper", "Lower"]
    pose = keyframer.pose(loaded, frames=np.array(TICKS) / 160)
    vertices = pose.vertices(0)
    for at, tick in enumerate(TICKS):
        np.testing.assert_allclose(vertices[at], slow.skinned(scene, scene.meshes[0], tick), rtol=0, atol=1e-8)
    resting = load(Scene(**{**vars(scene), "controllers": []}))
    at_rest = keyframer.pose(resting, frames=[0]).vertices(0)[0]
    np.testing.assert_allclose(at_rest, resting.meshes[0].positions, atol=1e-12)
    if kind == "weighted":
        np.testing.assert_allclose(at_rest, scene.meshes[0]["vertices"], atol=1e-12)


def test_skin_problems_are_reported() -> None:
    missing = skinned_scene({"flags": 4, "skin": 0, "bones": [50, 50, 99, 51]})
    with pytest.raises(keyframer.FormatError, match=r"LINK_UNRESOLVED_ID .*vertex_bones\[2\].* bone has the id 99"):
        load(missing)
    kept = load(missing, salvage=True)
    assert keyframer.pose(kept, frames=[0]).vertices(0)[0, 2].tolist() == list(missing.meshes[0]["vertices"][2])
    heavy = skinned_scene({"flags": 4, "skin": 1, "weights": [[(50, 2.0)], [], [(51, 0.5)], [(51, 1.0)]]})
    reported = [issue for issue in load(heavy).issues if issue.code == "DATA_WEIGHT_SUM"]
    assert [(issue.args["count"], issue.args["index"]) for issue in reported] == [(2, 0)]
    nothing = load(skinned_scene({"flags": 4, "skin": 0, "bones": [97, 98, 99, 96]}), salvage=True)
    assert not nothing.skins


def test_all_fields_of_a_mesh() -> None:
    parts = mesh(b"Full", 10, UVS, COLOURS, SPHERE, hidden=1)
    parts["flags"] |= 2 | 8
    scene = Scene(meshes=[parts, mesh(b"Plain", 11, materials=[1, 55])], materials=[(b"Steel", 7), (b"Gl\xe4ser", 8)])
    loaded = load(scene)
    full, plain = loaded.meshes
    assert full.uv is not None
    assert full.uv_corners is not None
    np.testing.assert_array_equal(full.uv, UVS["uvs"])
    np.testing.assert_array_equal(full.uv_corners, UVS["uv_faces"])
    np.testing.assert_array_equal(full.colors, COLOURS["colours"])  # type: ignore[arg-type]
    np.testing.assert_array_equal(full.color_corners, COLOURS["colour_faces"])  # type: ignore[arg-type]
    np.testing.assert_array_equal(full.corners, parts["faces"])
    assert full.edges.tolist() == [3, 6]
    assert (full.casts_shadows, full.dynamic) == (True, True)
    assert full.bounding_sphere[0].tolist() == [0.5, 0.5, 0.0]
    assert full.bounding_sphere[1] == 0.75
    assert [material.name for material in loaded.materials] == ["Steel", "Gläser"]
    assert full.face_materials.tolist() == [0, 1]  # by id
    assert plain.face_materials.tolist() == [1, -1]  # no record has the id 1: it is used as an index
    assert [issue.args["id"] for issue in loaded.issues if issue.code == "LINK_UNRESOLVED_ID"] == [55]
    assert (plain.uv, plain.colors, plain.bounding_sphere) == (None, None, None)
    assert [node.hidden for node in loaded.nodes] == [True, False]
    assert not keyframer.pose(loaded, frames=[0]).visible[0, 0]
    assert loaded.nodes[0].extras["uto3d"]["pivot"] == (-1.0, 0.25, 4.0)


@MANNERS
def test_invalid_corner_indices(manner: Manner) -> None:
    wrong = mesh(b"Wrong", 10, faces=[(0, 1, 2), (0, 2, 9)])
    with pytest.raises(keyframer.FormatError, match=r"LINK_INDEX_OUT_OF_RANGE .*faces\[1\].* vertex 9, which"):
        load(Scene(meshes=[wrong]), manner)
    scene = load(Scene(meshes=[wrong]), manner, salvage=True)
    assert scene.meshes[0].corners.tolist() == [[0, 1, 2]]
    assert scene.meshes[0].edges.tolist() == [3]


def test_controllers_of_unknown_owners_are_reported_and_kept() -> None:
    scene = load(Scene(meshes=[mesh(b"Box", 10)], controllers=[tcb(0, 1, 77, (0, 31)), sampled(1, 2, 78)]), A)
    reported = [issue for issue in scene.issues if issue.code == "LINK_UNRESOLVED_ID" and issue.args["kind"] == "owner"]
    assert [(issue.path, issue.args["id"]) for issue in reported] == [
        ("/uto3d/ctrl/controllers[0]/owner_id", 77),
        ("/uto3d/ctrl/controllers[1]/owner_id", 78),
    ]
    first, second = scene.clips[0].extras["uto3d"]["controllers_without_owner"]
    assert (first["owner_id"], first["id"], second["owner_id"], second["tracks"]) == (77, 1, 78, [])
    track = first["tracks"][0]
    assert (track["kind"], track["interpolation"], track["times"].tolist()) == ("position", "tcb", [0, 160])
    assert track["flags"].tolist() == [0, 31]
    np.testing.assert_allclose(track["tension"], [0, 0.1], rtol=1e-6)
    assert not scene.clips[0].channels


def test_controllers_without_keys() -> None:
    scene = load(Scene(meshes=[mesh(b"Box", 10)], controllers=[bezier(0, 1, 10), NOTHING, sampled(1, 2, 10)]), A)
    assert scene.issues.counts["SCENE_NO_KEYS"] == 2
    assert not scene.clips[0].channels
    assert keyframer.pose(scene, frames=[0]).world[0, 0, :3, 3].tolist() == [1, 2, 3]


@pytest.mark.parametrize("count", [1, 3, 40])
@pytest.mark.parametrize("others", [[], [tcb(1, 5, 10, (0, 31))], [linear(3, 6, 20), NOTHING]])
def test_bezier_controllers_whose_keys_are_laid_out_like_linear_ones(count: int, others: list[Any]) -> None:
    """No document has their layout. The other controllers of the file are read, too."""
    keyed = [{**linear(kind, kind, 10, count), "scheme": 2} for kind in (0, 1, 2)]
    written = Scene(meshes=[mesh(b"Box", 10)], cameras=[camera(b"Eye", 20, 0)], controllers=[*keyed, *others])
    scene = load(written, A)
    plain = load(Scene(**{**vars(written), "controllers": [{**one, "scheme": 0} for one in keyed] + others}), A)
    assert not scene.issues.counts["SCENE_NO_KEYS"]
    assert scene.issues.counts["SCENE_BEZIER_SMOOTH"] == (3 if count > 1 else 0)
    channels = scene.clips[0].channels
    assert len(channels) == len(plain.clips[0].channels)
    for channel, other in zip(channels, plain.clips[0].channels, strict=True):
        np.testing.assert_array_equal(channel.track.times, other.track.times)
        np.testing.assert_array_equal(channel.track.values, other.track.values)
        assert channel.track.form is other.track.form
    assert channels[0].track.interpolation is Interpolation.BEZIER


@pytest.mark.parametrize(
    ("manner", "option", "wanted"),
    [(A, "auto", 0.5), (B, "auto", 1.0), (A, "no", 1.0), (B, "yes", 0.5)],
)
def test_global_scale_as_applied_by_the_exporters(manner: Manner, option: str, wanted: float) -> None:
    """The Flexporter scaled nodes and vertices but not position keys; nothing is scaled twice."""
    scene = Scene(meshes=[mesh(b"Box", 10), mesh(b"Still", 11)], lights=[light(b"Omni", 30)], scale=0.5)
    scene.controllers = [{"type": 0, "id": 1, "owner": 10, "scheme": 0, "keys": [(0, [8, 4, 2])]}]
    loaded = load(scene, manner, scale_position_keys=option)
    world = keyframer.pose(loaded, frames=[0]).world[0]
    np.testing.assert_allclose(world[0, :3, 3], np.array([8, 4, 2]) * wanted)
    np.testing.assert_allclose(world[1, :3, 3], [1, 2, 3])
    np.testing.assert_array_equal(loaded.meshes[0].positions, scene.meshes[0]["vertices"])
    assert loaded.clips[0].extras["uto3d"]["global_scale"] == 0.5


@pytest.mark.parametrize("scale", [0.0, float("nan"), float("inf")])
def test_an_invalid_global_scale_is_ignored(scale: float) -> None:
    scene = load(Scene(meshes=[mesh(b"Box", 10)], controllers=[tcb(0, 1, 10, (0, 0))], scale=scale), A)
    assert "DATA_SCALE_INVALID" in codes(scene)
    assert np.isfinite(keyframer.pose(scene, frames=[1]).world).all()


def test_a_camera_whose_target_is_its_child() -> None:
    scene = camera_scene()
    scene.targets[0]["parent"] = 20
    loaded = load(scene)
    assert "LINK_TARGET_CYCLE" in codes(loaded)
    assert np.isfinite(keyframer.pose(loaded, frames=[0, 1]).world).all()


@pytest.mark.parametrize("using", ["nobody", "a parent", "a controller", "a target", "a skin"])
def test_duplicate_ids(using: str) -> None:
    """Harmless while no record refers to them, ambiguous otherwise; the first record is used."""
    scene = Scene(meshes=[mesh(b"One", 10), mesh(b"Two", 10)], bones=[node(b"Upper", 50), node(b"Again", 50)])
    if using == "a parent":
        scene.meshes.append(mesh(b"Child", 11, parent=10))
    if using == "a controller":
        scene.controllers.append(tcb(0, 1, 10))
    if using == "a target":
        scene.cameras.append(camera(b"Eye", 20, 10))
    if using == "a skin":
        scene.meshes.append(mesh(b"Skin", 11, {"flags": 4, "skin": 0, "bones": [50] * 4}))
    if using == "nobody":
        assert [issue.severity.label for issue in load(scene).issues if issue.code == "LINK_DUPLICATE_ID"] == [
            "warning"
        ] * 2
        return
    with pytest.raises(keyframer.FormatError, match="LINK_DUPLICATE_ID"):
        load(scene)
    loaded = load(scene, salvage=True)
    if using == "a parent":
        assert loaded.nodes[2].parent == 0
    if using == "a controller":
        assert [channel.node for channel in loaded.clips[0].channels] == [0]
    if using == "a skin":
        assert loaded.nodes[loaded.skins[0].joints[0]].name == "Upper"


def test_sample_files_keep_their_keys() -> None:
    scene = Scene(meshes=[mesh(b"Box", 10)], controllers=[tcb(0, 5, 10, (0, 31, 5)), linear(2, 6, 10)])
    channels = load(scene).clips[0].channels
    assert [channel.track.kind for channel in channels] == ["position", "scale", "scale_axes"]
    track = channels[0].track
    assert track.flags.tolist() == [0, 31, 5]
    for name, wanted in zip(slow.COLUMNS, (0.1, 0.2, 0.3, 0.4, 0.5), strict=True):
        assert getattr(track, name)[1] == pytest.approx(wanted)
    assert track.bias[2] == pytest.approx(0.3)  # flags 5: tension and bias
    assert track.extras["uto3d"]["controller_id"] == 5  # type: ignore[index]


def test_non_finite_numbers_are_reported_and_kept() -> None:
    nan = float("nan")
    scene = Scene(
        meshes=[mesh(b"Odd", 10, SPHERE, position=(nan, 0, 0), sphere=(0, 0, 0, nan)), mesh(b"Good", 11)],
        cameras=[{**camera(b"Eye", 20), "fov": nan, "near": nan}],
        lights=[{**light(b"Spot", 31, 2), "colour": (nan, 1, 1), "cone": (nan, 40), "multiplier": nan}],
        controllers=[{"type": 0, "id": 1, "owner": 10, "scheme": 0, "keys": [(0, [nan, 0, 0]), (160, [1, 2, 3])]}],
    )
    loaded = load(scene)
    assert loaded.issues.counts["DATA_NON_FINITE"] == 8
    pose = keyframer.pose(loaded, frames=[0, 1])
    assert np.isfinite(pose.world).all()
    assert np.isfinite(pose.camera_fov_degrees).all()
    assert np.isfinite(pose.light_falloff_degrees).all()
    assert loaded.meshes[0].bounding_sphere is None
    np.testing.assert_array_equal(pose.world[0, 1, :3, 3], [1, 2, 3])
