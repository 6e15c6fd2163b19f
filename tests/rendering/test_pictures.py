"""Picture content: colours, sides, images, smoothing, transparency, lights, skeletons."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from keyframer.posing import pose
from keyframer.rendering import Renderer, Settings
from keyframer.rendering.drawable_scene import DrawableScene, corner_normals, face_normals, normal_groups
from keyframer.rendering.frame import Exposure, render
from keyframer.rendering.lighting import file_lighting
from keyframer.rendering.viewpoint import View
from keyframer.scene import Light, LightType, Material, Mesh, Node, NodeKind, Scene, TextureMap
from keyframer.textures import TextureFinder, TextureSource
from tests.rendering.simple import FRONT, rendered, scene_of, square, turned_square

RED, BLUE = Material("red", diffuse=(1.0, 0.0, 0.0)), Material("blue", diffuse=(0.0, 0.0, 1.0))


def test_a_square_is_drawn_at_its_position() -> None:
    mesh = square(0.5)
    mesh.positions = mesh.positions + np.array([1.0, 0.0, 1.0])  # to the right and up
    picture = rendered(scene_of(mesh, materials=[RED]))
    seen = picture[:, :, 3] == 255
    assert seen[4:12, 20:28].all()
    assert seen.sum() == 64
    assert (picture[seen][:, 0] > 100).all()
    assert (picture[seen][:, 1:3] == 0).all()


@pytest.mark.parametrize("swap", [False, True])
def test_the_nearer_square_is_visible(swap: bool) -> None:
    meshes, materials = [square(0.5, -1.0), square(1.0, 1.0)], [RED, BLUE]
    picture = rendered(scene_of(*(meshes[::-1] if swap else meshes), materials=materials[::-1] if swap else materials))
    assert picture[16, 16, 0] > 100
    assert picture[16, 16, 2] == 0
    assert picture[16, 9, 2] > 100


def test_faces_of_two_sided_materials_are_lit_from_both_sides() -> None:
    front = rendered(scene_of(square(), materials=[RED]))
    two_sided = Material("red", diffuse=(1.0, 0.0, 0.0), two_sided=True)
    assert np.array_equal(front, rendered(scene_of(turned_square(), materials=[two_sided])))
    assert np.array_equal(front, rendered(scene_of(turned_square(), materials=[RED]), two_sided=True))


def test_backs_of_one_sided_faces_are_not_drawn() -> None:
    assert not rendered(scene_of(turned_square(), materials=[RED])).any()
    assert not rendered(scene_of(turned_square())).any()  # faces without a material are one-sided, as in the glTF file
    behind = rendered(scene_of(turned_square(), square(1.0, 1.0), materials=[RED, BLUE]))
    assert behind[16, 16, 2] > 100  # through the back of a face one sees what is behind it


@pytest.mark.parametrize("near", [9.0, 11.0])
def test_faces_that_reach_behind_the_eye_keep_their_front(near: float) -> None:
    """A floor below the eye, of which one or two corners are behind the picture plane."""
    floor = Mesh("floor", np.array([[-50.0, -near, -1], [50, -near, -1], [0, 90, -1]]), np.array([[0, 1, 2]]))
    assert rendered(scene_of(floor, materials=[RED]))[30, 16, 0] > 50
    floor.corners = floor.corners[:, ::-1]
    assert not rendered(scene_of(floor, materials=[RED])).any()


def textured(tmp_path: Path, image: Image.Image, **options: object) -> np.ndarray:
    image.save(tmp_path / "image.png")
    mesh = square(2.0)
    mesh.uv = np.array([[0.0, 0.0], [1, 0], [1, 1], [0, 1]])
    material = Material("m", diffuse=(0.0, 1.0, 0.0), maps={"texture1": TextureMap("IMAGE.PNG", **options)})  # type: ignore[arg-type]
    source = TextureSource(TextureFinder([tmp_path]))
    return rendered(scene_of(mesh, materials=[material]), source=source)


def corners_image() -> Image.Image:
    """White, red at the top right, blue at the bottom left."""
    image = Image.new("RGB", (16, 16), (255, 255, 255))
    image.paste((255, 0, 0), (8, 0, 16, 8))
    image.paste((0, 0, 255), (0, 8, 8, 16))
    return image


def test_images_are_upright(tmp_path: Path) -> None:
    picture = textured(tmp_path, corners_image())
    upper_right, lower_left, upper_left = picture[4, 28], picture[28, 4], picture[4, 4]
    assert upper_right[0] > 100
    assert upper_right[2] < 20
    assert lower_left[2] > 100
    assert lower_left[0] < 20
    assert min(upper_left[:3]) > 100


def test_images_are_tiled_moved_and_blended(tmp_path: Path) -> None:
    twice = textured(tmp_path, corners_image(), scale=(2.0, 1.0))
    assert np.array_equal(twice[:, 2:6, :], twice[:, 18:22, :])
    half = textured(tmp_path, Image.new("RGB", (4, 4), (255, 0, 0)), amount=0.5)
    assert abs(int(half[16, 16, 0]) - int(half[16, 16, 1])) <= 1  # half red image, half green material
    decal = textured(tmp_path, Image.new("RGB", (4, 4), (255, 0, 0)), scale=(2.0, 2.0), decal=True)
    assert decal[16, 16, 0] > 100
    assert decal[2, 2, 1] > 100  # next to the decal the green of the material
    assert decal[2, 2, 0] < 20


def test_holes_in_an_image_and_in_an_opacity_map(tmp_path: Path) -> None:
    image = corners_image().convert("RGBA")
    image.putalpha(Image.new("L", (16, 16), 0))
    image.paste((255, 255, 255, 255), (8, 0, 16, 16))
    picture = textured(tmp_path, image)
    assert picture[16, 4, 3] == 0
    assert picture[16, 28, 3] == 255


def test_ignored_alpha_shows_the_colours_of_the_image(tmp_path: Path) -> None:
    """As in glTF, where an OPAQUE material has all colours of its image; the material itself is green."""
    picture = textured(tmp_path, Image.new("RGBA", (16, 16), (255, 0, 0, 0)), ignore_alpha=True)
    assert picture[16, 16, 3] == 255
    assert picture[16, 16, 0] > 100
    assert picture[16, 16, 1] < 20


def test_objects_behind_glass_are_visible() -> None:
    glass = Material("glass", diffuse=(1.0, 1.0, 1.0), transparency=0.5)
    plain = rendered(scene_of(square(1.0, 1.0), materials=[BLUE]))
    through = rendered(scene_of(square(1.0, 1.0), square(2.0, -1.0), square(2.0, -2.0), materials=[BLUE, glass, glass]))
    assert through[16, 16, 3] == 255
    assert 0 < through[16, 16, 0] < 255  # some white of the panes
    assert plain[16, 16, 0] == 0
    assert through[2, 2, 3] == round(255 * 0.75)  # two half-transparent panes, and nothing behind them


def test_wire_materials_show_edges_only() -> None:
    wire = Material("wire", diffuse=(1.0, 1.0, 1.0), wire=True)
    picture = rendered(scene_of(square(1.5), materials=[wire]), size=64)
    assert picture[32, 12, 3] < picture[32, 8, 3]  # 8 is the outline
    assert 0 < (picture[:, :, 3] > 0).mean() < 0.3


def ball(masks: int | None) -> Scene:
    high, around = np.meshgrid(np.linspace(0.3, np.pi - 0.3, 8), np.arange(12) * np.pi / 6, indexing="ij")
    points = np.stack([np.sin(high) * np.cos(around), np.sin(high) * np.sin(around), np.cos(high)], axis=-1) * 1.5
    cells = [(i * 12 + j, i * 12 + (j + 1) % 12) for i in range(7) for j in range(12)]
    corners = np.array([t for a, b in cells for t in ((a, a + 12, b), (b, a + 12, b + 12))])
    mesh = Mesh("ball", points.reshape(-1, 3), corners)
    mesh.smoothing = None if masks is None else np.full(len(corners), masks)
    return scene_of(mesh, materials=[Material("m", diffuse=(0.8, 0.8, 0.8))])


@pytest.mark.parametrize("masks", [None, 0])
def test_flat_and_smooth_shading_follow_the_file(masks: int | None) -> None:
    flat, smooth = rendered(ball(masks), size=64), rendered(ball(1), size=64)
    assert len(np.unique(flat[:, :, 0])) < 60 < len(np.unique(smooth[:, :, 0]))
    by_shading = ball(1)
    by_shading.materials[0].shading = "flat"
    assert np.array_equal(rendered(by_shading, size=64), flat)
    other_format = ball(None)
    other_format.source_format = "hale3d"  # a format without smoothing groups is smooth
    assert np.array_equal(rendered(other_format, size=64), smooth)


def test_smoothing_groups_are_joined_through_common_faces() -> None:
    corners = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    groups = normal_groups(corners, np.array([1, 3, 2, 8]), np.zeros(4, bool), smooth=False)
    at_0 = groups[:, 0].tolist()
    assert at_0[0] == at_0[1] == at_0[2] != at_0[3]
    flat = normal_groups(corners, np.array([1, 1, 1, 1]), np.array([False, True, False, False]), smooth=False)
    assert len({*flat[:, 0].tolist()}) == 2


def test_normals_agree_for_faces_of_both_windings() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    corners = np.array([[0, 1, 2], [0, 3, 2]])  # the second looks down
    groups = normal_groups(corners, np.array([1, 1]), np.zeros(2, bool), smooth=False)
    normals = corner_normals(face_normals(points, corners), groups)
    assert np.allclose(normals[0], (0, 0, 1))
    assert np.allclose(normals[1], (0, 0, -1))


def lit_square(light: Light, place: tuple[float, float, float]) -> np.ndarray:
    scene = scene_of(square(2.0), materials=[Material("m", diffuse=(1.0, 1.0, 1.0))])
    scene.lights.append(light)
    scene.nodes.append(Node("lamp", NodeKind.LIGHT, light=0, position=np.array(place)))
    return render(DrawableScene(scene), pose(scene, frames=[0.0]), 0, FRONT, 32, 32, Exposure("file"), 1)


def test_lights_of_the_file_are_used() -> None:
    left = lit_square(Light("omni"), (-4.0, -2.0, 0.0))
    assert left[16, 2, 0] > 2 * left[16, 30, 0]
    red = lit_square(Light("omni", color=(1.0, 0.0, 0.0)), (0.0, -5.0, 0.0))
    assert red[16, 16, 0] > 200
    assert red[16, 16, 1] == 0
    near = lit_square(Light("omni", attenuated=True, inner_range=1.0, outer_range=2.5), (0.0, -2.0, 0.0))
    assert near[16, 16, 0] > 50
    assert near[1, 1, 0] == 0
    spot = lit_square(
        Light("spot", LightType.SPOT, target=(0.0, 0.0, 0.0), hotspot_degrees=10.0, falloff_degrees=20.0),
        (0.0, -6.0, 0.0),
    )
    assert spot[16, 16, 0] > 200
    assert spot[2, 2, 0] == 0
    off = lit_square(Light("omni", on=False), (0.0, -5.0, 0.0))
    assert off[:, :, :3].max() == 0
    assert file_lighting(pose(scene_of(square()), frames=[0.0]), 0) is None


def test_automatic_exposure_is_chosen_once() -> None:
    scene = scene_of(square(2.0), materials=[Material("m", diffuse=(1.0, 1.0, 1.0))])
    scene.lights.append(Light("weak", multiplier=0.01))
    scene.nodes.append(Node("lamp", NodeKind.LIGHT, light=0, position=np.array([0.0, -5.0, 0.0])))
    exposure = Exposure("auto")
    first = render(DrawableScene(scene), pose(scene, frames=[0.0]), 0, FRONT, 16, 16, exposure, 1)
    assert first[8, 8, 0] > 80
    fill = exposure.fill
    render(DrawableScene(scene), pose(scene, frames=[0.0]), 0, FRONT, 16, 16, exposure, 1)
    assert exposure.fill == fill
    scene.lights[0].multiplier = 50.0
    exposure = Exposure("auto")
    render(DrawableScene(scene), pose(scene, frames=[0.0]), 0, FRONT, 16, 16, exposure, 1)
    assert exposure.gain < 0.1


def test_skeletons_are_drawn_as_sticks() -> None:
    bones = [Node("a", NodeKind.BONE), Node("b", NodeKind.BONE, parent=0, position=np.array([0.0, 0.0, 1.5]))]
    picture = rendered(Scene(nodes=bones), size=64, finer=4)
    column = picture[:, 32, 3] > 0
    assert 20 <= column.sum() <= 32  # from the middle up
    assert column[10:31].all()
    assert not column[40:].any()
    assert picture[28, 32, 0] > picture[28, 32, 2]
    alone = Renderer(Scene(nodes=[Node("x", NodeKind.BONE)]), Settings(32, 32, background=None)).picture(0.0)
    assert alone.getpixel((16, 16))[3] == 255  # type: ignore[index]
    assert not rendered(Scene(nodes=[Node("x", NodeKind.CAMERA)]), size=16).any()


def test_supersampling_smooths_edges() -> None:
    mesh = square(1.0)
    turn = np.array([[0.96, 0, 0.28], [0, 1, 0], [-0.28, 0, 0.96]])
    mesh.positions = mesh.positions @ turn
    rough, smooth = rendered(scene_of(mesh), finer=1), rendered(scene_of(mesh), finer=2)
    assert set(np.unique(rough[:, :, 3])) == {0, 255}
    assert len(np.unique(smooth[:, :, 3])) > 2
    assert abs(int(rough[:, :, 3].astype(int).sum()) - int(smooth[:, :, 3].astype(int).sum())) < 255 * 12


def test_extreme_numbers_still_give_a_picture() -> None:
    rng = np.random.default_rng(7)
    points = rng.normal(size=(60, 3)).astype(np.float32) * np.float32(10) ** rng.integers(-30, 38, (60, 1)).astype(
        np.float32
    )
    points[:6] = [[np.nan] * 3, [np.inf] * 3, [-np.inf, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    mesh = Mesh("m", points, rng.integers(0, 60, (200, 3)))
    mesh.smoothing = rng.integers(-(2**31), 2**31, 200)
    mesh.uv = points[:, :2]
    material = Material("m", diffuse=(np.nan, 2.0, -1.0), transparency=np.inf, shininess=np.nan)
    rendered(scene_of(mesh, materials=[material]))
    huge = View(np.zeros(3), np.eye(3)[0], np.eye(3)[2], np.eye(3)[1], 1e-6, 1e-6, 1e-9)
    rendered(scene_of(mesh, materials=[material]), huge)


def test_rendering_is_deterministic() -> None:
    first, second = rendered(ball(1), size=64, finer=2), rendered(ball(1), size=64, finer=2)
    assert first.tobytes() == second.tobytes()
    stream = io.BytesIO()
    Image.fromarray(first).save(stream, "PNG")


def panes(count: int) -> Scene:
    """Squares of glass that fill the picture, one behind the other, on one node; the farthest is opaque."""
    meshes = [square(2.5, y) for y in np.linspace(2, -2, count)]
    points = np.concatenate([mesh.positions for mesh in meshes])
    corners = np.concatenate([mesh.corners + 4 * number for number, mesh in enumerate(meshes)])
    glass = Mesh("panes", points, corners, face_materials=np.repeat(np.minimum(np.arange(count), 1), 2))
    materials = [
        Material("back", diffuse=(0.9, 0.1, 0.1)),
        Material("glass", diffuse=(0.1, 0.9, 0.1), transparency=0.8),
    ]
    return Scene(nodes=[Node("panes", mesh=0)], meshes=[glass], materials=materials, source_format="3ds")


def test_the_memory_of_translucent_faces_is_bounded_by_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = panes(600)
    rendered(panes(2), size=96)
    tracemalloc.start()
    picture = rendered(scene, size=96)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # 29 MB, also for twice as many panes; keeping all pixels that the budget allows takes 60 MB
    for many in (1_000, 1 << 40):
        monkeypatch.setattr("keyframer.rendering.raster.FRAGMENTS_AT_ONCE", many)
        assert (rendered(scene, size=96) == picture).all()


def test_normals_of_a_large_mesh_are_computed_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once, the values of corners take 290 bytes for each face; the result has 36."""
    side = 200
    across, down = (axis.reshape(-1) for axis in np.meshgrid(np.arange(side), np.arange(side)))
    points = np.stack([across, down, np.sin(across / 7) * np.cos(down / 9)], axis=1)
    first = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).reshape(-1, 1)
    faces = np.concatenate([first + np.array(corners) for corners in ((0, 1, side), (1, side + 1, side))])
    at_once = corner_normals(face_normals(points, faces), faces)
    monkeypatch.setattr("keyframer.rendering.drawable_scene.FACES_AT_ONCE", 5_000)
    tracemalloc.start()
    normals = corner_normals(face_normals(points, faces), faces)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120 * len(faces)
    np.testing.assert_allclose(normals, at_once, atol=1e-6)
