"""Adding and removing joints and meshes in a Hale3D pair: the bytes equal those of an independent writer."""

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


def save(scene: Scene, like: Path) -> tuple[bytes, bytes]:
    """Save both files, check that saving them again changes nothing, and return their bytes."""
    folder = like.parent / "out"
    folder.mkdir()
    path = folder / f"new{like.suffix}"
    report = keyframer.save(scene, path, format="hale3d")
    assert not [str(loss) for loss in report if "a new file was written" in loss.detail]
    saved = path.with_suffix(".anim").read_bytes(), path.with_suffix(".mdl").read_bytes()
    keyframer.save(keyframer.load(path, format="hale3d"), path, format="hale3d", overwrite=True)
    assert (path.with_suffix(".anim").read_bytes(), path.with_suffix(".mdl").read_bytes()) == saved
    for suffix in (".anim", ".mdl"):
        checked = keyframer.check(path.with_suffix(suffix), format="hale3d")
        assert not [issue for issue in checked.issues if issue.severity is keyframer.Severity.ERROR]
    return saved


def load(path: Path) -> Scene:
    return keyframer.load(path, format="hale3d")


def without(scene: Scene, names: set[str]) -> Scene:
    """A scene without some nodes and without their influences."""
    remaining = [number for number, node in enumerate(scene.nodes) if node.name not in names]
    place = {number: new for new, number in enumerate(remaining)}
    skins = []
    for skin in scene.skins:
        slots = [slot for slot, joint in enumerate(skin.joints) if joint in place]
        new = {slot: number for number, slot in enumerate(slots)}
        assert set(np.asarray(skin.joint_indices).tolist()) <= set(new)
        skins.append(
            replace(
                skin,
                joints=[place[skin.joints[slot]] for slot in slots],
                inverse_bind=np.asarray(skin.inverse_bind)[slots],
                joint_indices=np.array([new[slot] for slot in np.asarray(skin.joint_indices).tolist()]),
            )
        )
    nodes = [scene.nodes[number] for number in remaining]
    parents = [None if node.parent is None else place[node.parent] for node in nodes]
    clip = scene.clips[0]
    channels = [Channel(place[channel.node], channel.track) for channel in clip.channels if channel.node in place]
    return replace(
        scene,
        nodes=[replace(node, parent=parent) for node, parent in zip(nodes, parents, strict=True)],
        skins=skins,
        clips=[replace(clip, channels=channels)],
    )


def test_a_removed_joint_loses_its_column(either: Path) -> None:
    """All other numbers, the weights, the unused component, names and versions are unchanged."""
    animation, model = save(without(load(either), {"tail"}), either)
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


def test_frames_and_joints_removed_at_once(pair: Path) -> None:
    animation, _ = save(cut(without(load(pair), {"tail"}), 1, 3), pair)
    hand = w.joint(b'"origin"', 1, 0b001000, 3, (1.5, 0, 0), (0.25, 0, 0, -0.9682458))
    columns = frames(lambda n: (0.25 * n, 2.0, 0.1 * n - 0.2, 0.125, 1000.0 + n), range(1, 4))
    head = w.header(3, 3, 5, version=3) + ROOT + ARM + hand
    assert animation[: len(head)] == head
    saved, wanted = (np.frombuffer(data, "<f4").reshape(3, -1)[:, :-1] for data in (animation[len(head) :], columns))
    assert np.allclose(saved, wanted, atol=1e-6)  # except a column that no joint reads


def add_joint(scene: Scene, moving: bool) -> Scene:
    """Add a joint at the end of the tail."""
    tip = Node("tip", NodeKind.BONE, scene.nodes.index(scene.node("tail")), position=np.array([0.0, 0.5, 0.0]))
    scene.nodes.append(tip)
    if moving:
        values = np.tile([0.0, 0.5, 0.0], (5, 1))
        values[:, 2] = 0.5 * np.arange(5)
        scene.clips[0].channels.append(Channel(len(scene.nodes) - 1, Track.sampled("position", values)))
    return scene


@pytest.mark.parametrize("moving", [False, True])
def test_a_new_joint_is_written_after_the_others(moving: bool, either: Path) -> None:
    animation, model = save(add_joint(load(either), moving), either)
    flags, start = (0b000100, 6) if moving else (0, 0)
    tip = w.joint(b'"tip"', 2, flags, start, (0, 0.5, 0), (0, 0, 0, -1))
    parts = frames(
        lambda n: (0.25 * n, 2.0, 0.1 * n - 0.2, 0.3 * n, 0.125, 1000.0 + n, *((0.5 * n,) if moving else ()))
    )
    head = w.header(5, 5, 7 if moving else 6, version=3)
    assert animation == head + ROOT + ARM + TAIL + HAND + tip + parts
    bound = w.model_joint(b'"tip"', 2, (0, 1.5, 3))
    assert model == w.model([SLEEVE, glove(3)], [*BOUND, bound], version=5) + b"model's own"


