"""Joints and meshes that come and go in a Hale3D pair: the bytes are those that a writer of our own makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.curves import Track
from keyframer.operating import choose_nodes, cut, scale
from keyframer.scene import Channel, Mesh, Node, NodeKind, Scene, Skin
from tests.formats.hale3d import writer as w

SLEEVE = w.mesh(
    b"materials/sleeve.mat",
    [(0, 0, 0, 1), (1, 0, 1, 1), (1, 1, 2, 2), (0, 1, 4, 1)],
    [(1, 0, 0, 0, 0), (1, 1, 1, 0, 0), (0.5, 1, 1, 1, 0), (0.5, 3, 0, 1, 0), (1, 0, 0, 1, 0), (0.7, 2, 9, 9, 9)],
    [(0, 1, 2), (0, 2, 3)],
)
"""the last weight is nobody's"""


def glove(hand: int) -> bytes:
    vertices, triangle = [(0, 0, 0, 1), (0.5, 0, 1, 1), (0, 0.5, 2, 1)], [(0, 1, 2)]
    return w.mesh(
        b"materials/glove.mat",
        vertices,
        [(1, hand, 0, 0, 0), (1, hand, 1, 0, 0), (1, hand, 0, 1, 0)],
        triangle,
    )


BOUND = [
    w.model_joint(b'"root"', -1, (0, 1, 2)),
    w.model_joint(b'"arm"', 0, (0.5, 1, 2), (0, 0, 0.5)),
    w.model_joint(b'"tail"', 0, (0, 1, 3)),
    w.model_joint(b'"hand"', 1, (2, 1, 2), (0.25, 0, 0)),
]
MODEL = w.model([SLEEVE, glove(3)], BOUND, version=5) + b"model's own"


def frames(columns: Callable[[int], tuple[float, ...]], numbers: range = range(5)) -> bytes:
    return b"".join(w.frame((-1, -1, -1, 1, 1, 1 + number), columns(number)) for number in numbers)


ROOT = w.joint(b'"origin"', -1, 0b000110, 0, (0, 1, 2), (0, 0, 0, 1))
ARM = w.joint(b'"origin"', 0, 0b100000, 2, (0.5, 0, 0), (0, 0, 0.5, -0.8660254))
TAIL = w.joint(b'"origin"', 0, 0b000001, 3, (0, 0, 1), (0, 0, 0, 1))
HAND = w.joint(b'"origin"', 1, 0b001000, 4, (1.5, 0, 0), (0.25, 0, 0, -0.9682458))
ANIMATION = (
    w.header(5, 4, 6, version=3)
    + ROOT
    + ARM
    + TAIL
    + HAND
    + frames(lambda n: (0.25 * n, 2.0, 0.1 * n - 0.2, 0.3 * n, 0.125, 1000.0 + n))
)
"""the last component is nobody's"""


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    (tmp_path / "arm.anim").write_bytes(ANIMATION)
    (tmp_path / "arm.mdl").write_bytes(MODEL)
    return tmp_path / "arm.anim"


@pytest.fixture(params=[".anim", ".mdl"])
def either(pair: Path, request: pytest.FixtureRequest) -> Path:
    return pair.with_suffix(request.param)


def saved(scene: Scene, like: Path) -> tuple[bytes, bytes]:
    """Both files; they read back to what they are."""
    folder = like.parent / "out"
    folder.mkdir()
    path = folder / f"new{like.suffix}"
    report = keyframer.save(scene, path, format="hale3d")
    assert not [str(loss) for loss in report if "a new file was written" in loss.detail]
    made = path.with_suffix(".anim").read_bytes(), path.with_suffix(".mdl").read_bytes()
    keyframer.save(keyframer.load(path, format="hale3d"), path, format="hale3d", overwrite=True)
    assert (path.with_suffix(".anim").read_bytes(), path.with_suffix(".mdl").read_bytes()) == made
    for each in (".anim", ".mdl"):
        checked = keyframer.check(path.with_suffix(each), format="hale3d")
        assert not [issue for issue in checked.issues if issue.severity is keyframer.Severity.ERROR]
    return made


def load(path: Path) -> Scene:
    return keyframer.load(path, format="hale3d")


