"""Salvaged scenes, written again, are valid, list what is missing, and need no second salvage."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import keyframer
from keyframer.scene.loss_report import CannotWrite
from tests.samples import saved_samples

SMALL = list(saved_samples())


def damaged(data: bytes, name: str) -> list[bytes]:
    """Return the file cut at eight places; only those that can be read but not loaded."""
    cuts = []
    for part in range(1, 9):
        cut = data[: len(data) * part // 9]
        try:
            document = keyframer.decode(cut, format=name)
        except keyframer.FormatError:
            continue
        if document.issues.first_unsafe() is not None:
            cuts.append(cut)
    return cuts


@pytest.mark.parametrize(("name", "path"), SMALL, ids=lambda value: getattr(value, "name", value))
def test_salvaged_scene_is_valid_in_its_own_format(tmp_path: Path, name: str, path: Path) -> None:
    for number, cut in enumerate(damaged(path.read_bytes(), name)):
        source = tmp_path / f"{number}{path.suffix}"
        source.write_bytes(cut)
        scene = keyframer.load(source, format=name, salvage=True)
        out = tmp_path / f"saved{number}{path.suffix}"
        try:
            report = keyframer.save(scene, out, format=name)
        except CannotWrite:
            continue
        unsafe = scene.issues.unsafe_counts()
        left_out = [loss for loss in report if loss.type.key == "READING_LEFT_OUT:salvage"]
        assert unsafe
        assert all(any(str(loss.args["problem"]).startswith(code) for loss in left_out) for code in unsafe)
        assert [issue for issue in keyframer.check(out, format=name).issues if issue.unsafe] == []
        again = keyframer.load(out, format=name)
        assert again.issues.first_unsafe() is None
        assert source.read_bytes() == cut


@pytest.mark.parametrize("name", ["3ds", "uto3d", "hale3d", "midtown", "nodeanim", "ase"])
def test_every_format_has_damaged_samples_that_can_be_salvaged(name: str) -> None:
    assert sum(len(damaged(path.read_bytes(), known)) for known, path in SMALL if known == name) >= 2


def test_glb_states_that_it_was_salvaged(tmp_path: Path) -> None:
    whole = next(path for name, path in SMALL if path.name == "windmill.3ds")
    cut = tmp_path / "cut.3ds"
    cut.write_bytes(whole.read_bytes()[:2000])
    scene = keyframer.load(cut, salvage=True)
    for source, expected in (
        (scene, {"STRUCT_TRUNCATED": 1, "STRUCT_COUNT_EXCEEDS_DATA": 1}),
        (keyframer.load(whole), None),
    ):
        report = keyframer.save(source, tmp_path / "a.glb", overwrite=True)
        data = (tmp_path / "a.glb").read_bytes()
        about = json.loads(data[20 : 20 + struct.unpack_from("<I", data, 12)[0]])["asset"]["extras"]["keyframer"]
        assert about.get("salvaged") == expected
        dropped = [(loss.source_path, loss.source_offset) for loss in report if loss.case == "salvage"]
        assert dropped == ([] if expected is None else [("/4d4d", 2), ("/4d4d/3d3d/4000[4]/4100/4110/points", 1973)])
