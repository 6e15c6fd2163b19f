"""USD files, as OpenUSD sees them: valid, and in the same places as the pose."""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.arrays import Floats
from keyframer.exchange.kit.axes import Axes
from keyframer.exchange.kit.surfaces import image_matrix
from keyframer.exchange.usd.layer import PrimNames, identifier
from keyframer.exchange.usd.materials import placement
from keyframer.formats import FORMATS
from keyframer.posing import Rig
from keyframer.posing.bounds_and_duration import scene_size
from keyframer.posing.vertices import posed_vertices
from keyframer.scene import Light, LightType, Material, Mesh, Node, Scene, Space, TextureMap
from keyframer.scene.loss_report import LossReport, Outcome
from keyframer.text import safe_text
from tests.building.gltf_scenes import SCENES
from tests.building.images import encoded
from tests.building.scenes import to_y_up
from tests.corpus import animation_files, needs_corpus
from tests.exchange import usd_players
from tests.exchange.reading.test_embedded import picture
from tests.exchange.test_gltf_corpus import strict_scene
from tests.exchange.test_gltf_samples import loadable
from tests.slow import SLOW

pxr = pytest.importorskip("pxr", reason="usd-core is not installed (the extra test has it)")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "windmill.3ds"
MOMENTS = (0.0, 0.1, 0.21, 0.33, 0.47, 0.5, 0.62, 0.77, 0.9, 1.0)
"""fractions of the time range"""
NEAR = 1e-5
"""of the size of the scene"""


def stage_of(path: Path) -> Any:
    return pxr.Usd.Stage.Open(str(path))


@pytest.fixture(autouse=True)
def _pxr() -> None:
    from pxr import Usd, UsdGeom, UsdLux, UsdShade  # noqa: F401  # become attributes of the package


def written(scene: Scene, folder: Path, name: str = "scene.usda", **options: Any) -> tuple[Any, LossReport]:
    """Return the stage of a scene, which is valid, and the loss report."""
    report = keyframer.save(scene, folder / name, overwrite=True, max_error=1e-7, **options)
    assert usd_players.validated(folder / name) == []
    return stage_of(folder / name), report


def differences(scene: Scene, stage: Any) -> tuple[float, float, float]:
    """Return the largest distances of nodes and of vertices from the pose, as fractions of the size of the scene, and
    the largest difference of fields of view in degrees."""
    rig, axes = Rig(scene), Axes(scene.space)
    size, turn = scene_size(scene, rig), to_y_up(scene.space.up) if scene.space.up == "x" else np.eye(4)
    unit = (scene.clips[0].units_per_frame or 1.0) if scene.clips else 1.0
    first, last = stage.GetStartTimeCode(), stage.GetEndTimeCode()
    prims, root = usd_players.nodes_of(stage), stage.GetDefaultPrim()
    nodes, vertices, angles = [0.0], [0.0], [0.0]
    for code in (first + moment * (last - first) for moment in MOMENTS):
        samples = rig.sample([code * unit])
        world = rig.world(samples, 1)[0]
        expected = turn @ axes.matrices(world)
        weights = rig.properties.morph_weights(samples, 1)
        for number, node in enumerate(scene.nodes):
            prim = prims.get(safe_text(node.name))
            if prim is not None:
                nodes.append(largest(usd_players.world(prim, code)[:3, 3] - expected[number][:3, 3]))
            if node.mesh is not None:
                name = scene.meshes[node.mesh].name or node.name
                found = usd_players.parts_of(root if node.skin is not None else prim, "Mesh")
                meshes = [mesh for mesh in found if node.skin is None or usd_players.original_name(mesh) == name]
                if meshes:
                    posed = axes.vectors(posed_vertices(scene, number, world[None], weights.get(number))[0])
                    wanted = posed @ turn[:3, :3].T + turn[:3, 3]
                    vertices.append(largest(usd_players.points(meshes[0], code) - wanted))
            if node.camera is not None and prim is not None:
                (camera,) = usd_players.parts_of(prim, "Camera")
                seen = pxr.UsdGeom.Camera(camera).GetCamera(code)
                fov = float(rig.properties.fov.at(samples, 1)[0, node.camera, 0])
                angles.append(abs(seen.GetFieldOfView(seen.FOVHorizontal) - min(max(fov, 1e-4), 179.0)))
    return max(nodes) / size, max(vertices) / size, max(angles)


def largest(numbers: Floats) -> float:
    return float(np.nan_to_num(np.abs(numbers)).max(initial=0.0))


def assert_like_the_pose(scene: Scene, folder: Path, **options: Any) -> Any:
    stage, report = written(scene, folder, **options)
    if not any(loss.code == "MOTION_INCOMPLETE" for loss in report):
        nodes, vertices, angles = differences(scene, stage)
        assert (nodes, vertices) < (NEAR, NEAR), (nodes, vertices)
        assert angles < 1e-3
    return stage


