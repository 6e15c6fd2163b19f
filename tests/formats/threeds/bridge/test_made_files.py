"""Generated files for cases that no real file has, compared with poses in plain Python (`tests.posing.plain`)."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.formats.threeds import records as r
from keyframer.scene import NodeKind, Scene
from tests.building import threeds_records as make
from tests.building.gltf import glb, split_glb
from tests.posing import plain
from tests.reference_curves.slow import evaluate

FRAMES = [-7.0, -1.0, 0.0, 0.5, 3.0, 9.99, 10.0, 14.5, 20.0, 23.0, 30.0, 31.0, 47.5, 60.0, 95.0]
PLACES = [[0, 0, 0], [10, 2, -3], [4, 8, 1], [-5, 1, 9]]
TURNS = [[0.4, 0, 0, 1], [1.1, 1, 0, 0], [2.5, 0, 3, 4], [0.7, 1, 1, 1]]
SIZES = [[1, 1, 1], [2, 0.5, 1], [1, 1, 3], [0.25, 2, 1]]
TIMES = [0, 10, 20, 30]
SHAPES = {"tension": 0.6, "continuity": -0.4, "bias": 0.7, "ease_to": 0.35, "ease_from": 0.8}


def close(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
    expected = np.array(expected)
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * size)


def worlds(scene: Scene, name: str, frames: list[float] = FRAMES) -> Any:
    number = next(index for index, node in enumerate(scene.nodes) if node.name == name)
    return keyframer.pose(scene, frames=frames).world[:, number]


def three(times: list[int] = TIMES, flags: int = 0, **shape: Any) -> list[r.Track]:
    """Position, rotation and scale with the same flags."""
    shape = {name: [value] * len(times) for name, value in shape.items()}
    values = {"position": PLACES, "rotation": TURNS, "scale": SIZES}
    return [make.track(kind, times, rows[: len(times)], flags, **shape) for kind, rows in values.items()]


def expect_three(tracks: list[r.Track], frames: list[float] = FRAMES) -> list[plain.Matrix]:
    return [plain.local(frame, *map(make.as_slow_track, tracks)) for frame in frames]


@pytest.mark.parametrize("bits", range(32), ids=lambda bits: f"{bits:05b}")
def test_every_combination_of_the_five_spline_flags(bits: int) -> None:
    shape = {name: value for bit, (name, value) in enumerate(SHAPES.items()) if bits >> bit & 1}
    tracks = three(**shape)
    assert {int(flag) for track in tracks for flag in track.keys.flags} == {bits}  # type: ignore[attr-defined]
    scene = make.load([], [make.node("object", "Box", 0, *tracks)])
    close(worlds(scene, "Box"), expect_three(tracks))


@pytest.mark.parametrize("flags", [0, 1, 2, 3, 0x40, 0x42, 0x43, 0x3BC], ids=hex)
def test_repeat_and_loop_bits(flags: int) -> None:
    """2 repeats, 3 loops; 1 alone plays once, and the other bits are ignored."""
    tracks = three(flags=flags, bias=0.3)
    close(worlds(make.load([], [make.node("object", "Box", 0, *tracks)]), "Box"), expect_three(tracks))


def test_repeat_jumps_to_the_start_and_loop_is_smooth() -> None:
    tracks = [make.track("position", [0, 10, 20], [[0, 0, 0], [10, 0, 0], [0, 0, 0]], flags) for flags in (2, 3)]
    scene = make.load([], [make.node("object", str(i), i, track) for i, track in enumerate(tracks)])
    frames = np.array([19.999, 20.0, 20.001, 25.0, 5.0])
    repeat, loop = (worlds(scene, str(i), frames.tolist())[:, 0, 3] for i in (0, 1))
    assert repeat[3] == repeat[4]
    assert loop[3] == loop[4]
    speed = [(loop[1] - loop[0]) / 0.001, (loop[2] - loop[1]) / 0.001]
    assert abs(speed[0] - speed[1]) < 1e-2  # the same speed before and after the seam
    assert (repeat[1] - repeat[0]) * (repeat[2] - repeat[1]) < 0  # but a corner without a loop


@pytest.mark.parametrize("degrees", [200, 359, 360, 540, 720, 1000, -540])
def test_several_turns_between_two_keys(degrees: float) -> None:
    """The angle of the wheel is interpolated like a number, not by the shortest way."""
    stored = make.track("rotation", [0, 10, 20, 30], [[0, 0, 0, 1]] + [[math.radians(degrees), 0, 0, 1]] * 3)
    scene = make.load([], [make.node("object", "Wheel", 0, stored)])
    close(worlds(scene, "Wheel"), [plain.local(frame, None, make.as_slow_track(stored)) for frame in FRAMES], 1e-7)
    angle = math.radians(float(np.float32(degrees)))
    inner = worlds(scene, "Wheel", [12.5])[0]  # evenly spaced equal rotations: constant speed between keys
    close(inner, plain.turn([0, 0, 1], -1.25 * angle), 1e-5)


def test_at_equal_times_the_later_key_is_used() -> None:
    tracks = three([0, 10, 10, 30])
    scene = make.load([], [make.node("object", "Box", 0, *tracks)])
    close(worlds(scene, "Box"), expect_three(tracks))
    close(worlds(scene, "Box", [10.0])[0][:3, 3], PLACES[2])
    assert not scene.issues.counts["DATA_KEYS_NOT_INCREASING"]  # two keys at one time are a jump


@pytest.mark.parametrize("times", [[-20, -5, 3, 40], [-30, -20, -10, -1], [5, 15, 25, 35]])
@pytest.mark.parametrize("flags", [0, 2, 3])
def test_keys_before_and_after_zero(times: list[int], flags: int) -> None:
    tracks = three(times, flags)
    close(worlds(make.load([], [make.node("object", "Box", 0, *tracks)]), "Box"), expect_three(tracks))


def test_unsorted_keys_are_sorted_with_their_increments() -> None:
    tracks = three([20, 0, 30, 10])
    close(worlds(make.load([], [make.node("object", "Box", 0, *tracks)]), "Box"), expect_three(tracks))


def test_parents_stored_after_children_and_dummies() -> None:
    child, middle, root = three(), three(tension=0.5), three(continuity=0.5)
    scene = make.load(
        [],
        [
            make.node("object", "Child", 7, *child, parent=30),
            make.node("object", "$$$DUMMY", 30, r.InstanceName(name=b"Middle"), *middle, parent=2),
            make.node("object", "$$$DUMMY", 2, r.BoundBox((-1.0, -2.0, -3.0), (1.0, 2.0, 3.0)), *root),
        ],
    )
    assert [(node.name, node.kind, node.parent) for node in scene.nodes] == [
        ("Child", NodeKind.OBJECT, 1),
        ("Middle", NodeKind.DUMMY, 2),
        ("$$$DUMMY", NodeKind.DUMMY, None),
    ]
    expected = []
    for frame in FRAMES:
        a, b, c = (plain.local(frame, *map(make.as_slow_track, node_tracks)) for node_tracks in (root, middle, child))
        expected.append(plain.product(plain.product(a, b), c))
    close(worlds(scene, "Child"), expected)
    low, high = scene.nodes[2].bounding_box or (None, None)
    assert np.array_equal(low, [-1, -2, -3])
    assert np.array_equal(high, [1, 2, 3])


def test_missing_tracks_are_the_identity() -> None:
    empty = r.ScaleTrack(flags=3)
    scene = make.load(
        [],
        [
            make.node("object", "Bare", 0),
            make.node("object", "Empty", 1, empty),
            make.node("object", "Moved", 2, make.track("position", [0], [[1, 2, 3]]), parent=1),
        ],
    )
    close(worlds(scene, "Bare"), [plain.identity()] * len(FRAMES))
    close(worlds(scene, "Empty"), [plain.identity()] * len(FRAMES))
    close(worlds(scene, "Moved"), [plain.translation([1, 2, 3])] * len(FRAMES))


def test_nodes_without_an_id_are_numbered_without_the_ambient_light() -> None:
    at = [make.track("position", [0], [[x, 0, 0]]) for x in (1, 10, 100)]
    scene = make.load(
        [],
        [
            make.node("ambient", "$AMBIENT$", -1),
            make.node("object", "A", None, at[0]),
            make.node("object", "B", None, at[1], parent=0),
            make.node("object", "C", None, at[2], parent=1),
        ],
    )
    assert worlds(scene, "C", [0.0])[0, 0, 3] == 111


def test_one_mesh_of_several_nodes() -> None:
    """Instances share the mesh; each is placed by its own node."""
    places = [[0, 0, 0], [5, 0, 0], [0, 7, 0]]
    nodes = [make.node("object", "Box", 0, make.track("position", [0], [places[0]]))]
    nodes += [
        make.node("object", "Box", i, r.InstanceName(name=name), make.track("position", [0, 9], [places[i], places[i]]))
        for i, name in ((1, b"left"), (2, b"right"))
    ]
    scene = make.load([make.mesh("Box")], nodes, geometry="keyframer")
    assert [node.name for node in scene.nodes] == ["Box", "Box.left", "Box.right"]
    assert len(scene.meshes) == 1
    assert {node.mesh for node in scene.nodes} == {0}
    posed = keyframer.pose(scene, frames=[0])
    for number, place in enumerate(places):
        close(posed.vertices(number)[0], np.array(make.TRIANGLE) + place)


def test_meshes_without_a_node_keep_their_position() -> None:
    matrix = [[0, 1, 0], [-1, 0, 0], [0, 0, 1], [5, 6, 7]]
    scene = make.load(
        [make.mesh("Box", matrix=matrix), make.mesh("Box"), make.mesh("Lost")], [make.node("object", "Box", 0)]
    )
    assert sorted(node.name for node in scene.nodes) == ["Box", "Box.2", "Lost"]
    posed = keyframer.pose(scene, frames=[0])
    for number, node in enumerate(scene.nodes):
        if node.name in ("Box.2", "Lost"):
            close(posed.vertices(number)[0], make.TRIANGLE)


MIRRORED = [[-2, 0, 0], [0, 1, 0], [0, 0, 1], [3, 4, 5]]
TURNED = [[0, 2, 0], [-2, 0, 0], [0, 0, 2], [3, 4, 5]]


@pytest.mark.parametrize("matrix", [MIRRORED, TURNED], ids=["mirrored", "turned"])
def test_pivots_and_mirrored_matrices(matrix: list[list[float]]) -> None:
    """N . T(-pivot) . F . M^-1 . v; pivot and mirroring do not affect children."""
    tracks, below = three(), [make.track("position", [0], [[1, 1, 1]])]
    pivot = [0.5, -1.0, 2.0]
    scene = make.load(
        [make.mesh("Box", matrix=matrix), make.mesh("Child")],
        [
            make.node("object", "Box", 0, r.Pivot(pivot=tuple(pivot)), *tracks),
            make.node("object", "Child", 1, *below, parent=0),
        ],
        geometry="keyframer",
    )
    object_matrix = plain.identity()
    for j in range(4):
        for i in range(3):
            object_matrix[i][j] = float(matrix[j][i])
    to_local = plain.inverse(object_matrix)
    if matrix is MIRRORED:
        to_local[0] = [-x for x in to_local[0]]
    posed = keyframer.pose(scene, frames=FRAMES)
    for index, frame in enumerate(FRAMES):
        world = plain.local(frame, *map(make.as_slow_track, tracks))
        vertex_matrix = plain.product(plain.product(world, plain.translation([-x for x in pivot])), to_local)
        close(posed.vertices(0)[index], [plain.transform_point(vertex_matrix, point) for point in make.TRIANGLE], 1e-6)
        under = plain.product(world, plain.translation([1, 1, 1]))
        close(posed.vertices(1)[index], [plain.transform_point(under, point) for point in make.TRIANGLE])


def test_camera_with_roll_and_its_children() -> None:
    eye = make.track("position", TIMES, [[0, -10, 5], [10, 0, 6], [0, 10, 2], [-10, 0, 8]])
    goal = make.track("position", [0, 30], [[0, 0, 0], [1, 2, 3]])
    roll = make.track("roll", TIMES, [[0], [30], [-77.25], [364]])
    fov = make.track("fov", TIMES, [[48], [30], [90], [60]])
    held = make.track("position", [0], [[0, 0, -4]])
    scene = make.load(
        [make.camera("Cam", (9, 9, 9), (0, 0, 0), bank=12.0, lens=24.0)],
        [
            make.node("camera", "Cam", 0, eye, fov, roll),
            make.node("camera target", "Cam", 1, goal),
            make.node("object", "Held", 2, held, parent=0),
        ],
    )
    assert scene.nodes[0].target == 1
    assert scene.cameras[0].fov_degrees == 100  # 2400 / lens
    posed = keyframer.pose(scene, frames=FRAMES)
    for index, frame in enumerate(FRAMES):
        place, target = (evaluate(make.as_slow_track(track), frame, [0.0] * 3) for track in (eye, goal))
        degrees = evaluate(make.as_slow_track(roll), frame, [0.0])[0]
        expected = plain.look_at(place, target, degrees)
        close(posed.world[index, 0], expected)
        close(posed.world[index, 2], plain.product(expected, plain.translation([0, 0, -4])))
        close(posed.camera_fov_degrees[index, 0], evaluate(make.as_slow_track(fov), frame, [0.0])[0])


@pytest.mark.parametrize("ways", [(), ("a.3ds",), ("a.u3d",), ("a.glb",), ("a.glb", "b.3ds"), ("a.u3d", "b.3ds")])
def test_a_positive_roll_turns_the_camera_clockwise_in_every_output(tmp_path: Path, ways: tuple[str, ...]) -> None:
    """The camera is aimed along Y. A point above the line of sight is at the top of the picture; after 90 degrees,
    on the left.
    """
    scene = make.load(
        [make.camera("Cam", (0, -10, 0), (0, 0, 0)), make.mesh("Box", [[0, 0, 2], [1, 0, 2], [0, 1, 2]])],
        [
            make.node("camera", "Cam", 0, make.track("position", [0], [[0, -10, 0]]), quarter_roll()),
            make.node("camera target", "Cam", 1, make.track("position", [0], [[0, 0, 0]])),
            make.node("object", "Box", 2),
        ],
    )
    for name in ways:
        keyframer.save(scene, tmp_path / name)
        if name.endswith(".glb"):  # without our extras: the camera is rotated, and has no target
            (tmp_path / name).write_bytes(glb(*without_extras((tmp_path / name).read_bytes())))
        scene = keyframer.load(tmp_path / name)
    numbers = [next(i for i, node in enumerate(scene.nodes) if getattr(node, part) == 0) for part in ("camera", "mesh")]
    posed = keyframer.pose(scene, [0.0, 1.0])
    seen = [
        (np.linalg.inv(camera) @ [*points[0], 1.0])[:2]
        for camera, points in zip(posed.world[:, numbers[0]], posed.vertices(numbers[1]), strict=True)
    ]
    close(seen, [[0, 2], [-2, 0]], 1e-3)


def test_spot_lights_roll_like_cameras() -> None:
    scene = make.load(
        [make.spot("Lamp", (0, -10, 0), (0, 0, 0))],
        [
            make.node("spot", "Lamp", 0, make.track("position", [0], [[0, -10, 0]]), quarter_roll()),
            make.node("spot target", "Lamp", 1, make.track("position", [0], [[0, 0, 0]])),
        ],
    )
    close(worlds(scene, "Lamp", [30.0])[0, :3, :2].T, [[0, 0, -1], [1, 0, 0]])  # X points down, Y to the right


def without_extras(data: bytes) -> tuple[Any, bytes]:
    root, binary = split_glb(data)
    for part in ("nodes", "cameras", "meshes", "animations", "scenes"):
        for item in root.get(part, []):
            item.pop("extras", None)
    root["asset"].pop("extras", None)
    return root, binary


def quarter_roll() -> r.Track:
    return make.track("roll", [0, 30], [[0], [90]])


def test_a_camera_without_tracks_is_aimed_as_in_the_editor() -> None:
    scene = make.load(
        [make.camera("Cam", (3, -4, 5), (1, 1, 1), bank=30.0), make.camera("Alone", (0, 0, 9), (0, 0, 1))],
        [make.node("camera", "Cam", 0), make.node("camera target", "Cam", 1)],
    )
    close(worlds(scene, "Cam", [0.0])[0], plain.look_at([3, -4, 5], [1, 1, 1], 30.0))
    close(worlds(scene, "Cam.target", [0.0])[0], plain.translation([1, 1, 1]))
    close(worlds(scene, "Alone", [0.0])[0], plain.look_at([0, 0, 9], [0, 0, 1], 0.0))  # straight down: Y is up


def test_a_spot_under_a_moving_parent_is_aimed_at_its_target() -> None:
    carrier, at = three(), make.track("position", [0], [[0, 3, 0]])
    goal = make.track("position", TIMES, PLACES)
    hot, fall = make.track("hotspot", [0, 30], [[20], [40]]), make.track("falloff", [0, 30], [[30], [80]])
    color = make.track("color", [0, 30], [[1, 0, 0], [0, 0.5, 1]])
    scene = make.load(
        [make.spot("Lamp", (0, 0, 0), (0, 0, -1))],
        [
            make.node("object", "$$$DUMMY", 0, r.InstanceName(name=b"Arm"), *carrier),
            make.node("spot", "Lamp", 1, at, color, hot, fall, make.track("roll", [0], [[15]]), parent=0),
            make.node("spot target", "Lamp", 2, goal),
        ],
    )
    posed = keyframer.pose(scene, frames=FRAMES)
    for index, frame in enumerate(FRAMES):
        arm = plain.local(frame, *map(make.as_slow_track, carrier))
        target = evaluate(make.as_slow_track(goal), frame, [0.0] * 3)
        close(posed.world[index, 1], plain.look_at(plain.transform_point(arm, [0, 3, 0]), target, 15.0), 1e-7)
        close(posed.light_colors[index, 0], evaluate(make.as_slow_track(color), frame, [0.0] * 3))
        close(posed.light_hotspot_degrees[index, 0], evaluate(make.as_slow_track(hot), frame, [0.0])[0])
        close(posed.light_falloff_degrees[index, 0], evaluate(make.as_slow_track(fall), frame, [0.0])[0])


def test_hide_keys_toggle_and_do_not_hide_children() -> None:
    scene = make.load(
        [make.mesh("Off"), make.mesh("Stored", make.TRIANGLE, r.ObjectHidden())],
        [
            make.node("object", "On", 0, make.hide([5, 10, 20])),
            make.node("object", "Off", 1, make.hide([10]), flags1=0x4800),
            make.node("object", "Child", 2, parent=0),
            make.node("object", "Stored", 3),
            make.node("object", "Blink", 4, make.hide([0, 5, 10], flags=2)),
        ],
    )
    frames = [-5, 0, 4.99, 5, 9, 10, 15, 20, 99]
    visible = {node.name: keyframer.pose(scene, frames=frames).visible[:, i] for i, node in enumerate(scene.nodes)}
    toggled = [sum(frame >= key for key in (5, 10, 20)) % 2 == 0 for frame in frames]
    assert visible["On"].tolist() == toggled
    assert visible["Off"].tolist() == [frame >= 10 for frame in frames]
    assert visible["Child"].all()
    assert not visible["Stored"].any()
    cycle = keyframer.pose(scene, frames=[0, 4, 5, 9, 10, 14, 15, 19]).visible[:, 4]
    assert cycle.tolist() == [False, False, True, True] * 2


@pytest.mark.parametrize("geometry", ["auto", "keyframer", "raw"])
def test_morphs_blend_vertices_along_the_curve_of_the_keys(geometry: str) -> None:
    """Vertices, each in the axes of its own object, follow the TCB curve through the named shapes."""
    shapes = {
        "Box": ([[0, 0, 0], [1, 0, 0], [0, 2, 0]], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]),
        "Tall": ([[0, 0, 0], [1, 0, 4], [0, 2, 5]], [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]),
        "Far": ([[9, 0, 0], [8, 0, 1], [9, 3, 0]], [[0, 1, 0], [-1, 0, 0], [0, 0, 1], [9, 0, 0]]),
    }
    names = [b"Box", b"Tall", b"Far", b"Box"]
    stored = make.morph(TIMES, names, bias=[0.5] * 4, ease_to=[0.2] * 4)
    place = make.track("position", [0, 30], [[0, 0, 0], [0, 0, 10]])
    scene = make.load(
        [make.mesh(name, points, matrix=matrix) for name, (points, matrix) in shapes.items()],
        [make.node("object", "Box", 0, place, stored)],
        geometry=geometry,
    )
    local_points = {}
    for name, (points, matrix) in shapes.items():
        axes = plain.identity()
        for j, i in itertools.product(range(4), range(3)):
            axes[i][j] = float(matrix[j][i])
        local_points[name] = [plain.transform_point(plain.inverse(axes), point) for point in points]
    posed = keyframer.pose(scene, frames=FRAMES)
    slow = make.as_slow_track(make.track("position", TIMES, PLACES, bias=[0.5] * 4, ease_to=[0.2] * 4))
    for index, frame in enumerate(FRAMES):
        height = evaluate(make.as_slow_track(place), frame, [0.0] * 3)[2]
        for vertex in range(3):
            slow.values = [local_points[name.decode()][vertex] for name in names]
            x, y, z = evaluate(slow, frame, [0.0] * 3)
            close(posed.vertices(0)[index, vertex], [x, y, z + height], 1e-6)
    assert posed.morph_weights[0].shape == (len(FRAMES), 3)


def test_a_morph_key_with_another_vertex_count_keeps_the_previous_shape() -> None:
    scene = make.load(
        [make.mesh("Box"), make.mesh("Other", np.array(make.TRIANGLE) + 1), make.mesh("Big", np.zeros((4, 3)))],
        [make.node("object", "Box", 0, make.morph([0, 10, 20], [b"Other", b"Big", b"Missing"]))],
    )
    assert [issue.message for issue in scene.issues if issue.code == "LINK_UNRESOLVED_NAME"] == [
        "no mesh with the vertex count of the morphed mesh (3) is named 'Big'",
        "no mesh with the vertex count of the morphed mesh (3) is named 'Missing'",
    ]
    close(keyframer.pose(scene, frames=[0, 10, 20, 30]).vertices(0), [np.array(make.TRIANGLE) + 1] * 4)


def test_control_characters_of_a_name_are_escaped_once_in_messages() -> None:
    scene = make.load([make.mesh("Box")], [make.node("object", "Box", 0, make.morph([0], [b"a\x03b"]))])
    (issue,) = (issue for issue in scene.issues if issue.code == "LINK_UNRESOLVED_NAME")
    assert issue.message.endswith(r"is named 'a\x03b'")


@pytest.mark.parametrize("writer", [b"Blender", b"NRGSille", b"A3DSCENE"])
def test_blenders_absolute_keys_and_parents_by_name(writer: bytes) -> None:
    """KFHDR of Blender's exporters: rotation keys are absolute, and the parent's name is in 80F0 next to the header."""
    turning = make.track("rotation", TIMES, TURNS)
    at = make.track("position", [0], [[1, 0, 0]])
    nodes = [
        make.node("object", "Child", 0, at, r.ParentName(name=b"Base")),
        make.node("object", "Base", 1, turning),
    ]
    scene = make.load([], nodes, writer=writer)
    assert scene.nodes[0].parent == 1
    base = [plain.local(frame, None, make.as_slow_track(turning, absolute=True)) for frame in FRAMES]
    close(worlds(scene, "Base"), base)
    close(worlds(scene, "Child"), [plain.product(matrix, plain.translation([1, 0, 0])) for matrix in base])
    forced = make.load([], nodes, writer=writer, rotation_keys="relative")
    close(worlds(forced, "Base"), [plain.local(frame, None, make.as_slow_track(turning)) for frame in FRAMES])
    other = make.load([], nodes, rotation_keys="absolute")
    close(worlds(other, "Base"), base)


def test_the_parent_name_in_the_header_is_used_without_an_id() -> None:
    child = make.node("object", "Child", 0)
    next(record for record in child.children if isinstance(record, r.NodeHeader)).children = [
        r.ParentName(name=b"Base")
    ]
    scene = make.load([], [child, make.node("object", "Base", 1)])
    assert scene.nodes[0].parent == 1


def test_sign_flips_of_3ds_max_are_repaired_unless_an_option_keeps_them() -> None:
    """A rotation of 354 degrees within one frame means -6 degrees; within two frames it is kept."""
    turning = make.track("rotation", [0, 1, 2, 4], [[0, 0, 0, 1], [0.1, 0, 0, 1], [6.18, 0, 0, 1], [6.18, 0, 0, 1]])
    nodes = [make.node("object", "Bone", 0, turning)]
    actual = {
        how: make.load([], nodes, writer=writer, **options)
        for how, writer, options in (
            ("repaired", b"MAXSCENE", {}),
            ("kept", b"MAXSCENE", {"sign_flips": "keep"}),
            ("native", b"", {}),
        )
    }
    angles = {how: actual[how].clips[0].channels[0].track.values[:, 3].tolist() for how in actual}
    assert angles["kept"] == angles["native"] == pytest.approx([0, -0.1, -6.18, -6.18])
    assert angles["repaired"] == pytest.approx([0, -0.1, 2 * math.pi - 6.18, -6.18], abs=1e-6)
    assert actual["repaired"].issues.counts["SCENE_SIGN_FLIP"] == 1
    assert actual["kept"].issues.counts["SCENE_SIGN_FLIP"] == 0


def test_3ds_max_stores_the_current_time_in_ticks_and_spot_rolls_in_radians() -> None:
    lamp = make.spot("Lamp", (0, 0, 5), (0, 0, 0))
    lamp.children[0].children[0].children = [r.SpotRoll(roll=0.5)]
    for writer, current, roll in ((b"MAXSCENE", 10.0, math.degrees(0.5)), (b"", 1600.0, 0.5)):
        scene = make.load([lamp], [r.CurrentTime(time=1600), make.node("spot", "Lamp", 0)], writer=writer)
        assert scene.clips[0].current == current
        assert scene.lights[0].roll_degrees == pytest.approx(roll)


@pytest.mark.parametrize("geometry", ["auto", "raw"])
def test_stored_vertices_are_those_at_the_time_of_saving(geometry: str) -> None:
    """3ds Max saves vertices at the current frame, here 10: only the child has a mesh, only its ancestors move."""
    matrix = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    scene = make.load(
        [make.mesh("Box", matrix=matrix)],
        [
            r.CurrentTime(time=1600),
            make.node("object", "$$$DUMMY", 0, make.track("position", [0, 20], [[0, 0, 0], [0, 0, 40]])),
            make.node("object", "$$$DUMMY", 1, make.track("rotation", [0, 20], [[0, 0, 0, 1], [2, 0, 0, 1]]), parent=0),
            make.node("object", "Box", 2, make.track("position", [0], [[5, 0, 0]]), parent=1),
        ],
        writer=b"MAXSCENE",
        geometry=geometry,
    )
    vertices = keyframer.pose(scene, frames=[10]).vertices(2)[0]
    if geometry == "raw":
        close(vertices, make.TRIANGLE)
    else:  # the vertices are those of the node
        assert scene.nodes[2].extras["3ds"]["geometry"] == "keyframer"
        turned = [[x * math.cos(1) + y * math.sin(1), y * math.cos(1) - x * math.sin(1), z] for x, y, z in LIFTED]
        close(vertices, turned)


LIFTED = [[x + 5, y, z + 20] for x, y, z in make.TRIANGLE]


def test_the_rest_pose_is_that_of_the_first_key() -> None:
    tracks = three([20, 0, 30, 10])
    scene = make.load([], [make.node("object", "Box", 0, *tracks)])
    node = scene.nodes[0]
    close(node.position, PLACES[1])
    close(node.scale, SIZES[1])
    close(plain.rotation(node.rotation_xyzw.tolist()), plain.turn([1, 0, 0], -float(np.float32(1.1))))


def test_a_single_hide_key_does_not_make_a_file_animated() -> None:
    """The rule for stored vertices requires a track with two keys."""
    moved = make.track("position", [0], [[50, 0, 0]])
    matrix = [[0, 1, 0], [-1, 0, 0], [0, 0, 1], [0, 0, 0]]
    scene = make.load([make.mesh("Box", matrix=matrix)], [make.node("object", "Box", 0, moved, make.hide([5]))])
    assert scene.nodes[0].extras["3ds"]["geometry"] == "raw"
    assert scene.issues.counts["SCENE_REST_POSE"] == 1
    close(keyframer.pose(scene, frames=[0]).vertices(0)[0], make.TRIANGLE)
