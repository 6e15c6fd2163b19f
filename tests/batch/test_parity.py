"""``batch X`` writes the same bytes as ``X`` with the same options, for files of every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from keyframer.batch import Ledger
from keyframer.batch.job import LEDGER
from tests.batch.places import put
from tests.cli.conftest import run as run  # the fixture
from tests.cli.running import EXAMPLE, Run, spawn
from tests.samples import all_samples
from tests.slow import SLOW

PICTURES = (
    ["--size", "24"],
    ["--size", "16x24", "--sheet", "2x1", "--background", "#102030", "--no-textures"],
    ["--size", "16", "--to", "gif", "--pictures", "2", "--camera", "fit", "--lights", "studio", "--salvage"],
    ["--size", "16", "--frames", "0,3", "--bones", "always", "--around", "10"],
)
CONVERSIONS = (
    [],
    ["--core-only", "--max-error", "1e-3", "--no-textures", "--keys", "cubic"],
    ["--dialect", "text", "--unit", "cm", "--fps", "12", "--keys", "frames"],
    ["--to", "uto3d", "--dialect", "A", "--scale", "2", "--fps", "20"],
    ["--axes", "y-up", "--reverse", "--salvage"],
    ["--to", "hale3d", "--write", "fps=10"],
)
REPORTS = (
    ("identify", []),
    ("check", []),
    ("check", ["--only", "DATA_", "--only", "STRUCT_"]),
    ("info", []),
    ("info", ["--encoding", "cp437", "--table", "nodes", "--table", "textures"]),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with samples of every format, damaged ones among them, a pair, an image and glTF."""
    folder = tmp_path_factory.mktemp("samples")
    for number, (_, path) in enumerate(all_samples()):
        if number % (4 if SLOW else 9) == 0 and path.stat().st_size < 3_000:
            put(folder / f"{number:02}{path.suffix}", path.read_bytes())
    pair = {path.name: path.read_bytes() for _, path in all_samples()}
    put(folder / "pair.anim", pair["wave-length.anim"])
    put(folder / "pair.mdl", pair["arm-length.mdl"])
    put(folder / "bad.3ds", b"\x00\x01 nothing of ours")
    Image.new("RGB", (4, 4), (255, 128, 0)).save(folder / "SLEEVE.png")
    for name in ("made.glb", "text.gltf"):
        assert spawn("convert", EXAMPLE, folder / name).returncode == 0
    return folder


def ids_of(value: str | list[str]) -> str:
    return value if isinstance(value, str) else " ".join(value)


def rows(out: Path) -> list[dict[str, Any]]:
    with Ledger(str(out / LEDGER), read_only=True) as ledger:
        return list(ledger.rows())


@pytest.mark.parametrize(
    ("operation", "options"),
    [*(("convert", options) for options in CONVERSIONS), *(("thumbnail", options) for options in PICTURES)],
    ids=ids_of,
)
def test_files(run: Run, folder: Path, tmp_path: Path, operation: str, options: list[str]) -> None:
    one, many = tmp_path / "one", tmp_path / "many"
    one.mkdir()
    run("batch", operation, folder, folder / "made.glb", folder / "text.gltf", "-o", many, "-q", "-j", "2", *options)
    done = 0
    for row in rows(many):
        ran = run(operation, row["source"], "-o", one / row["output"], "-q", *options)
        assert ran.code == {"done": 0, "findings": 1, "failed": 3}[row["status"]], (row, ran.err)
        for output in row["outputs"]:
            name = Path(output["path"]).name
            assert (one / name).read_bytes() == (many / name).read_bytes(), row["source"]
            done += 1
    assert done == len(list(one.iterdir()))
    assert done > 4


@pytest.mark.parametrize(("operation", "options"), REPORTS, ids=ids_of)
def test_reports(run: Run, folder: Path, tmp_path: Path, operation: str, options: list[str]) -> None:
    run("batch", operation, folder, "-o", tmp_path / "many", "-q", "-j", "2", *options)
    batch_rows = rows(tmp_path / "many")
    assert any(row["source"].endswith("made.glb") for row in batch_rows)
    for row in batch_rows:
        ran = run(operation, row["source"], "--format", "json", *options)
        assert ran.code == {"done": 0, "findings": 1, "failed": 3}[row["status"]], row
        for output in row["outputs"]:
            assert Path(output["path"]).read_text() == ran.out, row["source"]