def test_a_new_joint_is_written_before_its_children(pair: Path) -> None:
    """Readers expect parents first: the hand moves after the wrist, and its weights follow it."""
    scene = load(pair)
    wrist = Node("wrist", NodeKind.BONE, 1)
    scene.nodes.append(wrist)
    scene.node("hand").parent = len(scene.nodes) - 1
    animation, model = save(scene, pair)
    document = keyframer.decode(animation, format="hale3d")
    joints = [record for record in document.walk() if type(record[1]).__name__ == "Joint"]
    assert [joint.parent for _, joint in joints] == [-1, 0, 0, 1, 3]  # type: ignore[attr-defined]
    loaded = keyframer.load(pair.parent / "out" / "new.anim", format="hale3d")
    assert [node.name for node in loaded.nodes[:5]] == ["root", "arm", "tail", "wrist", "hand"]
    assert glove(4) in model
    before, after = (keyframer.pose(suffix, frames=[3.0]).world[0] for suffix in (load(pair), loaded))
    for name in ("root", "arm", "tail", "hand"):
        places = [
            np.asarray(world)[suffix.nodes.index(suffix.node(name))]
            for world, suffix in ((before, load(pair)), (after, loaded))
        ]
        assert np.allclose(*places, atol=1e-5)


def test_a_removed_mesh(either: Path) -> None:
    scene = load(either)
    scene.nodes = [node for node in scene.nodes if node.mesh != 0]
    scene.nodes[-1] = replace(scene.nodes[-1], mesh=0, skin=0)
    del scene.meshes[0], scene.skins[0], scene.materials[0]
    scene.meshes[0].face_materials = np.zeros(1, np.int32)
    animation, model = save(scene, either)
    assert animation == ANIMATION
    assert model == w.model([glove(3)], BOUND, version=5) + b"model's own"


def test_choosing_a_mesh_keeps_its_joints(pair: Path) -> None:
    """A mesh is chosen by name: its joints stay, the other mesh is removed."""
    scene = load(pair)
    name = next(node.name for node in scene.nodes if node.mesh == 1)
    animation, model = save(choose_nodes(scene, [name]), pair)
    assert animation == ANIMATION
    assert model == w.model([glove(3)], BOUND, version=5) + b"model's own"


def test_a_new_skinned_mesh(either: Path) -> None:
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
    animation, model = save(scene, either)
    assert animation == ANIMATION
    flag = w.mesh(
        b"",
        [(0, 0, 0, 1), (1, 0, 1, 1), (0, 1, 2, 1)],
        [(1, 2, 0, 0, 0), (1, 2, 1, 0, 0), (1, 2, 0, 1, 0)],
        [(0, 2, 1)],
    )
    assert model == w.model([SLEEVE, glove(3), flag], BOUND, version=5) + b"model's own"


def test_a_new_object_becomes_a_joint_and_a_mesh(tmp_path: Path) -> None:
    """The animation had no model: it gets one, and its other data is unchanged."""
    path = tmp_path / "alone.anim"
    path.write_bytes(ANIMATION)
    scene = load(path)
    places = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    scene.meshes.append(Mesh("hat", places, np.array([[0, 1, 2]], np.int32)))
    scene.nodes.append(Node("hat", NodeKind.OBJECT, 0, position=np.array([0.0, 0, 4.0]), mesh=0))
    animation, model = save(scene, path)
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
    loaded = load(path.parent / "out" / "new.anim")
    world = np.asarray(keyframer.pose(loaded, frames=[2.0]).world)[0, loaded.nodes.index(loaded.node("hat"))]
    assert np.allclose(world[:3, 3], (0, 0.5, 6.0), atol=1e-5)


def test_joints_stored_before_their_parents_keep_their_order(tmp_path: Path) -> None:
    """An edit of one number changes no other byte."""
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
def test_either_file_of_a_pair_can_be_saved_as_the_other(edit: bool, either: Path) -> None:
    """The extension selects the main file; both are written, and both equal the originals."""
    scene = load(either)
    if edit:
        scene.node("hand").name = "fist"
    out = either.parent / ("out.mdl" if either.suffix == ".anim" else "out.anim")
    report = keyframer.save(scene, out, format="hale3d")
    assert not [str(loss) for loss in report if "a new file was written" in loss.detail]
    assert out.with_suffix(".anim").read_bytes() == ANIMATION
    assert out.with_suffix(".mdl").read_bytes() == (MODEL.replace(b"hand", b"fist") if edit else MODEL)


def test_a_model_saved_with_the_extension_of_an_animation(tmp_path: Path) -> None:
    """An animation and a model are written, not a model with another extension."""
    (tmp_path / "alone.mdl").write_bytes(MODEL)
    keyframer.save(load(tmp_path / "alone.mdl"), tmp_path / "alone2.anim", format="hale3d")
    assert (tmp_path / "alone2.anim").read_bytes()[:4] == b"H3DA"
    assert (tmp_path / "alone2.mdl").read_bytes()[:4] == b"H3DM"


def test_doubling_the_size_changes_only_lengths(pair: Path) -> None:
    """Rotations, weights, names, versions, the unused component and the bytes after the model are unchanged."""
    animation, model = save(scale(load(pair), 2.0), pair)
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
    scene = load(pair.parent / "out" / "new.mdl")
    assert np.allclose(scene.meshes[0].positions, 2 * np.asarray(load(pair).meshes[0].positions), atol=1e-5)
