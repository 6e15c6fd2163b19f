"""Samples of looks: the exported files have the values that are written down beside the samples, and our own pictures
of a sample and of its export are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.scene.loss_report import LossReport
from tests.cli.running import Run
from tests.exchange.test_gltf_textures import embedded
from tests.exchange.truth import assert_valid, needs_node_tools
from tests.oracles.gltf.sampler import Gltf
from tests.samples import FOLDER

SAMPLES = sorted(path.stem for path in (FOLDER / "3ds").glob("looks_*.json"))
IMAGES = FOLDER / "3ds" / "images"
per_sample = pytest.mark.parametrize("name", SAMPLES)


def expected_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "3ds" / f"{name}.json").read_text())
    return found


def exported(name: str, folder: Path) -> tuple[Gltf, LossReport, Path]:
    path = folder / f"{name}.glb"
    report = keyframer.save(keyframer.load(FOLDER / "3ds" / f"{name}.3ds"), path, texture_path=IMAGES)
    return Gltf(path.read_bytes()), report, path


def differences(expected: Any, found: Any, place: str = "") -> list[str]:
    """Return where a JSON value differs from the expected part of it; None is expected for what must be missing."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return [line for key, part in expected.items() for line in differences(part, found.get(key), f"{place}/{key}")]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) <= len(found):
        pairs = enumerate(zip(expected, found, strict=False))
        return [line for at, (part, other) in pairs for line in differences(part, other, f"{place}[{at}]")]
    if isinstance(expected, float | int) and isinstance(found, float | int):
        return [] if abs(expected - found) < 1e-5 else [f"{place}: {found}, expected {expected}"]
    return [] if expected == found else [f"{place}: {found}, expected {expected}"]


def base_color(gltf: Gltf, material: str) -> dict[str, Any]:
    (found,) = [entry for entry in gltf.json["materials"] if entry["name"] == material]
    texture: dict[str, Any] = found["pbrMetallicRoughness"]["baseColorTexture"]
    return texture


@per_sample
def test_export_has_the_expected_values(name: str, tmp_path: Path) -> None:
    expected = expected_of(name)
    gltf, report, _ = exported(name, tmp_path)
    assert not differences(expected["gltf"], gltf.json)
    for material, points in expected.get("pixels", {}).items():
        pixels = embedded(gltf, base_color(gltf, material)).astype(int)
        height, width = pixels.shape[:2]
        for u, v, *color in points:
            found = pixels[min(int(v * height), height - 1), min(int(u * width), width - 1)]
            assert np.abs(found - color[: len(found)]).max() <= 1, (material, u, v)
            assert len(found) == 4 or color[3] == 255
    for material, sampler in expected.get("samplers", {}).items():
        texture = gltf.json["textures"][base_color(gltf, material)["index"]]
        assert not differences(sampler, gltf.json["samplers"][texture["sampler"]], material)
    for mesh, count in expected.get("normals", {}).items():
        (found,) = [entry for entry in gltf.json["meshes"] if entry["name"] == mesh]
        normals = gltf.accessor(found["primitives"][0]["attributes"]["NORMAL"])
        assert len(np.unique(np.round(normals, 4), axis=0)) == count, mesh
    if "seconds" in expected:
        ends = [gltf.json["accessors"][part["input"]]["max"][0] for part in gltf.json["animations"][0]["samplers"]]
        assert max(ends) == pytest.approx(expected["seconds"])
    lines = [
        ([loss.outcome.value, loss.path, loss.type.key], " ".join(map(str, loss.args.values()))) for loss in report
    ]
    for *line, words in expected["lines"]:
        assert [args for found, args in lines if found == line and words in args], (line, words)


@per_sample
def test_issues_of_values_without_a_meaning(name: str) -> None:
    issues = keyframer.check(FOLDER / "3ds" / f"{name}.3ds").issues
    assert {issue.code for issue in issues} >= set(expected_of(name).get("issues", ()))


@per_sample
def test_picture_of_the_export_is_that_of_the_sample(name: str, tmp_path: Path) -> None:
    """Also of the images that were made for it: what is in their pixels is not done again, even if the images that they
    were made from are found."""
    gltf, _, path = exported(name, tmp_path)
    sources = ((FOLDER / "3ds" / f"{name}.3ds", [IMAGES]), (path, [IMAGES]))
    first, second = (
        np.asarray(keyframer.render(file, size=(360, 120), lights="studio", background=None, texture_path=folders))
        for file, folders in sources
    )
    difference = np.abs(first.astype(int) - second).max(axis=2)
    assert (difference > 12).mean() < 0.003  # edges of images
    keyframer.save(keyframer.load(path), tmp_path / "again.glb")
    again = Gltf((tmp_path / "again.glb").read_bytes()).json["materials"]
    for one, other in zip(gltf.json["materials"], again, strict=True):
        for key in ("pbrMetallicRoughness", "alphaMode", "emissiveFactor"):
            assert one.get(key) == other.get(key), one["name"]


@pytest.mark.parametrize(("frames", "seconds", "first"), [(None, 1.0, 0.0), ("active", 0.5, 5.0), ("5:20", 0.5, 5.0)])
def test_cut_active_writes_the_frames_that_the_file_plays(
    run: Run, tmp_path: Path, frames: str | None, seconds: float, first: float
) -> None:
    """Frames 5 to 20 of 0 to 30, at 30 per second; the triangle moves one unit per frame."""
    options = [] if frames is None else ["--cut", frames]
    assert run("convert", FOLDER / "3ds" / "looks_segment.3ds", tmp_path / "a.glb", *options).code == 0
    (clip,) = keyframer.load(tmp_path / "a.glb").clips
    (track,) = [channel.track for channel in clip.channels if channel.track.kind == "position"]
    assert track.times[-1] / clip.rate == pytest.approx(seconds)
    assert np.abs(track.values[0]).max() == pytest.approx(first, abs=0.01)


@needs_node_tools
def test_validator_accepts_the_exports(tmp_path: Path) -> None:
    assert_valid([exported(name, tmp_path)[2] for name in SAMPLES])
