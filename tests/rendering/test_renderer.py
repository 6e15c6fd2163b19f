"""Rendering scenes: views, frames, contact sheets and films; everything is inside the picture."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.curves import Track
from keyframer.limits import Budget, Limits
from keyframer.rendering import Renderer, Settings, encode_animation, encode_still
from keyframer.rendering.encoding import durations
from keyframer.rendering.renderer import Presentation
from keyframer.rendering.viewpoint import fitted_view
from keyframer.scene import (
    Camera,
    Channel,
    Clip,
    Environment,
    Gradient,
    Handedness,
    Light,
    LightType,
    Material,
    Node,
    NodeKind,
    Scene,
    Space,
)
from tests.cli.running import EXAMPLE
from tests.hostile.attacks import ATTACKS
from tests.rendering.simple import moving_scene, scene_of, square


@pytest.mark.parametrize("up", ["x", "y", "z"])
@pytest.mark.parametrize("hand", list(Handedness))
@pytest.mark.parametrize("place", [(100, -50, 3), (-100, 50, -3), (-100, -90, 80), (0, 0, 0)])
def test_a_fitted_view_contains_all_points_and_wastes_little_space(
    up: str, hand: Handedness, place: tuple[int, int, int]
) -> None:
    points = np.random.default_rng(3).normal(size=(500, 3)) * (1, 5, 2) + place
    for aspect in (0.5, 1.0, 2.0):
        view = fitted_view(points, Space(up, hand), aspect, None, None)
        seen = view.camera_coordinates(points)
        across = seen[:, 0] / seen[:, 2] / view.half_width
        high = seen[:, 1] / seen[:, 2] / view.half_height
        assert (seen[:, 2] > view.near).all()
        reach = max(np.abs(across).max(), np.abs(high).max())
        assert 0.9 < reach <= 1
        assert np.allclose([view.right @ view.up, view.right @ view.forward, view.up @ view.forward], 0)


@pytest.mark.parametrize("hand", list(Handedness))
def test_the_picture_is_upright_and_not_mirrored(hand: Handedness) -> None:
    for up in ("y", "z"):
        axis = np.eye(3)["xyz".index(up)]
        view = fitted_view(np.zeros((1, 3)), Space(up, hand), 1.0, None, None)
        assert view.up @ axis > 0.5
        assert view.right[0] > 0.5  # x runs to the right in the programs' front views
        turn = np.linalg.det(np.stack([view.right, view.up, -view.forward]))
        assert np.isclose(turn, 1 if hand is Handedness.RIGHT else -1)


def test_an_empty_scene() -> None:
    for scene in (Scene(), Scene(nodes=[Node("a", hidden=True)])):
        studio = Renderer(scene, Settings(16, 16))
        assert studio.picture(studio.default_frame).size == (16, 16)
    assert Renderer(Scene()).spread(5, with_last=True) == [0.0]


def with_camera(place: tuple[float, float, float], target: tuple[float, float, float]) -> Scene:
    scene = scene_of(square(), materials=[Material("red", diffuse=(1.0, 0.0, 0.0))])
    scene.cameras.append(Camera("eye", fov_degrees=45.0, target=target))
    scene.nodes.append(Node("eye", NodeKind.CAMERA, camera=0, position=np.array(place)))
    return scene


def test_the_camera_of_the_file_is_used_if_it_shows_something() -> None:
    front = Renderer(with_camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0)), Settings(32, 32, background=None))
    alpha = np.asarray(front.picture(0.0))[:, :, 3]
    reach = 16 / np.tan(np.radians(22.5)) / 5  # half a side of the square, in pixels
    rows = np.flatnonzero(alpha[:, 16])
    assert abs(len(rows) - 2 * reach) <= 2
    away = Renderer(with_camera((0.0, -5.0, 0.0), (0.0, -10.0, 0.0)), Settings(32, 32, background=None))
    assert (np.asarray(away.picture(0.0))[:, :, 3] > 0).any()  # it looks away: a fitted view is taken
    forced = Renderer(with_camera((0.0, -5.0, 0.0), (0.0, -10.0, 0.0)), Settings(32, 32, camera="eye", background=None))
    assert not np.asarray(forced.picture(0.0))[:, :, 3].any()
    with pytest.raises(LookupError, match="no camera is named 'other'"):
        Renderer(Scene(), Settings(camera="other"))


def test_a_camera_that_points_past_the_scene_is_not_used() -> None:
    """The square is 2 units wide; half of 5 units at 45 degrees is 2.07: aiming 2.9 to the side leaves a thin strip."""
    past = Renderer(with_camera((2.9, -5.0, 0.0), (2.9, 0.0, 0.0)), Settings(32, 32, background=None))
    assert len(np.flatnonzero(np.asarray(past.picture(0.0))[:, :, 3].any(axis=0))) > 20
    close = Renderer(with_camera((0.5, -1.2, 0.5), (0.5, 0.0, 0.5)), Settings(32, 32, background=None))
    assert (np.asarray(close.picture(0.0))[:, :, 3] == 255).all()  # it shows a part, but fills the picture


def test_a_camera_that_shows_something_later_is_used() -> None:
    scene = with_camera((0.0, -5.0, 0.0), (0.0, 0.0, 0.0))
    away = Track("position", np.array([0.0, 5.0]), np.array([[90.0, 0, 0], [0, 0, 0]]))
    scene.clips.append(Clip("come", [Channel(0, away)], 0.0, 10.0, 20.0))
    film = Renderer(scene, Settings(32, 32, background=None), frames=range(11))
    empty, full = (np.asarray(picture)[:, :, 3] for picture in film.pictures([0.0, 10.0]))
    assert not empty.any()
    assert full[16, 16] == 255
    assert full[:3].max() == 0  # at the distance of the camera


@pytest.mark.parametrize("strength", [1e30, 3e38, 1e300])
def test_blinding_light_of_a_damaged_file_still_gives_a_picture(strength: float) -> None:
    """The light overflows: numpy must not warn about infinities."""
    scene = scene_of(square(), materials=[Material("red", diffuse=(1.0, 0.0, 0.0))])
    scene.lights.append(Light("sun", LightType.OMNI, multiplier=strength))
    scene.nodes.append(Node("sun", NodeKind.LIGHT, light=0, position=np.array([0.0, -5.0, 0.0])))
    picture = np.asarray(Renderer(scene, Settings(32, 32)).picture(0.0).convert("RGB"))
    assert picture[16, 16].tolist() == [255, 0, 0]


def test_background_is_a_color_or_that_of_the_file() -> None:
    with pytest.raises(ValueError, match="background must be a colour, file or None, not 'white'"):
        keyframer.render(Scene(), background="white")


@pytest.mark.parametrize(("width", "height"), [(0, 10), (10, 5000)])
def test_sizes_are_limited(width: int, height: int) -> None:
    with pytest.raises(ValueError, match="pixels wide and high"):
        Settings(width, height)


def test_a_film_shows_the_motion_from_one_view() -> None:
    studio = Renderer(moving_scene(), Settings(48, 48, camera="fit", background=None))
    studio.frames = studio.spread(4, with_last=False)
    assert studio.frames == [0.0, 5.0, 10.0, 15.0]
    assert studio.seconds == 1.0
    pictures = list(studio.pictures(studio.frames))
    middles = [np.flatnonzero(np.asarray(picture)[:, :, 3].any(axis=0)).mean() for picture in pictures]
    assert middles[0] < middles[1] < middles[2]
    assert np.isclose(middles[1], middles[3], atol=0.6)


@pytest.mark.parametrize("kind", ["gif", "apng", "webp"])
@pytest.mark.parametrize("background", [(250, 250, 250), None])
def test_films_are_animated_and_deterministic(kind: str, background: tuple[int, int, int] | None) -> None:
    def film() -> bytes:
        studio = Renderer(moving_scene(), Settings(24, 20, background=background))
        return encode_animation(list(studio.pictures(studio.spread(4, with_last=False))), studio.seconds, kind)

    data = film()
    assert data == film()
    with Image.open(io.BytesIO(data)) as opened:
        assert opened.size == (24, 20)
        assert opened.n_frames == 4
        total = 0
        for number in range(4):
            opened.seek(number)
            opened.load()
            total += int(opened.info["duration"])
        assert total == 1000
        assert opened.info.get("loop") == 0


def test_durations_do_not_drift() -> None:
    assert sum(durations([1 / 7] * 7, 10)) == 1000
    assert min(durations([0.001] * 1000, 10)) == 20  # no browser plays faster
    assert durations([0.1, 0.5, 0.2], 10) == [100, 500, 200]
    assert durations([1e300, 1.0], 10) == [300_000, 1_000]  # ten minutes are enough
    with pytest.raises(ValueError, match="must be one of png, jpg, gif, apng, webp, mp4"):
        encode_animation([Image.new("RGB", (2, 2))], 1.0, "mpeg")


@pytest.mark.parametrize("kind", ["gif", "apng", "webp"])
@pytest.mark.parametrize("rate", [1e-3, 1e-300])
@pytest.mark.parametrize("frames", [None, (0.0, 5.0, 10.0)])
def test_durations_of_films_with_little_motion_are_limited(
    kind: str, rate: float, frames: tuple[float, ...] | None
) -> None:
    """Equal pictures are merged into one, whose duration must still be valid in the file format."""
    scene = scene_of(square())
    scene.clips = [Clip("slow", start=0.0, end=20.0, rate=rate)]
    opened = Image.open(
        io.BytesIO(Presentation(kind, frames=frames, pictures=4).data(Renderer(scene, Settings(16, 16))))
    )
    total = 0
    for number in range(getattr(opened, "n_frames", 1)):
        opened.seek(number)
        opened.load()
        total += int(opened.info.get("duration", 0))
    assert total <= 600_000
    assert len(Presentation(kind, frames=frames).data(Renderer(scene, Settings(16, 16)))) > 0


@pytest.mark.parametrize("background", [(0, 0, 0), (255, 255, 255)])
def test_frame_numbers_are_readable_on_any_background(background: tuple[int, int, int]) -> None:
    studio = Renderer(Scene(), Settings(120, 90, background=background))
    sheet = np.asarray(studio.sheet([33.3333, 7.0], 2).convert("L")).astype(int)
    for label in (sheet[:20, :50], sheet[:20, 120:150]):
        assert (label < 110).sum() >= 6  # the digits
        assert (label > 230).sum() >= 15  # the background of the numbers
    blank = np.asarray(studio.picture(0).convert("L"))
    assert (blank[:20, :50] == blank[0, 0]).all()


def test_a_contact_sheet() -> None:
    studio = Renderer(moving_scene(), Settings(40, 30))
    sheet = studio.sheet(studio.spread(5, with_last=True), 3)
    assert sheet.size == (120, 60)
    with pytest.raises(ValueError, match="too large"):
        studio.sheet([0.0] * 1000, 1000)


def test_the_default_frame() -> None:
    scene = moving_scene()
    assert Renderer(scene).default_frame == 0.0
    scene.clips[0].current = 7.0
    assert Renderer(scene).default_frame == 7.0
    scene.clips[0].current = 700.0
    assert Renderer(scene).default_frame == 0.0


def test_backgrounds() -> None:
    scene = Scene(environment=Environment(background_color=(1.0, 0.0, 0.0), uses={"background_color"}))
    assert Renderer(scene, Settings(4, 4, background="file")).picture(0.0).getpixel((0, 0)) == (255, 0, 0)
    assert Renderer(scene, Settings(4, 4, background=(1, 2, 3))).picture(0.0).getpixel((0, 0)) == (1, 2, 3)
    assert Renderer(scene, Settings(4, 4, background=None)).picture(0.0).getpixel((0, 0)) == (0, 0, 0, 0)
    scene.environment = Environment(
        gradient=Gradient(0.5, [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]), uses={"gradient"}
    )
    picture = Renderer(scene, Settings(5, 5, background="file")).picture(0.0)
    assert [picture.getpixel((0, y)) for y in (0, 2, 4)] == [(255, 0, 0), (0, 255, 0), (0, 0, 255)]


def test_the_example_fills_the_picture() -> None:
    scene = keyframer.load(EXAMPLE)
    for camera in ("auto", "fit"):
        studio = Renderer(scene, Settings(64, 64, camera=camera, background=None))
        alpha = np.asarray(studio.picture(0.0))[:, :, 3] > 0
        assert alpha.any()
        if camera == "fit":
            border = np.concatenate([alpha[0], alpha[-1], alpha[:, 0], alpha[:, -1]])
            assert not border.any()
            assert alpha.any(axis=1).sum() > 50 or alpha.any(axis=0).sum() > 50
    assert encode_still(studio.picture(0.0)) == encode_still(studio.picture(0.0))


def test_a_renderer_of_another_size_draws_what_a_new_one_draws() -> None:
    scene = keyframer.load(EXAMPLE)
    first = Renderer(scene, Settings(64, 64), frames=[0.0, 40.0])
    first.picture(0.0)
    wide = first.sized(96, 48)
    assert encode_still(wide.picture(20.0)) == encode_still(Renderer(scene, Settings(96, 48)).picture(20.0))


def test_rendering_has_a_budget_in_the_library_too(tmp_path: Path) -> None:
    """1,361 nodes of a small file that show one mesh."""
    (tmp_path / "a.3ds").write_bytes(ATTACKS["instances_of_one_mesh"]()["a.3ds"])
    scene = keyframer.load(tmp_path / "a.3ds")
    with pytest.raises(keyframer.FormatError, match="LIMIT_FACES"):
        Renderer(scene, Settings(16, 16))
    with Budget(Limits(faces=10**9)).opened():
        Renderer(scene, Settings(16, 16))


@pytest.mark.parametrize("bones", [False, True])
def test_a_picture_without_some_faces_is_incomplete(bones: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    joints = Scene(nodes=[Node("a"), Node("b", parent=0, position=np.array([0.0, 0, 5])), Node("c", parent=1)])
    scene = joints if bones else scene_of(square())
    for share, complete in ((1, True), (10**12, False)):
        monkeypatch.setattr("keyframer.rendering.raster._BUDGET_SHARES", share)
        renderer = Renderer(scene, Settings(width=32, height=32))
        renderer.picture(0.0)
        assert renderer.complete is complete
