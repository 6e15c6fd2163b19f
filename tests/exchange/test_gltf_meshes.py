"""Corners, normals, texture coordinates, colours and tangents, compared with values computed by hand."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyframer.exchange.gltf.write.asset import Buffers
from keyframer.exchange.kit.images import Image
from keyframer.limits import DEFAULT_LIMITS, budgeted
from keyframer.maths.smoothing_groups import smooth_clusters
from keyframer.scene import Material, Mesh, Node, Scene, Space, TextureMap
from keyframer.scene.loss_report import Outcome
from keyframer.scene.losses import NUMBERS_UNUSABLE
from tests.building.gltf_scenes import CUBE, FACES, cube
from tests.building.images import png
from tests.exchange.truth import glb_of
from tests.oracles.gltf.sampler import Gltf


def attributes(mesh: Mesh, materials: list[Material] | None = None, **options: object) -> list[dict[str, np.ndarray]]:
    """Return the arrays of each primitive."""
    scene = Scene(nodes=[Node("n", mesh=0)], meshes=[mesh], materials=materials or [], space=Space("y"))
    gltf = Gltf(glb_of(scene, **options)[0])
    return [
        {
            **{name: gltf.accessor(number) for name, number in primitive["attributes"].items()},
            "indices": gltf.accessor(primitive["indices"]).reshape(-1, 3),
        }
        for primitive in gltf.json["meshes"][0]["primitives"]
    ]


def test_texture_coordinates_beyond_single_precision_are_reported() -> None:
    uv = np.array([[0, 1e300], [np.nan, 0], [0.5, 0.25]])
    mesh = Mesh("m", np.eye(3), np.array([[0, 1, 2]]), uv=uv, uv_corners=np.array([[0, 1, 2]]))
    scene = Scene(nodes=[Node("n", mesh=0)], meshes=[mesh], space=Space("y", v_up=False))
    data, report = glb_of(scene)
    gltf = Gltf(data)
    found = gltf.accessor(gltf.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"])
    np.testing.assert_array_equal(found, np.array([[0, np.finfo("f4").max], [0, 0], [0.5, 0.25]], "f4"))
    unusable = [loss for loss in report if loss.type is NUMBERS_UNUSABLE["values"]]
    assert [(loss.path, loss.args["count"]) for loss in unusable] == [("/meshes/m/uv", 2)]


def slow_groups(corners: np.ndarray, masks: np.ndarray) -> list[set[int]]:
    """Return which corners share a normal, computed step by step from the definition."""
    groups: list[set[int]] = []
    for vertex in np.unique(corners):
        here = [3 * face + place for face, place in np.argwhere(corners == vertex)]
        while here:
            group = [here.pop(0)]
            for member in group:
                near = [other for other in here if masks[member // 3] & masks[other // 3]]
                group += near
                here = [other for other in here if other not in near]
            groups.append(set(group))
    return groups


@settings(max_examples=60)
@given(st.data())
def test_smoothing_groups_join_faces_that_share_a_bit(data: st.DataObject) -> None:
    faces = data.draw(st.integers(1, 12))
    corners = np.array(data.draw(st.lists(st.permutations(range(5)), min_size=faces, max_size=faces)))[:, :3]
    masks = np.array(data.draw(st.lists(st.integers(0, 15), min_size=faces, max_size=faces)))
    clusters, count = smooth_clusters(corners, masks, 5, smooth=False)
    corners_of_vertex: dict[int, set[int]] = {}
    for corner, cluster in enumerate(clusters.tolist()):
        assert 0 <= cluster < count
        corners_of_vertex.setdefault(cluster, set()).add(corner)
    assert sorted(map(sorted, corners_of_vertex.values())) == sorted(map(sorted, slow_groups(corners, masks)))


def a_mesh(data: st.DataObject) -> Mesh:
    """Draw a mesh of five points and some faces, with or without groups, materials and texture vertices."""
    faces = data.draw(st.integers(0, 6))

    def column(numbers: st.SearchStrategy[int]) -> np.ndarray | None:
        drawn = st.none() | st.lists(numbers, min_size=faces, max_size=faces).map(lambda each: np.array(each, int))
        return data.draw(drawn)

    corners = data.draw(st.lists(st.permutations(range(5)), min_size=faces, max_size=faces))
    mesh = Mesh(
        "m",
        np.array(data.draw(st.lists(st.integers(-2, 2), min_size=15, max_size=15)), float).reshape(5, 3),
        np.array(corners, int).reshape(faces, 5)[:, :3],
        smoothing=column(st.integers(0, 7)),
        face_materials=column(st.integers(-1, 1)),
    )
    if data.draw(st.booleans()):
        mesh.uv, mesh.uv_corners = np.array([(0, 0), (1, 0), (1, 1)], float), mesh.corners % 3
    return mesh


@settings(max_examples=40)
@given(st.data(), st.booleans())
def test_splitting_many_meshes_equals_splitting_each(data: st.DataObject, smooth: bool) -> None:
    meshes = [a_mesh(data) for _ in range(data.draw(st.integers(2, 5)))]
    materials = [Material("a"), Material("b")]
    nodes = [Node(f"n{number}", mesh=number) for number in range(len(meshes))]
    scene = Scene(nodes=nodes, meshes=meshes, materials=materials, space=Space("y"))
    gltf = Gltf(glb_of(scene, smooth=smooth)[0])
    for node, mesh in enumerate(meshes):
        if not len(mesh.corners):
            assert "mesh" not in gltf.json["nodes"][node]
            continue
        primitives = gltf.json["meshes"][gltf.json["nodes"][node]["mesh"]]["primitives"]
        alone = attributes(mesh, materials, smooth=smooth)
        assert len(primitives) == len(alone)
        for primitive, wanted in zip(primitives, alone, strict=True):
            arrays = {**primitive["attributes"], "indices": primitive["indices"]}
            assert arrays.keys() == wanted.keys()
            for name, number in arrays.items():
                assert gltf.accessor(number).tobytes() == wanted[name].tobytes()


def test_smoothing_mask_zero_is_flat() -> None:
    (part,) = attributes(cube(smoothing=np.zeros(12, int)))
    assert len(part["POSITION"]) == 36
    for triangle in part["indices"]:
        a, b, c = part["POSITION"][triangle].astype(float)
        flat = np.cross(b - a, c - a)
        np.testing.assert_allclose(part["NORMAL"][triangle], [flat / np.linalg.norm(flat)] * 3, atol=1e-6)
        assert np.dot(flat, a + b + c) > 0  # outwards


def test_one_group_is_smooth_and_shares_vertices() -> None:
    (part,) = attributes(cube(smoothing=np.ones(12, int)))
    assert len(part["POSITION"]) == 8
    unit = np.zeros((8, 3))
    for face in FACES:
        a, b, c = CUBE[face].astype(float)
        unit[face] += np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))
    order = [int(np.flatnonzero((np.abs(CUBE - row) < 1e-6).all(axis=1))[0]) for row in part["POSITION"]]
    np.testing.assert_allclose(part["NORMAL"], (unit / np.linalg.norm(unit, axis=1)[:, None])[order], atol=1e-6)


def own_normals(part: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the normals of all corners (F, 3, 3), and those of their faces by their winding (F, 3)."""
    a, b, c = (part["POSITION"][part["indices"][:, corner]].astype(float) for corner in range(3))
    normals = np.cross(b - a, c - a)
    return part["NORMAL"][part["indices"]], normals / np.linalg.norm(normals, axis=1)[:, None]