@pytest.mark.parametrize("name", [name for name in SCENES if name != "sick"])
def test_scenes_are_like_the_pose(name: str, tmp_path: Path) -> None:
    scene = SCENES[name]()
    for number, node in enumerate(scene.nodes):  # the prims are found by the names of nodes
        node.name = node.name or f"unnamed {number}"
    assert_like_the_pose(scene, tmp_path)


def test_numbers_that_no_file_can_store_are_replaced(tmp_path: Path) -> None:
    written(SCENES["sick"](), tmp_path)


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_samples_are_like_the_pose(known: Any, tmp_path: Path) -> None:
    for _, scene in loadable(known.name):
        assert_like_the_pose(scene, tmp_path)


@pytest.mark.parametrize("name", ["windmill.usda", "windmill.usdz", "windmill.usdc"])
def test_every_kind_of_file_is_like_the_pose(name: str, tmp_path: Path) -> None:
    stage = assert_like_the_pose(keyframer.load(EXAMPLE), tmp_path, name=name)
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (0.0, 100.0, 30.0)
    assert stage.GetFramesPerSecond() == 30.0
    assert pxr.UsdGeom.GetStageUpAxis(stage) == "Z"
    assert pxr.UsdGeom.GetStageMetersPerUnit(stage) == pytest.approx(0.0254)
    assert pxr.Usd.ModelAPI(stage.GetDefaultPrim()).GetKind() == "component"


@needs_corpus
def test_real_files_are_like_the_pose(tmp_path: Path) -> None:
    for path in animation_files()[:: 1 if SLOW else 15]:
        scene = strict_scene(path)
        if scene is not None:
            assert_like_the_pose(scene, tmp_path)


@pytest.mark.parametrize("space", [Space("x"), Space("y"), Space("z"), Space("y", keyframer.Handedness.LEFT)])
def test_axes_and_unit(space: Space, tmp_path: Path) -> None:
    scene = SCENES["straight"]()
    scene.space = space
    stage = assert_like_the_pose(scene, tmp_path, unit="cm")
    assert pxr.UsdGeom.GetStageUpAxis(stage) == ("Z" if space.up == "z" else "Y")
    assert pxr.UsdGeom.GetStageMetersPerUnit(stage) == 0.01


def test_without_usd_core_a_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(ValueError, match=r"usdc files need the package usd-core \(pip install usd-core\)"):
        keyframer.save(keyframer.load(EXAMPLE), tmp_path / "a.usdc")
    keyframer.save(keyframer.load(EXAMPLE), tmp_path / "a.usdz")
    assert [path.name for path in tmp_path.iterdir()] == ["a.usdz"]


def painted(scale: tuple[float, float] = (1.0, 1.0)) -> Scene:
    """Return a square whose halves have different materials, one with an embedded image."""
    square = Mesh("square", np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]]))
    square.uv, square.face_materials = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]]), np.array([0, 1])
    image = keyframer.scene.EmbeddedImage("Bräune?.png", encoded(picture((3, 2))), "image/png")
    texture = TextureMap("Bräune?.png", embedded=image, scale=scale)
    materials = [Material("painted", maps={"texture1": texture}), Material("plain", diffuse=(1.0, 0.0, 0.0))]
    return Scene([Node("square", mesh=0)], [square], materials)


def test_packages_are_aligned_and_not_compressed(tmp_path: Path) -> None:
    stage, _ = written(painted(), tmp_path, "scene.usdz")
    data = (tmp_path / "scene.usdz").read_bytes()
    with zipfile.ZipFile(tmp_path / "scene.usdz") as archive:
        assert archive.testzip() is None
        members = archive.infolist()
    assert [member.filename for member in members] == ["Scene.usda", "textures/Braune_.png"]
    for member in members:
        assert member.compress_type == zipfile.ZIP_STORED
        name, extra = struct.unpack_from("<2H", data, member.header_offset + 26)
        assert (member.header_offset + 30 + name + extra) % 64 == 0
    shader = stage.GetPrimAtPath("/Scene/Materials/painted/BaseColor")
    assert shader.GetAttribute("inputs:file").Get().resolvedPath.endswith("scene.usdz[textures/Braune_.png]")


def test_images_are_beside_a_layer(tmp_path: Path) -> None:
    stage, report = written(painted(), tmp_path)
    shader = stage.GetPrimAtPath("/Scene/Materials/painted/BaseColor")
    image = Path(shader.GetAttribute("inputs:file").Get().resolvedPath)
    assert image.parent == tmp_path
    assert {str(image), str(tmp_path / "scene.usda")} == set(report.written)


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("scene.usda", "scene.usdz"):
        contents = []
        for _ in range(2):
            keyframer.save(painted(), tmp_path / name, overwrite=True)
            contents.append((tmp_path / name).read_bytes())
        assert contents[0] == contents[1]


def test_faces_have_the_materials_of_their_subset(tmp_path: Path) -> None:
    stage, _ = written(painted(), tmp_path)
    mesh = stage.GetPrimAtPath("/Scene/square/square")
    subsets = pxr.UsdGeom.Subset.GetAllGeomSubsets(pxr.UsdGeom.Imageable(mesh))
    bound = {
        pxr.UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()[0].GetPrim().GetName(): list(
            subset.GetIndicesAttr().Get()
        )
        for subset in subsets
    }
    assert bound == {"painted": [0], "plain": [1]}


