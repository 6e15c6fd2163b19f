"""Textured, animated files rendered by three.js: the model is visible, upright and moving."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import keyframer
from tests.exchange.test_gltf_textures import validate
from tests.exchange.textured import make_files
from tests.exchange.truth import needs_node_tools
from tests.oracles.gltf.pictures import Painter, Shown, open_painter, why_no_pictures

WHY = why_no_pictures()
needs_pictures = pytest.mark.skipif(WHY is not None, reason=str(WHY))
SIZE = (300, 260)


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("textured")
    paths = {}
    for source in make_files(folder):
        report = keyframer.save(keyframer.load(source), source.with_suffix(".glb"))
        assert not [loss for loss in report if "not found" in loss.detail]
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


@needs_node_tools
def test_validator_accepts_the_files(converted: dict[str, Path]) -> None:
    validate(list(converted.values()))