def without(scene: Scene, names: set[str]) -> Scene:
    """A scene without some nodes; skins lose what hung on them."""
    kept = [number for number, node in enumerate(scene.nodes) if node.name not in names]
    place = {number: new for new, number in enumerate(kept)}
    skins = []
    for skin in scene.skins:
        slots = [slot for slot, joint in enumerate(skin.joints) if joint in place]
        new = {slot: number for number, slot in enumerate(slots)}
        assert set(np.asarray(skin.influences).tolist()) <= set(new)
        skins.append(
            replace(
                skin,
                joints=[place[skin.joints[slot]] for slot in slots],
                inverse_bind=np.asarray(skin.inverse_bind)[slots],
                influences=np.array([new[slot] for slot in np.asarray(skin.influences).tolist()]),
            )
        )
    nodes = [scene.nodes[number] for number in kept]
    parents = [None if node.parent is None else place[node.parent] for node in nodes]
    clip = scene.clips[0]
    channels = [Channel(place[channel.node], channel.track) for channel in clip.channels if channel.node in place]
    return replace(
        scene,
        nodes=[replace(node, parent=parent) for node, parent in zip(nodes, parents, strict=True)],
        skins=skins,
        clips=[replace(clip, channels=channels)],
    )


def test_a_joint_that_goes_takes_its_column_along(either: Path) -> None:
    """All other numbers, the weight and the component that nobody reads, names and versions stay."""
    animation, model = saved(without(load(either), {"tail"}), either)
    hand = w.joint(b'"origin"', 1, 0b001000, 3, (1.5, 0, 0), (0.25, 0, 0, -0.9682458))
    columns = frames(lambda n: (0.25 * n, 2.0, 0.1 * n - 0.2, 0.125, 1000.0 + n))
    assert animation == w.header(5, 3, 5, version=3) + ROOT + ARM + hand + columns
    sleeve = w.mesh(
        b"materials/sleeve.mat",
        [(0, 0, 0, 1), (1, 0, 1, 1), (1, 1, 2, 2), (0, 1, 4, 1)],
        [(1, 0, 0, 0, 0), (1, 1, 1, 0, 0), (0.5, 1, 1, 1, 0), (0.5, 2, 0, 1, 0), (1, 0, 0, 1, 0), (0.7, 0, 9, 9, 9)],
        [(0, 1, 2), (0, 2, 3)],
    )
    assert model == w.model([sleeve, glove(2)], [BOUND[0], BOUND[1], BOUND[3]], version=5) + b"model's own"


def test_frames_and_joints_go_at_once(pair: Path) -> None:
    animation, _ = saved(cut(without(load(pair), {"tail"}), 1, 3), pair)
    hand = w.joint(b'"origin"', 1, 0b001000, 3, (1.5, 0, 0), (0.25, 0, 0, -0.9682458))
    columns = frames(lambda n: (0.25 * n, 2.0, 0.1 * n - 0.2, 0.125, 1000.0 + n), range(1, 4))
    assert animation == w.header(3, 3, 5, version=3) + ROOT + ARM + hand + columns


def tailed(scene: Scene, moving: bool) -> Scene:
    """One more joint, at the end of the tail."""
    tip = Node("tip", NodeKind.BONE, scene.nodes.index(scene.node("tail")), position=np.array([0.0, 0.5, 0.0]))
    scene.nodes.append(tip)
    if moving:
        values = np.tile([0.0, 0.5, 0.0], (5, 1))
        values[:, 2] = 0.5 * np.arange(5)
        scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, Track.sampled("position", values)))
    return scene


@pytest.mark.parametrize("moving", [False, True])
def test_a_joint_that_comes_stands_behind_the_others(moving: bool, either: Path) -> None:
    animation, model = saved(tailed(load(either), moving), either)
    flags, start = (0b000100, 6) if moving else (0, 0)
    tip = w.joint(b'"tip"', 2, flags, start, (0, 0.5, 0), (0, 0, 0, -1))
    parts = frames(
        lambda n: (0.25 * n, 2.0, 0.1 * n - 0.2, 0.3 * n, 0.125, 1000.0 + n, *((0.5 * n,) if moving else ()))
    )
    head = w.header(5, 5, 7 if moving else 6, version=3)
    assert animation == head + ROOT + ARM + TAIL + HAND + tip + parts
    bound = w.model_joint(b'"tip"', 2, (0, 1.5, 3))
    assert model == w.model([SLEEVE, glove(3)], [*BOUND, bound], version=5) + b"model's own"