def test_meshes_of_several_nodes_are_written_once(tmp_path: Path) -> None:
    scene = painted()
    scene.nodes.append(Node("copy", mesh=0, position=np.array([5.0, 0, 0]), pivot=np.array([0.0, 1, 0]), hidden=True))
    stage = assert_like_the_pose(scene, tmp_path)
    assert (tmp_path / "scene.usda").read_text().count("point3f[] points") == 1
    copy = stage.GetPrimAtPath("/Scene/copy/square")
    assert pxr.UsdGeom.Imageable(copy).ComputeVisibility() == "invisible"
    assert pxr.UsdGeom.Imageable(stage.GetPrimAtPath("/Scene/square/square")).ComputeVisibility() == "inherited"
    subset = stage.GetPrimAtPath("/Scene/copy/square/plain")
    material = pxr.UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()[0]
    assert material.GetPrim().GetName() == "plain"


@pytest.mark.parametrize("degrees", [0.0, 30.0, -100.0])
@pytest.mark.parametrize(
    ("scale", "offset"), [((1.0, 1.0), (0.25, 0.5)), ((2.0, 3.0), (0.0, 0.0)), ((2.0, -1.0), (0.1, 0.7))]
)
def test_images_are_placed_as_by_the_original_program(
    scale: tuple[float, float], offset: tuple[float, float], degrees: float
) -> None:
    texture = TextureMap("a.png", scale=scale, offset=offset, rotation_degrees=degrees)
    given = placement(texture)
    assert given is not None
    scales, rotation, shift = (np.array(eval(text)) for text in given)  # vectors of numbers
    cosine, sine = np.cos(np.radians(rotation)), np.sin(np.radians(rotation))
    uv = np.random.default_rng(1).uniform(-2, 2, (20, 2))
    made = (uv * scales) @ np.array([[cosine, -sine], [sine, cosine]]).T + shift
    matrix = image_matrix(texture, v_up=True)
    wanted = uv @ matrix[:, :2].T + matrix[:, 2]  # v down
    assert np.allclose(made, wanted * (1, -1) + (0, 1))


def test_names_become_unique_identifiers(tmp_path: Path) -> None:
    names = PrimNames()
    claimed = [names.claim(name) for name in ("Box", "Box", "Käfer", "2nd", "a b", "機械", "")]
    assert claimed == ["Box", "Box_2", "Kafer", "_2nd", "a_b", "prim", "prim_2"]
    assert identifier("機械", "node") == "node"
    stage, _ = written(Scene([Node("Käfer 1"), Node("Käfer_1")]), tmp_path)
    assert set(usd_players.nodes_of(stage)) == {"Käfer 1", "Käfer_1"}


def test_lights(tmp_path: Path) -> None:
    kinds = {
        LightType.OMNI: "SphereLight",
        LightType.SPOT: "SphereLight",
        LightType.DIRECTIONAL: "DistantLight",
        LightType.AMBIENT: "DomeLight",
    }
    lights = [Light(kind.value, kind, hotspot_degrees=30.0, falloff_degrees=60.0) for kind in kinds]
    nodes = [Node(light.name, light=number, position=np.array([0, 0, 10.0])) for number, light in enumerate(lights)]
    cube = Mesh("cube", np.array([[-1, -1, -1], [1, 1, 1], [1, -1, 1.0]]), np.array([[0, 1, 2]]))
    scene = Scene([*nodes, Node("cube", mesh=0)], [cube], lights=lights)
    stage, _ = written(scene, tmp_path)
    found = {
        kind: usd_players.parts_of(stage.GetPrimAtPath(f"/Scene/{kind.value}"), name)[0] for kind, name in kinds.items()
    }
    intensity = {kind: prim.GetAttribute("inputs:intensity").Get() for kind, prim in found.items()}
    # a white surface at the centre has the radiance 1: I / (4 d^2) = pi, I = pi, I = 1
    assert intensity[LightType.OMNI] == pytest.approx(4 * np.pi * 10**2, rel=1e-6)
    assert intensity[LightType.DIRECTIONAL] == pytest.approx(np.pi, rel=1e-6)
    assert intensity[LightType.AMBIENT] == pytest.approx(1.0, rel=1e-6)
    cone = found[LightType.SPOT]
    assert cone.GetAttribute("inputs:shaping:cone:angle").Get() == pytest.approx(30.0)
    assert cone.GetAttribute("inputs:shaping:cone:softness").Get() == pytest.approx(0.5)


def test_losses_have_a_place(tmp_path: Path) -> None:
    scene = SCENES["two_clips"]()
    _, report = written(scene, tmp_path)
    dropped = {loss.path for loss in report if loss.outcome is Outcome.DROPPED}
    assert f"/clips/{scene.clips[1].name}" in dropped


def test_unknown_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="usd has no option 'core_only'"):
        keyframer.save(Scene(), tmp_path / "a.usda", core_only=True)
