"""Nodes that are moved, turned and resized with all of their motion: the effect on poses, pictures and files."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import keyframer
from keyframer import editing
from keyframer.curves import Interpolation, RotationForm, Track, Wrap
from keyframer.curves.rotation_forms import with_form
from keyframer.formats import format_by_name
from keyframer.formats.bridge import Merger
from keyframer.formats.kit.coordinates import in_space
from keyframer.formats.threeds.records import NamedObject
from keyframer.scene import Camera, Channel, Clip, Light, Mesh, Node, NodeKind, Scene, Skin, Space
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.scene.moving import LoadedRest
from keyframer.wire.record import Record
from tests.building.random_scenes import SUFFIXES, figures
from tests.building.scenes import one_node, rotation_matrix
from tests.formats.test_edits import content, depends_on
from tests.samples import all_samples
from tests.slow import SLOW

EXAMPLE = Path(__file__).parents[2] / "examples/windmill.3ds"
FRAMES = [0.0, 3.5, 7.0, 20.0, 33.3]
STEP = np.array([1.0, -2.0, 3.0])
AXIS, DEGREES = np.array([1.0, 2.0, 2.0]), 40.0
TURN = rotation_matrix(*(AXIS / 3 * np.sin(np.radians(DEGREES / 2))), np.cos(np.radians(DEGREES / 2)))
FACTOR = 1.5
CHANGES: dict[str, Callable[[Scene, Any], None]] = {
    "move": lambda scene, node: scene.move(node, by=STEP),
    "turn": lambda scene, node: scene.turn(node, axis=AXIS, degrees=DEGREES),
    "resize": lambda scene, node: scene.resize(node, FACTOR),
}
RELATIVE = RotationForm.AXIS_ANGLE_RELATIVE
FORMS = [form for form in RotationForm if form is not RotationForm.NONE]


def changed_locals(name: str, local: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """What a change does to matrices (..., 4, 4) relative to the parent, written out from its definition."""
    out = local.copy()
    if name == "move":
        out[..., :3, 3] += STEP
    elif name == "turn":
        out[..., :3, :3] = TURN @ out[..., :3, :3]
    else:
        out[..., :3, :3] *= FACTOR
    return out


def check_pose(name: str, number: int, before: Scene, after: Scene, clip: int = 0) -> None:
    """The local matrices of the changed node are as defined, at all times; those of all others are the same."""
    old, new = (keyframer.pose(scene, frames=FRAMES, clip=clip).local for scene in (before, after))
    wanted = old.copy()
    wanted[:, number] = changed_locals(name, old[:, number])
    aimed = [i for i, node in enumerate(before.nodes) if node.target is not None]
    kept = [i for i in range(len(before.nodes)) if i not in aimed]
    assert np.allclose(new[:, kept], wanted[:, kept], rtol=1e-9, atol=1e-9 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", CHANGES)
@settings(max_examples=60 if SLOW else 15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scene=figures(sizes=True))
def test_pose_of_random_scenes(name: str, scene: Scene) -> None:
    """Nodes of random trees, with TCB and linear keys, ease, negative scales and increments of several turns."""
    for number in range(len(scene.nodes)):
        changed = copy.deepcopy(scene)
        CHANGES[name](changed, number)
        check_pose(name, number, scene, changed)


@pytest.mark.parametrize("wrap", Wrap)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("interpolation", [Interpolation.LINEAR, Interpolation.TCB])
def test_every_form_of_rotation_keys_is_turned(interpolation: Interpolation, form: RotationForm, wrap: Wrap) -> None:
    keys = Track(
        "rotation",
        [0.0, 10.0, 15.0, 30.0],
        [[0.6, 0.0, 0.8, 0.9], [0.0, 1.0, 0.0, 2.9], [0.48, 0.6, 0.64, -1.7], [1.0, 0.0, 0.0, 1.0]],
        interpolation,
        wrap,
        RELATIVE,
        tension=[0.0, 0.5, -0.3, 0.0],
    )
    track = with_form(keys, form)
    scene = one_node(track, end=30.0)
    changed = copy.deepcopy(scene)
    changed.turn("box", AXIS, DEGREES)
    check_pose("turn", 0, scene, changed)
    turned = changed.clips[0].channels[0].track
    assert (turned.form, turned.interpolation, turned.wrap) == (form, interpolation, wrap)
    assert turned.times.tolist() == track.times.tolist()
    if form is RELATIVE:
        assert turned.values[1:, 3].tolist() == keys.values[1:, 3].tolist()  # increments keep their angles


def test_increments_of_several_turns_stay() -> None:
    turns = [[0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 1.0, 6 * np.pi], [0.0, 1.0, 0.0, -5 * np.pi]]
    scene = one_node(Track("rotation", [0.0, 10.0, 30.0], turns, form=RELATIVE), end=30.0)
    changed = copy.deepcopy(scene)
    changed.turn("box", AXIS, DEGREES)
    check_pose("turn", 0, scene, changed)
    assert np.allclose(changed.clips[0].channels[0].track.values[1:, 3], [6 * np.pi, -5 * np.pi])


@pytest.mark.parametrize("name", CHANGES)
def test_cubic_keys_and_their_tangents(name: str) -> None:
    rng = np.random.default_rng(5)
    quaternions = rng.normal(size=(3, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    values = {"position": rng.normal(size=(3, 3)), "scale": rng.uniform(0.5, 2, (3, 3)), "rotation": quaternions}
    form = {"rotation": RotationForm.QUATERNION_ABSOLUTE}
    channels = [
        Channel(
            0,
            Track(
                kind,
                [0.0, 10.0, 30.0],
                keys,
                Interpolation.CUBIC,
                form=form.get(kind, RotationForm.NONE),
                tangents_in=rng.normal(size=keys.shape) / 20,
                tangents_out=rng.normal(size=keys.shape) / 20,
            ),
        )
        for kind, keys in values.items()
    ]
    scene = Scene(nodes=[Node("box")], clips=[Clip(channels=channels, end=30.0)])
    changed = copy.deepcopy(scene)
    CHANGES[name](changed, "box")
    check_pose(name, 0, scene, changed)


@pytest.mark.parametrize("name", CHANGES)
def test_every_clip_rest_pose_and_children(name: str) -> None:
    """Two clips that share a track, a rest pose that differs from the first key, and a node without tracks."""
    path = Track("position", [0.0, 10.0], [[5.0, 0, 0], [0.0, 5, 0]])
    sizes = Track("scale", [0.0, 10.0], [[-1.0, 2, 1], [-2.0, 1, 1]])
    spin = Track("rotation", [0.0, 10.0], [[0.0, 0, 1, 1], [0.0, 0, 1, 2]], form=RELATIVE)
    clips = [Clip("a", [Channel(0, path), Channel(0, sizes), Channel(1, path)], end=10)]
    clips += [Clip("b", [Channel(0, path), Channel(0, spin)], end=10), Clip("still")]
    nodes = [Node("arm", position=[7.0, 8, 9]), Node("hand", parent=0, position=[0.0, 0, 1])]
    scene = Scene(nodes=nodes, clips=clips)
    changed = copy.deepcopy(scene)
    CHANGES[name](changed, changed.nodes[0])
    for clip in range(3):
        check_pose(name, 0, scene, changed, clip)
    assert np.allclose(changed.nodes[1].position, [0, 0, 1])


def test_arrays_that_scenes_share_are_not_changed() -> None:
    """Operations share tracks and arrays with their argument; arrays of files are read-only."""
    track = Track("position", [0.0, 10.0], [[5.0, 0, 0], [0.0, 5, 0]])
    track.values.flags.writeable = False
    scene = one_node(track, end=10.0)
    scene.move("box", by=STEP)
    assert track.values.tolist() == [[5, 0, 0], [0, 5, 0]]
    assert scene.clips[0].channels[0].track.values[0].tolist() == [6, -2, 3]


def test_damaged_keys_stay_damaged() -> None:
    """The earliest usable key is not the first; keys that are not finite stay, and nothing warns."""
    spin = Track("rotation", [0.0], [[0.0, 0, 1, 0]], form=RELATIVE)
    spin.times = np.array([np.nan, 20.0, 0.0, 10.0])
    spin.values = np.array([[0.0, 0, 1, 1], [0.0, 1, 0, 0.5], [1.0, 0, 0, 0.25], [np.nan, np.inf, 0, 1]])
    scene = one_node(spin, end=20.0)
    changed = copy.deepcopy(scene)
    changed.turn("box", AXIS, DEGREES)
    check_pose("turn", 0, scene, changed)
    values = changed.clips[0].channels[0].track.values
    assert np.isfinite(values[:3]).all()
    assert np.isnan(values[3, 0])


def skinned() -> Scene:
    skin = Skin("skin", joints=[1], inverse_bind=np.eye(4)[None], vertex_indices=[0], joint_indices=[0], weights=[1.0])
    mesh = Mesh("skin", positions=[[0.0, 0, 0]], corners=np.empty((0, 3), np.int64))
    nodes = [Node("skin", mesh=0, skin=0), Node("bone", NodeKind.BONE, 2), Node("root", NodeKind.DUMMY)]
    return Scene(nodes=nodes, meshes=[mesh], skins=[skin])


def test_skins_follow_their_bones() -> None:
    scene = skinned()
    scene.move("root", by=STEP)
    assert np.allclose(keyframer.pose(scene, frames=[0.0]).vertices("skin")[0, 0], STEP)
    for name in CHANGES:
        with pytest.raises(ValueError, match="'skin' follow the bones of its skin: change their root, 'root'"):
            CHANGES[name](scene, "skin")
    scene.nodes[2].parent = 0  # then the bones move with the node of the mesh
    scene.move("skin", by=STEP)
    assert np.allclose(keyframer.pose(scene, frames=[0.0]).vertices("skin")[0, 0], 2 * STEP)


def test_cameras_stay_aimed_and_are_not_turned() -> None:
    scene = keyframer.load(EXAMPLE)
    number, target = scene.find("Camera"), scene.find("Camera.target")
    before = keyframer.pose(scene, frames=FRAMES).world
    scene.move("Camera", by=STEP)
    after = keyframer.pose(scene, frames=FRAMES).world
    assert np.allclose(after[:, number, :3, 3], before[:, number, :3, 3] + STEP)
    view = after[:, target, :3, 3] - after[:, number, :3, 3]
    view /= np.linalg.norm(view, axis=1)[:, None]
    assert np.allclose(-after[:, number, :3, 2], view)
    for name in ("turn", "resize"):
        with pytest.raises(ValueError, match=r"'Camera' is aimed at 'Camera.target': move that node instead"):
            CHANGES[name](scene, "Camera")
    free = Scene(
        nodes=[Node("eye", NodeKind.CAMERA, camera=0), Node("sun", NodeKind.LIGHT, light=0)],
        cameras=[Camera("eye", target=(0, 5, 0))],
        lights=[Light("sun")],
    )
    with pytest.raises(ValueError, match="'eye' is aimed at a stored point: set the target of its camera"):
        free.turn("eye", AXIS, DEGREES)
    free.turn("sun", AXIS, DEGREES)
    free.cameras[0].target = None
    free.turn("eye", AXIS, DEGREES)
    assert np.allclose(keyframer.pose(free, frames=[0.0]).world[0, :, :3, :3], TURN)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda scene: scene.move("Rotor", by=(1, 2)), ValueError, r"by must be 3 finite numbers, not \(1, 2\)"),
        (lambda scene: scene.move("Rotor", by=(1, 2, np.nan)), ValueError, "by must be 3 finite numbers"),
        (lambda scene: scene.move("Rotor", by="up"), ValueError, "by must be 3 finite numbers, not 'up'"),
        (lambda scene: scene.turn("Rotor", (0, 0, 0), 5), ValueError, "axis must not be zero"),
        (lambda scene: scene.turn("Rotor", (0, 0, 1), np.inf), ValueError, "degrees must be 1 finite number"),
        (lambda scene: scene.resize("Rotor", 0), ValueError, "factor must be a positive number, not 0"),
        (lambda scene: scene.resize("Rotor", -1), ValueError, "factor must be a positive number, not -1"),
        (lambda scene: scene.move("Rotr", by=STEP), LookupError, "no node is named 'Rotr'; did you mean 'Rotor'"),
        (lambda scene: scene.move(99, by=STEP), LookupError, "node 99 does not exist: the scene has 12 nodes"),
        (lambda scene: scene.resize("Rotor", "2"), ValueError, "factor must be a positive number, not '2'"),
        (
            lambda scene: scene.resize("Rotor", (1, 2, 1)),
            ValueError,
            r"factor must be a positive number, not \(1, 2, 1",
        ),
        (lambda scene: scene.move("Rotor", by=("1", "2", "3")), ValueError, "by must be 3 finite numbers"),
        (lambda scene: scene.move(None, by=STEP), TypeError, "expected a node, its index or its name, not None"),
        (lambda scene: scene.move(1.0, by=STEP), TypeError, "expected a node, its index or its name, not a float"),
        (lambda scene: scene.move(Node("x"), by=STEP), LookupError, "the node 'x' is not in this scene"),
    ],
)
def test_impossible_changes(change: Callable[[Scene], None], error: type[Exception], words: str) -> None:
    scene = keyframer.load(EXAMPLE)
    before = copy.deepcopy(scene)
    with pytest.raises(error, match=words):
        change(scene)
    assert np.array_equal(keyframer.pose(scene, frames=FRAMES).world, keyframer.pose(before, frames=FRAMES).world)


def save(scene: Scene, path: Path, format: str) -> tuple[Scene, LossReport]:
    """Save a scene into its original, and load the file."""
    report = keyframer.save(scene, path, format=format)
    return keyframer.load(path, format=format), report


SAMPLES = [
    pytest.param(format, path, id=f"{format}-{path.name}")
    for format, path in all_samples()
    if path.name not in ("signalling-nan.anim", "bare_editor.3ds")
    and path.suffix not in (".mli", ".mdl", ".md5mesh", ".md5camera", ".mod")
    if format_by_name(format).writes_scenes and type(format_by_name(format).scene_writer().merger) is not Merger
]
"""of formats that can be written; without a joint whose orientation is no number, which is read as at rest; and without
files that cannot be edited in place: an editor section, a library, models with a bind pose only or none, MD5 cameras"""
TABLES = ("hale3d", "midtown")
NO_SCALE = ("hale3d", "midtown", "md5")


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize(("format", "path"), SAMPLES)
def test_own_format_has_the_change_and_nothing_else(format: str, path: Path, name: str, tmp_path: Path) -> None:
    """The pose of the saved file is that of the scene. Only the records of the node and of what follows it differ."""
    try:
        original = keyframer.load(path, format=format)
    except keyframer.FormatError:
        pytest.skip("a damaged sample")
    if name == "resize" and format in NO_SCALE:
        pytest.skip("the format stores no scale")
    if name == "turn" and path.suffix == ".skel":
        pytest.skip("a skeleton stores no rotations")
    for number in range(len(original.nodes) if SLOW else min(len(original.nodes), 4)):
        scene = keyframer.load(path, format=format)
        if scene.nodes[number].kind is NodeKind.AMBIENT:  # light without a place
            continue
        try:
            CHANGES[name](scene, number)
        except ValueError:  # aimed, or a skin
            continue
        check_pose(name, number, original, scene)
        folder = tmp_path / str(number)
        folder.mkdir()
        loaded, report = save(scene, folder / f"out{path.suffix}", format)
        assert not [loss for loss in report if loss.code == "ORIGINAL_REWRITTEN"], [str(loss) for loss in report]
        has_scale = original.nodes[number].kind in (NodeKind.OBJECT, NodeKind.DUMMY, NodeKind.BONE)
        if len({node.name for node in scene.nodes}) == len(scene.nodes):  # the first node with keys may come first now
            order = [loaded.find(node.name) for node in scene.nodes]
        else:
            order = list(range(len(scene.nodes)))
        wanted, got = (keyframer.pose(each, frames=FRAMES).world for each in (scene, loaded))
        got = got[:, order]
        if name == "move" or has_scale:
            assert np.allclose(got, wanted, rtol=2e-6, atol=1e-3 if format in TABLES else 1e-4)
            assert report.of(Outcome.DROPPED) == []
        if format not in TABLES:
            affected = depends_on(original, number) | ancestors(original, number)  # records may contain those below
            documents = [each.origin.document for each in (original, loaded) if each.origin is not None]
            for other, before in enumerate(original.nodes):
                if other not in affected:
                    after = loaded.nodes[order[other]]
                    assert records_of(documents[0], before) == records_of(documents[1], after), before.name


def ancestors(scene: Scene, number: int) -> set[int]:
    found: set[int] = set()
    parent = scene.nodes[number].parent
    while parent is not None:
        found.add(parent)
        parent = scene.nodes[parent].parent
    return found


def records_of(document: keyframer.Document, node: Node) -> list[object]:
    """The content of the record that a node was read from, and of the 3D Studio object with its name."""
    records = list(document.find(Record))
    own = {record.offset: record for record in records}
    offsets = [place["offset"] for place in node.extras.values() if isinstance(place, dict) and "offset" in place]
    objects = [record for record in records if isinstance(record, NamedObject) and record.name == node.raw_name]
    found = [content(record) for record in (*(own[offset] for offset in offsets), *objects)]
    assert found
    return found


WITH_MESHES = ("3ds", "uto3d", "ase", "gltf")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        *((name, format) for name in CHANGES for format in WITH_MESHES),
        *(("move", format) for format in ("hale3d", "midtown", "nodeanim")),
    ],
)
def test_every_format_has_the_change(name: str, format: str, tmp_path: Path) -> None:
    """The windmill with a changed rotor, written in every format: the first sail is where it belongs."""
    places = []
    for change in (None, CHANGES[name]):
        scene = keyframer.load(EXAMPLE)
        if change is not None:
            change(scene, "Rotor")
        path = tmp_path / f"{'after' if change else 'before'}{SUFFIXES.get(format, '.glb')}"
        keyframer.save(scene, path, format=format)
        places.append([place_of_sail(each, format) for each in (scene, keyframer.load(path, format=format))])
    (source, before), (wanted, after) = places
    assert np.abs(wanted - source).max() > 2
    assert np.allclose(after - before, wanted - source, atol=0.1)  # the mill is 100 units high


def place_of_sail(scene: Scene, format: str) -> np.ndarray[Any, Any]:
    """The centre of the first sail over time; in formats of motion the origin of the rotor."""
    turned = in_space(scene, Space("z"))
    stem = "sail1" if format in WITH_MESHES else "rotor"
    number = next(i for i, node in enumerate(scene.nodes) if node.name.lower().startswith(stem))
    posed = keyframer.pose(turned, frames=[0, 15, 30, 60])
    return posed.vertices(number).mean(axis=1) if format in WITH_MESHES else posed.world[:, number, :3, 3]


def test_picture_has_the_change() -> None:
    """A scene whose roots all moved, with its camera, gives the same picture; one without its camera another."""
    scene, moved = keyframer.load(EXAMPLE), keyframer.load(EXAMPLE)
    roots = [number for number, node in enumerate(scene.nodes) if node.parent is None]
    pictures = [np.asarray(keyframer.render(scene, frame=10))]
    for number in sorted(roots, key=lambda number: moved.nodes[number].camera is not None):
        moved.move(number, by=(0, 0, 64))
        pictures.append(np.asarray(keyframer.render(moved, frame=10)))
    assert (pictures[0] != pictures[-2]).mean() > 0.05
    assert (pictures[0] != pictures[-1]).mean() < 0.01


@pytest.mark.parametrize(
    ("field", "kind", "method"),
    [("position", "position", "move"), ("rotation_xyzw", "rotation", "turn"), ("scale", "scale", "resize")],
)
def test_assignment_that_a_track_overrides_is_not_silent(field: str, kind: str, method: str, tmp_path: Path) -> None:
    """Posing, drawing, plotting and saving warn and name the method, for assigned arrays and for changed ones."""
    words = (
        rf"the {kind} track of 'Rotor' overrides the {field} that was assigned: use scene\.{method}, or change the keys"
    )
    for in_place in (False, True):
        scene = keyframer.load(EXAMPLE)
        if kind == "scale":
            scene.clips[0].channels.append(Channel(scene.find("Rotor"), Track("scale", [0.0], [[1.0, 1, 1]])))
            scene.loaded_rest = LoadedRest.of(scene)
        node = scene.node("Rotor")
        keyframer.pose(scene, frames=[0.0])
        if in_place:
            getattr(node, field)[0] += 0.5
        else:
            setattr(node, field, getattr(node, field) + 0.5)
        calls: list[Callable[[], object]] = [
            lambda: keyframer.pose(scene, frames=[0.0]),  # noqa: B023 called below
            lambda: keyframer.render(scene, frame=0, size=16),  # noqa: B023
            lambda: keyframer.plot(scene, node="Rotor"),  # noqa: B023
            lambda: keyframer.view(scene),  # noqa: B023
            lambda: keyframer.save(scene, tmp_path / "out.3ds", overwrite=True),  # noqa: B023
            lambda: keyframer.save(scene, tmp_path / "out.glb", overwrite=True),  # noqa: B023
        ]
        for call in calls:
            with pytest.warns(UserWarning, match=words) as caught:
                call()
            assert [Path(warning.filename).name for warning in caught] == ["test_moving.py"]


def test_assignment_with_an_effect_does_not_warn(tmp_path: Path) -> None:
    """A node without a track; a track that was removed, or whose keys were changed, too; a node that was removed."""
    scene = keyframer.load(EXAMPLE)
    tower, rotor, camera = (scene.node(name) for name in ("Tower", "Rotor", "Camera"))
    before = keyframer.pose(scene, frames=[10.0]).world
    channels = scene.clips[0].channels
    channels[:] = [c for c in channels if (c.node, c.track.kind) != (scene.find("Tower"), "position")]
    tower.position = tower.position + STEP
    rotor.position = rotor.position + STEP
    for channel in scene.channels_of("Rotor"):
        if channel.track.kind == "position":
            channel.track.values = channel.track.values + STEP
    scene.move(camera, by=STEP)
    after = keyframer.pose(scene, frames=[10.0]).world
    assert np.allclose(after[:, :2, :3, 3] - before[:, :2, :3, 3], [STEP, 2 * STEP])
    keyframer.save(scene, tmp_path / "out.3ds")
    assert np.allclose(keyframer.pose(tmp_path / "out.3ds", frames=[10.0]).world, after, atol=1e-5)
    camera.position = camera.position + STEP
    scene.nodes[-1] = camera
    with pytest.warns(UserWarning, match="'Camera'"):
        keyframer.pose(scene, frames=[10.0])
    scene.nodes = [node for node in scene.nodes if node is not camera]
    keyframer.pose(scene, frames=[10.0])


def test_report_of_a_moved_node_is_exact(tmp_path: Path) -> None:
    scene = keyframer.load(EXAMPLE)
    scene.move("Rotor", by=(0, 0, 10))
    report = keyframer.save(scene, tmp_path / "out.3ds")
    assert report.summary() == "nothing lost"


def rotor_moved() -> Scene:
    """The windmill with a position that was assigned in vain."""
    scene = keyframer.load(EXAMPLE)
    scene.node("Rotor").position = scene.node("Rotor").position + STEP
    return scene


DERIVED: dict[str, Callable[[Scene], Scene]] = {
    "choose": lambda scene: editing.choose_nodes(scene, ["Rotor"]),
    "cut": lambda scene: editing.cut(scene, 10, 50),
    "reverse": editing.reverse,
    "rate": lambda scene: editing.change_rate(scene, 24),
    "scale": lambda scene: editing.scale(scene, 2),
    "axes": lambda scene: editing.change_axes(scene, up="y"),
    "unchanged": lambda scene: editing.scale(scene, 1),
    "move": lambda scene: editing.move(scene, "Tower", STEP),
    "merge": lambda scene: editing.merge(keyframer.load(EXAMPLE), scene),
}
OVERRIDES = "the position track of 'Rotor' overrides the position"


@pytest.mark.parametrize("name", DERIVED)
def test_edit_of_a_derived_scene_does_not_change_its_source(name: str) -> None:
    source = keyframer.load(EXAMPLE)
    before = keyframer.pose(source, frames=FRAMES).world
    derived = DERIVED[name](source)
    for change in CHANGES.values():
        change(derived, "Rotor")
    derived.node("Tower").position[:] += STEP
    assert np.array_equal(keyframer.pose(source, frames=FRAMES).world, before)
    assert source.node("Rotor").scale.tolist() == keyframer.load(EXAMPLE).node("Rotor").scale.tolist()
    assert source.node("Tower").position.tolist() == keyframer.load(EXAMPLE).node("Tower").position.tolist()


@pytest.mark.parametrize("name", [name for name in DERIVED if name != "merge"])
def test_operation_warns_before_and_after(name: str) -> None:
    """Of what was assigned in vain to its argument, once; and of what is assigned to its result."""
    with pytest.warns(UserWarning, match=OVERRIDES) as caught:
        derived = DERIVED[name](rotor_moved())
    assert [Path(warning.filename).name for warning in caught] == ["test_moving.py"]
    keyframer.pose(derived, frames=[0.0])
    derived.node("Rotor").position[2] += 10
    with pytest.warns(UserWarning, match=OVERRIDES):
        keyframer.pose(derived, frames=[0.0])


@pytest.mark.parametrize("name", CHANGES)
def test_changes_keep_the_warning(name: str) -> None:
    scene = rotor_moved()
    CHANGES[name](scene, "Rotor")
    with pytest.warns(UserWarning, match=OVERRIDES):
        keyframer.pose(scene, frames=[0.0])
    scene = keyframer.load(EXAMPLE)
    CHANGES[name](scene, "Rotor")
    keyframer.pose(scene, frames=[0.0])
    scene.node("Rotor").position[2] += 10
    with pytest.warns(UserWarning, match=OVERRIDES):
        keyframer.pose(scene, frames=[0.0])


def test_no_false_warnings() -> None:
    """The same rotation with other signs; tracks of another clip; a track that the user made, also if it was moved."""
    scene = keyframer.load(EXAMPLE)
    rotor = scene.node("Rotor")
    rotor.rotation_xyzw = -rotor.rotation_xyzw
    keyframer.pose(scene, frames=[0.0])
    scene.clips.append(Clip("still"))
    rotor.position = rotor.position + STEP
    still = keyframer.pose(scene, frames=[0.0], clip="still").world[0, scene.find("Rotor"), :3, 3]
    assert np.allclose(still, keyframer.load(EXAMPLE).node("Rotor").position + STEP)
    with pytest.warns(UserWarning, match=OVERRIDES):
        keyframer.pose(scene, frames=[0.0])
    for channel in scene.channels_of("Rotor"):
        if channel.track.kind == "position":
            channel.track = Track("position", [0.0, 10.0], [[0.0, 0, 0], [5.0, 0, 0]])
    keyframer.pose(scene, frames=[0.0])
    scene.move("Rotor", by=STEP)
    keyframer.pose(scene, frames=[0.0])


def test_pose_with_a_rig_does_not_check_again() -> None:
    """The rig has the values of the time when it was made."""
    scene = keyframer.load(EXAMPLE)
    rig = keyframer.Rig(scene)
    before = keyframer.pose(scene, frames=[5.0], rig=rig).world
    scene.node("Rotor").position[2] += 10
    assert np.array_equal(keyframer.pose(scene, frames=[5.0], rig=rig).world, before)


@pytest.mark.parametrize("value", [(1, 2), None, "high"])
def test_assignment_of_something_else_names_the_node(value: Any, tmp_path: Path) -> None:
    loaded = keyframer.load(EXAMPLE)
    for scene in (loaded, Scene(nodes=[Node("Tower"), Node("Rotor")])):
        scene.node("Rotor").position = value
        with pytest.raises(ValueError, match=r"Node 'Rotor': position must be (3 )?numbers, not"):
            keyframer.pose(scene, frames=[0.0])
    with pytest.raises(ValueError, match=r"Node 'Rotor': position must be (3 )?numbers, not"):
        keyframer.save(loaded, tmp_path / "out.glb")


def test_positive_angle_about_z_turns_x_towards_y() -> None:
    scene = Scene(nodes=[Node("box")])
    scene.turn("box", axis=(0, 0, 1), degrees=90)
    assert np.allclose(keyframer.pose(scene, frames=[0.0]).world[0, 0, :3, 0], [0, 1, 0])