@pytest.mark.parametrize("unused", [0, 3])
@pytest.mark.parametrize("masks", [[1, 1, 1, 1], [1, 3, 2, 2], None])
def test_faces_back_to_back_have_their_own_normals(masks: list[int] | None, unused: int) -> None:
    """A leaf of two sides on the same vertices, in one smoothing group: their normals cancel out. Faces of one side
    share their normals."""
    square = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], float)
    corners = np.array([(0, 1, 2), (2, 1, 0), (0, 2, 3), (3, 2, 0)])
    positions = np.vstack([square, np.zeros((unused, 3))])
    leaf = Mesh("leaf", positions, corners, smoothing=None if masks is None else np.array(masks))
    (part,) = attributes(leaf, smooth=True)
    found, own = own_normals(part)
    np.testing.assert_allclose(found, np.repeat(own[:, None], 3, axis=1), atol=1e-6)
    assert sorted(own[:, 2].tolist()) == [-1, -1, 1, 1]
    assert len(part["POSITION"]) == 8, "a vertex for each side"


def test_faces_back_to_back_beside_a_smooth_mesh() -> None:
    """Other meshes of the scene keep their shared normals; a third face makes a sum that is not zero."""
    triangle = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
    leaf = Mesh("leaf", triangle, np.array([(0, 1, 2), (2, 1, 0), (0, 2, 3)]), smoothing=np.ones(3, int))
    meshes = [cube(smoothing=np.ones(12, int)), leaf, cube(smoothing=np.ones(12, int))]
    nodes = [Node(f"n{number}", mesh=number) for number in range(3)]
    gltf = Gltf(glb_of(Scene(nodes=nodes, meshes=meshes, space=Space("y")))[0])
    parts = []
    for node in gltf.json["nodes"]:
        (primitive,) = gltf.json["meshes"][node["mesh"]]["primitives"]
        part = {name: gltf.accessor(number) for name, number in primitive["attributes"].items()}
        parts.append({**part, "indices": gltf.accessor(primitive["indices"]).reshape(-1, 3)})
    assert [len(part["POSITION"]) for part in parts] == [8, 5, 8]
    found, _ = own_normals(parts[1])
    # at corner 1 only the two sides meet; at corners 0 and 2 the third face, which looks along x, decides
    np.testing.assert_allclose(found[0], [(1, 0, 0), (0, 0, 1), (1, 0, 0)], atol=1e-6)
    np.testing.assert_allclose(found[1], [(1, 0, 0), (0, 0, -1), (1, 0, 0)], atol=1e-6)
    (alone,) = attributes(meshes[0])
    for part in (parts[0], parts[2]):
        np.testing.assert_array_equal(part["NORMAL"], alone["NORMAL"])


