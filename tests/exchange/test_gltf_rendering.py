"""Textured, animated files rendered by three.js: the model is visible, upright and moving."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.scene import Handedness, Material, Node, Scene, Space
from tests.exchange.textured import make_files
from tests.exchange.truth import assert_valid, needs_node_tools
from tests.oracles.gltf.pictures import Painter, Shown, open_painter, why_no_pictures
from tests.rendering.simple import scene_of, square, turned_square

WHY = why_no_pictures()
needs_pictures = pytest.mark.skipif(WHY is not None, reason=str(WHY))
SIZE = (300, 260)


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("textured")
    paths = {}
    for source in make_files(folder):
        report = keyframer.save(keyframer.load(source), source.with_suffix(".glb"))
        assert not [loss for loss in report if loss.code == "IMAGE_MISSING"]
        paths[source.stem] = source.with_suffix(".glb")
    return paths


@pytest.fixture(scope="module")
def painter() -> Iterator[Painter]:
    with open_painter() as opened:
        yield opened


def two_pictures(painter: Painter, path: Path) -> tuple[Shown, np.ndarray, np.ndarray]:
    shown = painter.show(path, (0.0, 0.4), SIZE)
    first, second = (np.asarray(picture, np.int64) for picture in shown.pictures)
    return shown, first, second


@needs_pictures
@pytest.mark.parametrize("name", ["windmill", "globe", "snake"])
def test_model_is_visible_and_moves(painter: Painter, converted: dict[str, Path], name: str) -> None:
    shown, first, second = two_pictures(painter, converted[name])
    for pixels in (first, second):
        background = pixels[0, 0]
        drawn = np.abs(pixels - background).max(axis=2) > 12
        assert drawn.mean() > 0.03
        assert not drawn[:, [0, -1]].any()  # the whole model is in the picture
    assert (np.abs(first - second).max(axis=2) > 40).mean() > 0.01
    assert shown.seconds > 1.5
    assert shown.image_widths
    assert not painter.troubles


@needs_pictures
def test_textures_are_upright(painter: Painter, converted: dict[str, Path]) -> None:
    """The image of the globe is red above and blue below; the windmill's stones are as light and dark as in their
    image."""
    for pixels in two_pictures(painter, converted["globe"])[1:]:
        red, _, blue = np.moveaxis(pixels, 2, 0)
        caps, feet = np.nonzero(red > blue + 90)[0], np.nonzero((blue > red + 20) & (blue < 110))[0]
        assert min(len(caps), len(feet)) > 100
        assert caps.mean() + 60 < feet.mean()
    pixels = two_pictures(painter, converted["windmill"])[1]
    tower = pixels[120:240, 130:170].reshape(-1, 3)
    assert tower.std(axis=0).min() > 25


@needs_pictures
def test_picture_is_unchanged_after_another_export(
    painter: Painter, converted: dict[str, Path], tmp_path: Path
) -> None:
    """Loading and exporting again changes nothing visible."""
    for name, path in converted.items():
        again = tmp_path / f"{name}.glb"
        keyframer.save(keyframer.load(path), again)
        pair = zip(two_pictures(painter, path)[1:], two_pictures(painter, again)[1:], strict=True)
        for before, after in pair:
            assert (np.abs(before - after).max(axis=2) > 24).mean() < 0.002


def quads() -> dict[str, tuple[Scene, bool]]:
    """Squares that face the viewer or turn their back, and whether they are visible by the rules of glTF: the corners
    of a front run counter-clockwise, below a node that mirrors them clockwise."""
    out: dict[str, tuple[Scene, bool]] = {}
    for name, mesh, is_front in (("front", square, True), ("back", turned_square, False)):
        out[name] = scene_of(mesh(), materials=[Material("one-sided")]), is_front
        out[f"{name} without a material"] = scene_of(mesh()), is_front
        out[f"two-sided {name}"] = scene_of(mesh(), materials=[Material("two-sided", two_sided=True)]), True
        glass = Material("glass", transparency=0.5)
        out[f"translucent {name}"] = scene_of(mesh(), materials=[glass]), is_front
        left = scene_of(mesh(), materials=[Material("one-sided")])
        left.space = Space("z", Handedness.LEFT)
        out[f"left-handed {name}"] = left, is_front
        mirrored = scene_of(mesh(), materials=[Material("one-sided")])
        mirrored.nodes[0].scale = np.array([-1.0, 1.0, 1.0])
        out[f"mirrored {name}"] = mirrored, is_front
        again = replace(mirrored, nodes=[*mirrored.nodes, Node("above", scale=np.array([1.0, 1.0, -1.0]))])
        again.nodes[0].parent = 1
        out[f"{name} mirrored twice"] = again, is_front
    return out


@pytest.mark.parametrize("name", quads())
def test_backs_of_faces_are_drawn_by_the_rules_of_gltf(name: str) -> None:
    scene, is_visible = quads()[name]
    for two_sided in (False, True):
        picture = np.asarray(keyframer.render(scene, size=64, background=None, two_sided=two_sided))
        assert (picture[:, :, 3].max() > 0) == (is_visible or two_sided)


@needs_pictures
def test_three_js_shows_the_same_faces(painter: Painter, tmp_path: Path) -> None:
    for name, (scene, is_visible) in quads().items():
        keyframer.save(scene, tmp_path / f"{name}.glb")
        pixels = np.asarray(painter.show(tmp_path / f"{name}.glb", (0.0,), (64, 64)).pictures[0])
        assert (pixels != pixels[0, 0]).any() == is_visible, name


@needs_node_tools
def test_validator_accepts_the_files(converted: dict[str, Path]) -> None:
    assert_valid(list(converted.values()))
