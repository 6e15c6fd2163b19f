"""Posed vertices of rigid and weighted skins, with and without stored positions, compared with sums in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import keyframer
from keyframer.curves import Interpolation, RotationForm, Track
from keyframer.scene import Channel, Clip, Mesh, Morph, Node, NodeKind, Scene, Skin
from tests.posing import plain
from tests.reference_curves.slow import SlowTrack

POINTS = [[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [2.0, 0.0, 1.0], [3.0, -1.0, 0.5], [9.0, 9.0, 9.0]]
FRAMES = [0.0, 2.5, 10.0, 14.0, 30.0]
TURNS = [[0.0, 0.0, 1.0, 0.5], [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0]]
PLACES = [[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 3.0]]


def bones() -> tuple[list[Node], Clip, list[tuple[SlowTrack, SlowTrack]]]:
    """A chain of two bones that rotate and slide."""
    nodes = [Node("upper", NodeKind.BONE), Node("lower", NodeKind.BONE, parent=0)]
    channels, slow = [], []
    for bone in range(2):
        places = [[x + bone for x in place] for place in PLACES]
        channels.append(Channel(bone, Track("position", [0, 10, 20], places, Interpolation.TCB)))
        turning = Track("rotation", [0, 10, 20], TURNS, Interpolation.TCB, form=RotationForm.AXIS_ANGLE_RELATIVE)
        channels.append(Channel(bone, turning))
        times = [0.0, 10.0, 20.0]
        slow.append((SlowTrack(times, places), SlowTrack(times, TURNS, form="AXIS_ANGLE_RELATIVE")))
    return nodes, Clip("walk", channels, 0, 20), slow


def bone_worlds(slow: list[tuple[SlowTrack, SlowTrack]], frame: float) -> list[plain.Matrix]:
    upper = plain.local(frame, *slow[0])
    return [upper, plain.product(upper, plain.local(frame, *slow[1]))]


BIND = [plain.translation([0.5, 0.0, -1.0]), plain.product(plain.turn([0, 0, 1], 0.3), plain.translation([0, 2, 0]))]
INFLUENCES = [(0, 0, 1.0), (1, 0, 0.25), (1, 1, 0.75), (2, 0, 2.0), (2, 1, 2.0), (3, 1, 0.5)]  # vertex 4 has none


def skinned_scene(influences: list[tuple[int, int, float]], positions: list[list[float]] | None = None) -> Scene:
    nodes, clip, _ = bones()
    skin = Skin(
        "body",
        joints=[0, 1],
        inverse_bind=np.array(BIND),
        vertex_indices=np.array([vertex for vertex, _, _ in influences]),
        joint_indices=np.array([joint for _, joint, _ in influences]),
        weights=np.array([weight for _, _, weight in influences]),
        positions=None if positions is None else np.array(positions),
    )
    mesh = Mesh("body", np.array(POINTS), np.array([[0, 1, 2]]))
    nodes.append(Node("body", mesh=0, skin=0, position=np.array([100.0, 0.0, 0.0])))
    return Scene(nodes=nodes, meshes=[mesh], skins=[skin], clips=[clip])


@pytest.mark.parametrize("own_positions", [False, True], ids=["bound", "stored positions"])
@pytest.mark.parametrize("rigid", [False, True], ids=["weighted", "rigid"])
def test_vertices_follow_their_bones(rigid: bool, own_positions: bool) -> None:
    influences = [(v, v % 2, 1.0) for v in range(5)] if rigid else INFLUENCES
    positions = [[0.1 * i, 0.2, -0.3 * i] for i in range(len(influences))] if own_positions else None
    vertices = keyframer.pose(skinned_scene(influences, positions), frames=FRAMES).vertices(2)
    slow = bones()[2]
    for index, frame in enumerate(FRAMES):
        worlds = bone_worlds(slow, frame)
        for vertex, point in enumerate(POINTS):
            influences_of_vertex = [
                (i, joint, weight) for i, (v, joint, weight) in enumerate(influences) if v == vertex
            ]
            total = sum(weight for _, _, weight in influences_of_vertex)
            expected = [0.0, 0.0, 0.0]
            for i, joint, weight in influences_of_vertex:
                if positions is None:
                    placed = plain.transform_point(plain.product(worlds[joint], BIND[joint]), point)
                else:
                    placed = plain.transform_point(worlds[joint], positions[i])
                expected = [x + weight / total * y for x, y in zip(expected, placed, strict=True)]
            np.testing.assert_allclose(
                vertices[index, vertex], expected if influences_of_vertex else point, rtol=0, atol=1e-9
            )


def test_posing_does_not_change_the_weights() -> None:
    scene = skinned_scene(INFLUENCES)
    keyframer.pose(scene, frames=[0]).vertices(2)
    assert scene.skins[0].weights.tolist() == [weight for _, _, weight in INFLUENCES]


def test_a_skin_on_a_morphed_mesh() -> None:
    """Shapes are blended first, then moved by the bones."""
    scene = skinned_scene([(v, 0, 1.0) for v in range(5)])
    shapes = [np.array(POINTS), np.array(POINTS) + 1.0]
    scene.nodes[2].morph = Morph(["a", "b"], shapes)
    weights = Track("morph", [0, 30], [[1.0, 0.0], [0.0, 1.0]], Interpolation.LINEAR)
    scene.clips[0].channels.append(Channel(2, weights))
    posed = keyframer.pose(scene, frames=FRAMES)
    for index, frame in enumerate(FRAMES):
        matrix = plain.product(bone_worlds(bones()[2], frame)[0], BIND[0])
        expected = [plain.transform_point(matrix, [x + frame / 30 for x in point]) for point in POINTS]
        np.testing.assert_allclose(posed.vertices(2)[index], expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(posed.morph_weights[2][index], [1 - frame / 30, frame / 30], atol=1e-12)


def test_a_node_without_a_mesh_has_no_vertices() -> None:
    posed = keyframer.pose(Scene(nodes=[Node("empty")]), frames=[0, 1])
    assert posed.vertices(0).shape == (2, 0, 3)