@pytest.mark.parametrize(("source", "vertices"), [("3ds", 36), ("hale3d", 8)])
def test_mesh_without_groups_is_smooth_or_flat_by_format(source: str, vertices: int) -> None:
    scene = Scene(nodes=[Node("n", mesh=0)], meshes=[cube()], source_format=source)
    gltf = Gltf(glb_of(scene)[0])
    number = gltf.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"]
    assert gltf.json["accessors"][number]["count"] == vertices


def test_corners_are_split_only_where_they_differ() -> None:
    uv = np.array([(0, 0), (1, 0), (1, 1), (0, 0)], float)  # the last texture vertex equals the first
    mesh = cube(smoothing=np.ones(12, int), uv=uv)
    mesh.uv_corners = np.zeros((12, 3), int)
    mesh.uv_corners[:, 1] = np.where(np.arange(12) % 2, 3, 0)
    assert len(attributes(mesh)[0]["POSITION"]) == 8
    mesh.uv_corners[0] = (1, 1, 1)
    assert len(attributes(mesh)[0]["POSITION"]) == 11


def test_each_material_has_its_own_vertices() -> None:
    mesh = cube(smoothing=np.ones(12, int), face_materials=np.array([1] * 4 + [0] * 7 + [-1]))
    parts = attributes(mesh, [Material("a"), Material("b")])
    assert [len(part["indices"]) for part in parts] == [1, 7, 4]
    for part in parts:
        assert set(part["indices"].ravel()) == set(range(len(part["POSITION"])))


@pytest.mark.parametrize("v_up", [True, False])
def test_v_runs_down_in_the_file(v_up: bool) -> None:
    mesh = cube(smoothing=np.ones(12, int), uv=np.full((8, 2), 0.25))
    scene = Scene(nodes=[Node("n", mesh=0)], meshes=[mesh], space=Space("z", v_up=v_up))
    gltf = Gltf(glb_of(scene)[0])
    uv = gltf.accessor(gltf.json["meshes"][0]["primitives"][0]["attributes"]["TEXCOORD_0"])
    assert set(uv[:, 1]) == {0.75 if v_up else 0.25}


def test_colours_become_linear_light() -> None:
    mesh = cube(smoothing=np.ones(12, int), colors=np.full((8, 3), 0.5))
    assert attributes(mesh)[0]["COLOR_0"] == pytest.approx(0.21404, abs=1e-4)
    scene = Scene(materials=[Material("m", diffuse=(0.5, 0.0, 1.0), transparency=0.25)])
    written = Gltf(glb_of(scene)[0]).json["materials"][0]
    assert written["pbrMetallicRoughness"]["baseColorFactor"] == pytest.approx([0.21404, 0, 1, 0.75], abs=1e-4)
    assert written["alphaMode"] == "BLEND"