def test_a_joint_between_two_others_stands_before_the_one_that_hangs_on_it(pair: Path) -> None:
    """Readers place joints one after the other: the hand moves behind the wrist, and its weights follow it."""
    scene = load(pair)
    wrist = Node("wrist", NodeKind.BONE, 1)
    scene.nodes.append(wrist)
    scene.node("hand").parent = len(scene.nodes) - 1
    animation, model = saved(scene, pair)
    document = keyframer.decode(animation, format="hale3d")
    joints = [record for record in document.walk() if type(record[1]).__name__ == "Joint"]
    assert [joint.parent for _, joint in joints] == [-1, 0, 0, 1, 3]  # type: ignore[attr-defined]
    found = keyframer.load(pair.parent / "out" / "new.anim", format="hale3d")
    assert [node.name for node in found.nodes[:5]] == ["root", "arm", "tail", "wrist", "hand"]
    assert glove(4) in model
    before, after = (keyframer.pose(each, frames=[3.0]).world[0] for each in (load(pair), found))
    for name in ("root", "arm", "tail", "hand"):
        places = [
            np.asarray(world)[each.nodes.index(each.node(name))]
            for world, each in ((before, load(pair)), (after, found))
        ]
        assert np.allclose(*places, atol=1e-5)


def test_a_mesh_that_goes(either: Path) -> None:
    scene = load(either)
    scene.nodes = [node for node in scene.nodes if node.mesh != 0]
    scene.nodes[-1] = replace(scene.nodes[-1], mesh=0, skin=0)
    del scene.meshes[0], scene.skins[0], scene.materials[0]
    scene.meshes[0].face_materials = np.zeros(1, np.int32)
    animation, model = saved(scene, either)
    assert animation == ANIMATION
    assert model == w.model([glove(3)], BOUND, version=5) + b"model's own"


def test_chosen_nodes_are_what_is_left(pair: Path) -> None:
    """A mesh is chosen by name: its joints stay, the other mesh goes; the material that nothing shows is said."""
    scene = load(pair)
    name = next(node.name for node in scene.nodes if node.mesh == 1)
    animation, model = saved(choose_nodes(scene, [name]), pair)
    assert animation == ANIMATION
    assert model == w.model([glove(3)], BOUND, version=5) + b"model's own"


def test_a_skinned_mesh_that_comes(either: Path) -> None:
    scene = load(either)
    corners = np.array([[0, 1, 2]], np.int32)
    places = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    mesh = Mesh("flag", places + np.array([0, 1, 3]), corners, uv=np.array([[0.0, 0], [1, 0], [0, 1]]))
    tail = scene.nodes.index(scene.node("tail"))
    inverse = np.eye(4)
    inverse[:3, 3] = (0, -1, -3)
    skin = Skin("flag", [tail], inverse[None], np.arange(3), np.zeros(3, np.int64), np.ones(3), places)
    scene.meshes.append(mesh)
    scene.skins.append(skin)
    scene.nodes.append(Node("flag", NodeKind.OBJECT, mesh=2, skin=2))
    animation, model = saved(scene, either)
    assert animation == ANIMATION
    flag = w.mesh(
        b"",
        [(0, 0, 0, 1), (1, 0, 1, 1), (0, 1, 2, 1)],
        [(1, 2, 0, 0, 0), (1, 2, 1, 0, 0), (1, 2, 0, 1, 0)],
        [(0, 2, 1)],
    )
    assert model == w.model([SLEEVE, glove(3), flag], BOUND, version=5) + b"model's own"


def test_an_object_that_comes_is_a_joint_and_a_mesh(tmp_path: Path) -> None:
    """Beside an animation that had no model: it gets one, and keeps all that is in it."""
    path = tmp_path / "alone.anim"
    path.write_bytes(ANIMATION)
    scene = load(path)
    places = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    scene.meshes.append(Mesh("hat", places, np.array([[0, 1, 2]], np.int32)))
    scene.nodes.append(Node("hat", NodeKind.OBJECT, 0, position=np.array([0.0, 0, 4.0]), mesh=0))
    animation, model = saved(scene, path)
    hat = w.joint(b'"hat"', 0, 0, 0, (0, 0, 4), (0, 0, 0, -1))
    parts = frames(lambda n: (0.25 * n, 2.0, 0.1 * n - 0.2, 0.3 * n, 0.125, 1000.0 + n))
    assert animation == w.header(5, 5, 6, version=3) + ROOT + ARM + TAIL + HAND + hat + parts
    cone = w.mesh(
        b"",
        [(0, 0, 0, 1), (0, 0, 1, 1), (0, 0, 2, 1)],
        [(1, 4, 0, 0, 0), (1, 4, 1, 0, 0), (1, 4, 0, 1, 0)],
        [(0, 2, 1)],
    )
    assert cone in model
    found = load(path.parent / "out" / "new.anim")
    world = np.asarray(keyframer.pose(found, frames=[2.0]).world)[0, found.nodes.index(found.node("hat"))]
    assert np.allclose(world[:3, 3], (0, 0.5, 6.0), atol=1e-5)


