"""``batch X`` writes the same bytes as ``X``, for files of every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from keyframer.batch import Ledger
from keyframer.batch.job import LEDGER
from tests.batch.places import put
from tests.cli.running import Run
from tests.samples import all_samples


@pytest.mark.parametrize(
    "words",
    ["convert --scale 2 --dialect text", "thumbnail --size 16 --frame 2", "info"],
)
def test_batch_writes_what_the_command_writes(run: Run, tmp_path: Path, words: str) -> None:
    operation, *options = words.split()
    for number, (_, path) in enumerate(all_samples()):
        if number % 9 == 0 and path.stat().st_size < 3_000:
            put(tmp_path / "in" / f"{number:02}{path.suffix}", path.read_bytes())
    put(tmp_path / "in" / "bad.3ds", b"\x00\x01 nothing of ours")
    one, many = tmp_path / "one", tmp_path / "many"
    one.mkdir()
    run("batch", operation, tmp_path / "in", "-o", many, "-q", "-j", "2", *options)
    with Ledger(str(many / LEDGER), read_only=True) as ledger:
        rows = list(ledger.rows())
    writes_files = operation in ("convert", "thumbnail")
    for row in rows:
        ran = run(operation, row["source"], *(["-o", one, "-q"] if writes_files else ["--format", "json"]), *options)
        assert ran.code == {"done": 0, "findings": 1, "failed": 3}[row["status"]], (row, ran.err)
        for output in row["outputs"]:
            written = Path(output["path"])
            assert written.read_bytes() == ((one / written.name).read_bytes() if writes_files else ran.out.encode())
    assert len([row for row in rows if row["outputs"]]) > 4