def test_faces_with_indices_out_of_range_are_left_out_and_reported() -> None:
    mesh = cube()
    mesh.corners = np.concatenate([FACES, [(0, 1, 8), (-1, 0, 1)]])
    scene = Scene(nodes=[Node("n", mesh=0)])
    scene.meshes.append(mesh)
    data, report = glb_of(scene)
    gltf = Gltf(data)
    assert gltf.json["accessors"][gltf.json["meshes"][0]["primitives"][0]["indices"]]["count"] == 36
    assert [(loss.type.key, loss.args) for loss in report.of(Outcome.DROPPED)] == [
        ("GEOMETRY_LEFT_OUT:faces", {"count": 2})
    ]


def grey(width: int = 2) -> bytes:
    return png(width, width, zlib.compress((b"\0" + b"\x80" * 3 * width) * width))


def mapped_scene() -> Scene:
    uv = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)
    quad = Mesh("quad", np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0.0)]), np.array([(0, 1, 2), (0, 2, 3)]))
    quad.uv = uv
    mirrored = Mesh("mirrored", quad.positions, quad.corners, uv=uv * (-1, 1))
    material = Material("m", maps={"texture1": TextureMap("A.PNG", scale=(2, 3)), "bump": TextureMap("B.PNG")})
    for mesh in (quad, mirrored):
        mesh.face_materials = np.zeros(2, int)
    nodes = [Node("a", mesh=0), Node("b", mesh=1)]
    return Scene(nodes=nodes, meshes=[quad, mirrored], materials=[material], space=Space("y"))


def test_normal_maps_are_exported_with_tangents() -> None:
    gltf = Gltf(glb_of(mapped_scene(), images=lambda material, slot, map: Image(slot, grey(), "image/png"))[0])
    for mesh, along in (("quad", 1.0), ("mirrored", -1.0)):
        primitive = next(m for m in gltf.json["meshes"] if m["name"] == mesh)["primitives"][0]
        tangents = gltf.accessor(primitive["attributes"]["TANGENT"])
        # u grows along x (or against it) and the image is upright, so its up is y in both: z x t = up
        np.testing.assert_allclose(tangents, [(along, 0, 0, along)] * len(tangents), atol=1e-6)


def test_names_of_missing_images_are_kept() -> None:
    data, report = glb_of(mapped_scene())
    text = Gltf(data).json
    assert "images" not in text
    assert text["materials"][0]["extras"]["keyframer"]["maps"]["texture1"]["file_name"] == "A.PNG"
    assert len([loss for loss in report if loss.type.key == "IMAGES_KEPT:name"]) == 2


def test_one_vertex_without_a_face_is_reported() -> None:
    mesh = Mesh("m", positions=np.eye(4, 3), corners=np.array([[0, 1, 2]]))
    report = glb_of(Scene(nodes=[Node("n", mesh=0)], meshes=[mesh]))[1]
    (loss,) = report.of(Outcome.DROPPED)
    assert (loss.path, loss.type.key) == ("/meshes/m/unused_vertices", "GEOMETRY_LEFT_OUT:vertices")
    assert loss.args == {"count": 1}
    assert report.summary() == "lost: unused vertices of m"
    two = [mesh, Mesh("other", positions=mesh.positions, corners=mesh.corners)]
    report = glb_of(Scene(nodes=[Node("n", mesh=0), Node("o", mesh=1)], meshes=two))[1]
    assert report.summary() == "lost: unused vertices of 2 meshes"


@pytest.mark.parametrize(("highest", "component"), [(0xFFFE, 5123), (0xFFFF, 5125)])
def test_largest_index_of_16_bits_is_not_used(highest: int, component: int) -> None:
    """It restarts a primitive in WebGL and elsewhere."""
    buffers = Buffers()
    number = buffers.indices(np.array([0, 1, highest]))
    assert buffers.accessors[number]["componentType"] == component


@pytest.mark.parametrize("table", ["uv", "color"])
def test_faces_without_texture_coordinates_or_colour_are_drawn(table: str) -> None:
    rows = {"uv": np.zeros((3, 2))} if table == "uv" else {"colors": np.ones((3, 3))}
    numbers = {f"{table}_corners": np.array([[0, 1, 2], [-1, -1, -1]])}
    with budgeted(DEFAULT_LIMITS, 0):  # as readers make meshes
        mesh = Mesh("m", positions=np.eye(4, 3), corners=np.array([[0, 1, 2], [1, 2, 3]]), **rows, **numbers)
        assert sum(len(primitive["indices"]) for primitive in attributes(mesh)) == 2
