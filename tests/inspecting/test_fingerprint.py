"""Fingerprints: equal for the same meshes and motion however they are stored, different after any small change.

The equal scenes are made by hand-written changes that keep what is seen; none uses code of the fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from keyframer import (
    Camera,
    Channel,
    Clip,
    Handedness,
    Interpolation,
    Mesh,
    Node,
    NodeKind,
    RotationForm,
    Scene,
    Skin,
    Space,
    Track,
    load,
)  # fmt: skip
from keyframer.inspecting.fingerprint import KEY_WIDTH, Fingerprint, fingerprint
from keyframer.scene import Morph
from tests.corpus import CORPUS, needs_corpus

LAST = 60
random = np.random.default_rng(7)
CUBE = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1, 1) for z in (-1, 1)])
CUBE_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]]
)  # fmt: skip
CLOUD = random.normal(size=(300, 3))
CLOUD_FACES = random.integers(0, 300, (500, 3))


def position_track(scale: float = 1.0) -> Track:
    times = np.array([0.0, 17, 30, 44, LAST])
    values = np.array([[4.0, 0, 1], [6, 2, 1], [3, 5, 2], [0, 1, 3], [4, 0, 1]]) * scale
    return Track("position", times, values, interpolation=Interpolation.LINEAR)


def turning(angle: float) -> Track:
    """A rotation about Z."""
    values = np.array([[0.0, 0, np.sin(half), np.cos(half)] for half in (0, angle / 4, angle / 2)])
    form = RotationForm.QUATERNION_ABSOLUTE
    return Track("rotation", np.array([0.0, LAST / 2, LAST]), values, form=form, interpolation=Interpolation.LINEAR)


def scene() -> Scene:
    """A moving cube with a turning child, and a mesh that stands still."""
    meshes = [Mesh("cube", CUBE, CUBE_FACES), Mesh("cloud", CLOUD, CLOUD_FACES)]
    nodes = [
        Node("mover", position=[4, 0, 1], mesh=0),
        Node("rotor", parent=0, position=[0, 0, 3], scale=[1, 2, 0.5], mesh=0),
        Node("stand", position=[-8, 1, 0], mesh=1),
        Node("eye", NodeKind.CAMERA, position=[0, -20, 3], camera=0),
    ]
    channels = [Channel(0, position_track()), Channel(1, turning(1.3))]
    return Scene(nodes, meshes, cameras=[Camera("eye")], clips=[Clip(channels=channels, end=LAST)], space=Space(up="z"))


def found(given: Scene) -> Fingerprint:
    result = fingerprint(given)
    assert result is not None
    return result


def renamed(given: Scene) -> Scene:
    for number, part in enumerate([*given.nodes, *given.meshes]):
        part.name = f"part {number}"
    return given


def reordered(given: Scene) -> Scene:
    order = [2, 3, 0, 1]
    at = {old: new for new, old in enumerate(order)}
    given.nodes = [
        replace(node, parent=None if node.parent is None else at[node.parent])
        for node in (given.nodes[old] for old in order)
    ]
    given.clips[0].channels = [Channel(at[channel.node], channel.track) for channel in given.clips[0].channels[::-1]]
    return given


def with_own_vertices(given: Scene) -> Scene:
    """Every face has its own vertices, in another order, as writers of glTF store them."""
    for mesh in given.meshes:
        faces = mesh.corners[::-1][:, [1, 2, 0]]
        mesh.positions = mesh.positions[faces.ravel()]
        mesh.corners = np.arange(faces.size).reshape(-1, 3)
    return given


def with_pivot(given: Scene) -> Scene:
    given.meshes.append(Mesh("shifted", CUBE + np.array([5.0, 6, 7]), CUBE_FACES))
    given.nodes[1] = replace(given.nodes[1], mesh=2, pivot=[5, 6, 7])
    return given


def rounded(given: Scene) -> Scene:
    for mesh in given.meshes:
        mesh.positions = np.round(mesh.positions, 4)
    return given


def resampled(given: Scene) -> Scene:
    """A key for each frame."""
    track, frames = given.clips[0].channels[0].track, np.arange(LAST + 1.0)
    values = np.column_stack([np.interp(frames, track.times, column) for column in track.values.T])
    given.clips[0].channels[0] = Channel(0, Track("position", frames, values, interpolation=Interpolation.LINEAR))
    return given


def in_seconds(given: Scene) -> Scene:
    clip = given.clips[0]
    clip.channels = [Channel(c.node, replace(c.track, times=c.track.times / 30)) for c in clip.channels]
    clip.end, clip.rate, clip.unit, clip.units_per_frame = LAST / 30, 1.0, "second", 1 / 30
    return given


def left_handed(given: Scene) -> Scene:
    """Mirrored along Y, and said so."""
    mirror = np.array([1.0, -1, 1])
    given.space = Space(up="z", handedness=Handedness.LEFT)
    for mesh in given.meshes:
        mesh.positions = mesh.positions * mirror
    given.nodes = [replace(node, position=node.position * mirror) for node in given.nodes]
    track, turn = (channel.track for channel in given.clips[0].channels)
    given.clips[0].channels = [
        Channel(0, replace(track, values=track.values * mirror)),
        Channel(1, replace(turn, values=turn.values * np.array([1.0, 1, -1, 1]))),
    ]
    return given


EQUAL = (renamed, reordered, with_own_vertices, with_pivot, rounded, resampled, in_seconds, left_handed)


@pytest.mark.parametrize("change", EQUAL, ids=lambda change: change.__name__)
def test_the_same_content_stored_otherwise_matches(change: Callable[[Scene], Scene]) -> None:
    before, after = found(scene()), found(change(deepcopy(scene())))
    assert before.matches(after)
    assert after.matches(before)
    assert max(np.abs(np.subtract(before.key, after.key))) <= KEY_WIDTH


def vertex_moved(given: Scene) -> None:
    positions = np.array(given.meshes[1].positions)
    positions[given.meshes[1].corners[7, 0]] += [0, 0.1, 0]  # 0.5 % of the size
    given.meshes[1].positions = positions


def corner_of_cube_moved(given: Scene) -> None:
    positions = np.array(given.meshes[0].positions)
    positions[3] += [0.01, 0, 0]
    given.meshes[0].positions = positions


def key_moved(given: Scene) -> None:
    values = np.array(given.clips[0].channels[0].track.values)
    values[2] += [0, 0, 0.1]
    given.clips[0].channels[0].track.values = values


def key_later(given: Scene) -> None:
    given.clips[0].channels[0].track.times = np.array([0.0, 17, 32, 44, LAST])


def one_of_many_keys(given: Scene) -> None:
    resampled(given)
    values = np.array(given.clips[0].channels[0].track.values)
    values[23] += [0.5, 0, 0]
    given.clips[0].channels[0].track.values = values


def turned_further(given: Scene) -> None:
    """By the symmetry of a cube, only the way there tells the difference."""
    given.clips[0].channels[1] = Channel(1, turning(1.3 + np.pi))


def hidden(given: Scene) -> None:
    given.nodes[2].hidden = True


def slower(given: Scene) -> None:
    clip = given.clips[0]
    clip.channels = [Channel(c.node, replace(c.track, times=c.track.times * 2)) for c in clip.channels]
    clip.end = 2 * LAST


def larger(given: Scene) -> None:
    for mesh in given.meshes:
        mesh.positions = mesh.positions * 1.001


def face_missing(given: Scene) -> None:
    given.meshes[1].corners = given.meshes[1].corners[1:]


DIFFERENT = (
    *(vertex_moved, corner_of_cube_moved, key_moved, key_later, one_of_many_keys, turned_further, hidden, slower),
    *(larger, face_missing),
)


@pytest.mark.parametrize("change", DIFFERENT, ids=lambda change: change.__name__)
def test_a_small_change_does_not_match(change: Callable[[Scene], None]) -> None:
    changed = deepcopy(scene())
    change(changed)
    assert not found(scene()).matches(found(changed))


def test_a_camera_that_moves_otherwise_is_noticed_apart_from_the_meshes() -> None:
    changed = deepcopy(scene())
    changed.nodes[3].position = np.array([0.0, -20, 4])
    assert found(scene()).matches(found(changed))
    assert not found(scene()).has_same_views(found(changed))
    assert found(scene()).has_same_views(found(renamed(deepcopy(scene()))))


def skinned_scene(angle: float) -> Scene:
    """A strip of triangles, half of which follows a turning joint."""
    points = np.array([[x, y, 0.0] for x in range(9) for y in (0, 1)])
    faces = np.array([[i, i + 1, i + 2] for i in range(16)])
    nodes = [Node("skin", mesh=0, skin=0), Node("a", NodeKind.BONE), Node("b", NodeKind.BONE, position=[4, 0, 0])]
    binds = np.tile(np.eye(4), (2, 1, 1))
    binds[1, 0, 3] = -4
    joints = (points[:, 0] > 4).astype(int)
    skin = Skin("skin", [1, 2], binds, np.arange(len(points)), joints, np.ones(len(points)))
    return Scene(
        nodes, [Mesh("strip", points, faces)], skins=[skin], clips=[Clip("", [Channel(2, turning(angle))], 0, LAST)]
    )


def test_a_skinned_mesh_moves_as_its_joints_do() -> None:
    assert found(skinned_scene(1.0)).matches(found(skinned_scene(1.0)))
    assert not found(skinned_scene(1.0)).matches(found(skinned_scene(1.02)))


def test_a_negative_weight_does_not_prevent_a_fingerprint() -> None:
    negative = skinned_scene(1.0)
    skin = negative.skins[0]
    vertices, joints = np.append(skin.vertex_indices, [0, 17]), np.append(skin.joint_indices, [1, 0])
    weights = np.append(skin.weights, [-7.5, -8.5])  # the weights of each joint still have a positive sum
    negative.skins[0] = Skin("skin", [1, 2], skin.inverse_bind, vertices, joints, weights)
    assert found(negative).matches(found(negative))
    assert found(negative).seconds > 0


def test_a_skin_without_influences_does_not_move() -> None:
    empty = skinned_scene(1.0)
    empty.skins[0] = Skin("skin", [1, 2], empty.skins[0].inverse_bind, [], [], [])
    assert found(empty).seconds == 0
    assert not found(empty).matches(found(skinned_scene(1.0)))


def test_morphing_is_motion() -> None:
    def morphing(weight: float) -> Scene:
        shapes = Morph(["rest", "wide"], [CUBE, CUBE * [2, 1, 1] + [1, 0, 0]])
        weights = np.array([[1.0, 0], [1 - weight, weight]])
        track = Track("morph", np.array([0.0, LAST]), weights, interpolation=Interpolation.LINEAR)
        return Scene(
            [Node("box", mesh=0, morph=shapes)],
            [Mesh("cube", CUBE, CUBE_FACES)],
            clips=[Clip("", [Channel(0, track)], 0, LAST)],
        )

    assert found(morphing(0.5)).matches(found(morphing(0.5)))
    assert not found(morphing(0.5)).matches(found(morphing(0.52)))


def test_a_scene_without_meshes_is_its_motion() -> None:
    def skeleton(scale: float) -> Scene:
        nodes = [Node("hip", NodeKind.BONE), Node("knee", NodeKind.BONE, parent=0, position=[0, 0, -2])]
        return Scene(nodes, clips=[Clip("", [Channel(0, position_track(scale))], 0, LAST)])

    assert found(skeleton(1)).matches(found(renamed(skeleton(1))))
    assert not found(skeleton(1)).matches(found(skeleton(1.001)))


def test_a_scene_without_meshes_and_motion_has_no_fingerprint() -> None:
    assert fingerprint(Scene()) is None
    assert fingerprint(Scene([Node("a", NodeKind.DUMMY), Node("b", NodeKind.DUMMY, position=[1, 2, 3])])) is None


def test_the_size_of_a_scene_with_one_point_is_not_the_rounding_of_its_matrix() -> None:
    half = np.sin(0.35), np.cos(0.35)
    turned = [half[0] * 0.6, half[0] * 0.8, 0, half[1]]
    only = Scene([Node("eye", NodeKind.CAMERA, position=[0.1, 3e3, -0.7], rotation_xyzw=turned, camera=0)])
    only.cameras = [Camera("eye")]
    assert found(only).size == 1.0


def test_a_fingerprint_can_be_stored() -> None:
    stored = found(scene()).to_bytes()
    assert Fingerprint.from_bytes(stored).matches(found(scene()))
    assert len(stored) < 2_000
    for damaged in (b"", stored[:-1], stored + b"\0", b"\xff" * len(stored)):
        with pytest.raises(ValueError, match="damaged"):
            Fingerprint.from_bytes(damaged)


@needs_corpus
@pytest.mark.parametrize("name", ["CameraRollAnim", "TargetCameraAnim"])
def test_real_twins_in_two_formats_match(name: str) -> None:
    """Exported by 3ds Max as 3DS and as ASE; the two cameras of these scenes move, the mesh is the same in all."""
    one, other = CORPUS / "ase" / f"assimp__{name}.ase", CORPUS / "3ds" / f"assimp__assimp__{name}.3ds"
    assert found(load(one)).matches(found(load(other)))
    assert not found(load(one)).matches(found(load(CORPUS / "3ds" / "assimp__assimp__RotatingCube.3DS")))