def test_a_file_whose_joints_stand_before_their_parents_keeps_them_so(tmp_path: Path) -> None:
    """Nobody asked for another order: one number changes, and nothing else."""
    late = w.joint(b"late", 1, 0, 0, (1, 0, 0))
    root = w.joint(b"root", -1, 0b1, 0)
    data = w.header(2, 2, 1) + late + root + frames(lambda n: (0.5 * n,), range(2))
    path = tmp_path / "late.anim"
    path.write_bytes(data)
    scene = load(path)
    out = tmp_path / "out.anim"
    keyframer.save(scene, out, format="hale3d")
    assert out.read_bytes() == data
    scene.node("late").position = np.array([2.0, 0.0, 0.0])
    keyframer.save(scene, out, format="hale3d", overwrite=True)
    assert out.read_bytes() == data.replace(late, w.joint(b"late", 1, 0, 0, (2, 0, 0)))


@pytest.mark.parametrize("edit", [False, True])
def test_either_file_of_a_pair_is_saved_as_the_other(edit: bool, either: Path) -> None:
    """The name says which is meant; both are there, and both are the originals."""
    scene = load(either)
    if edit:
        scene.node("hand").name = "fist"
    out = either.parent / ("out.mdl" if either.suffix == ".anim" else "out.anim")
    report = keyframer.save(scene, out, format="hale3d")
    assert not [str(loss) for loss in report if "a new file was written" in loss.detail]
    assert out.with_suffix(".anim").read_bytes() == ANIMATION
    assert out.with_suffix(".mdl").read_bytes() == (MODEL.replace(b"hand", b"fist") if edit else MODEL)


def test_a_model_alone_is_no_animation(tmp_path: Path) -> None:
    """Its name says which file is meant: an animation is made of it, not a model by another name."""
    (tmp_path / "alone.mdl").write_bytes(MODEL)
    keyframer.save(load(tmp_path / "alone.mdl"), tmp_path / "alone2.anim", format="hale3d")
    assert (tmp_path / "alone2.anim").read_bytes()[:4] == b"H3DA"
    assert (tmp_path / "alone2.mdl").read_bytes()[:4] == b"H3DM"


def test_twice_the_size_is_twice_the_lengths_and_nothing_else(pair: Path) -> None:
    """Turns, weights, names, versions, the component that nobody reads and the bytes behind the model stay."""
    animation, model = saved(scale(load(pair), 2.0), pair)
    root = w.joint(b'"origin"', -1, 0b000110, 0, (0, 2, 4), (0, 0, 0, 1))
    arm = w.joint(b'"origin"', 0, 0b100000, 2, (1, 0, 0), (0, 0, 0.5, -0.8660254))
    tail = w.joint(b'"origin"', 0, 0b000001, 3, (0, 0, 2), (0, 0, 0, 1))
    hand = w.joint(b'"origin"', 1, 0b001000, 4, (3, 0, 0), (0.25, 0, 0, -0.9682458))
    assert animation[: len(animation) - 240] == w.header(5, 4, 6, version=3) + root + arm + tail + hand
    table = np.frombuffer(animation[-240:], "<f4").reshape(5, 12)
    before = np.frombuffer(ANIMATION[-240:], "<f4").reshape(5, 12)
    assert np.array_equal(table, before * np.array([2] * 8 + [1, 2, 1, 1], "<f4"))
    names = [b'"root"', b'"arm"', b'"tail"', b'"hand"']
    assert model[:16] == MODEL[:16]
    assert model.endswith(b"model's own")
    assert [model.index(name) for name in names] == [MODEL.index(name) for name in names]
    assert len(model) == len(MODEL)
    found = load(pair.parent / "out" / "new.mdl")
    assert np.allclose(found.meshes[0].positions, 2 * np.asarray(load(pair).meshes[0].positions), atol=1e-5)
