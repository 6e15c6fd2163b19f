"""Every real file and every sample that names images, with an image for every name: the validator accepts the export,
and loading and exporting it again keeps the images."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

import keyframer
from keyframer.scene import Scene
from tests.corpus import CORPUS, needs_corpus, threeds_files
from tests.exchange.test_gltf_corpus import strict_scene
from tests.exchange.test_gltf_textures import image_bytes, picture, stencil
from tests.exchange.truth import assert_valid, needs_node_tools
from tests.oracles.gltf.sampler import Gltf
from tests.samples import all_samples

pytestmark = needs_node_tools
GROUPS = 4
_KINDS = ("PNG", "JPEG", "TGA", "GIF", "BMP")


def write_images(scene: Scene, folder: Path) -> int:
    """Write an image for every name, in alternating formats; return how many maps use one."""
    served = 0
    for material in scene.materials:
        for slot, texture in material.maps.items():
            name = re.split(r"[\\/]", texture.file_name)[-1]
            if not name or name.startswith(".") or not name.isprintable():
                continue
            kind = _KINDS[sum(name.encode()) % len(_KINDS)]
            image: Image.Image = stencil() if slot in ("opacity", "bump") else picture()
            image.save(folder / name, kind)
            served += 1
    return served


def round_trip(paths: list[Path], folder: Path) -> int:
    written, maps = [], 0
    for number, path in enumerate(paths):
        scene = strict_scene(path)
        beside = folder / str(number)
        beside.mkdir()
        served = 0 if scene is None else write_images(scene, beside)
        if scene is None or not served:
            continue
        maps += served
        first, second = folder / f"{number}-a.glb", folder / f"{number}-b.glb"
        keyframer.save(scene, first, texture_path=beside)
        keyframer.save(keyframer.load(first), second)
        one, other = Gltf(first.read_bytes()), Gltf(second.read_bytes())
        count = len(one.json.get("images", []))
        assert {image_bytes(one, at) for at in range(count)} == {
            image_bytes(other, at) for at in range(len(other.json.get("images", [])))
        }, path.name
        written += [first, second]
    assert_valid(written)
    return maps


@needs_corpus
@pytest.mark.parametrize("group", range(GROUPS))
def test_real_files_with_images(group: int, tmp_path: Path) -> None:
    assert round_trip(threeds_files()[group::GROUPS], tmp_path) > 20


@needs_corpus
def test_makbot_and_real_models_with_images(tmp_path: Path) -> None:
    models = sorted((CORPUS / "hale3d").rglob("*.mdl"))
    assert round_trip([CORPUS / "makbot" / "mak_running.3DS", *models], tmp_path) >= 3


def test_samples_with_images(tmp_path: Path) -> None:
    assert round_trip([path for _, path in all_samples()], tmp_path) >= 2
