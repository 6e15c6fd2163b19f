"""Options with impossible values are refused in one line that says what is wrong and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.building import files as w
from tests.cli.running import Run

OUT = {"convert": "x.glb", "thumbnail": "x.png", "plot": "x.svg", "sample": "x.json"}


@pytest.mark.parametrize(
    ("command", "option", "value", "allowed"),
    [
        ("convert", "--unit", "1e300", "1e-09 to 1e+09"),
        ("convert", "--scale", "1e300", "1e-09 to 1e+09"),
        ("convert", "--cut", "0:1e12", "from -1e+07 to 1e+07"),
        ("convert", "--cut", "nan:5", "from -1e+07 to 1e+07"),
        ("convert", "--max-error", "1e-300", "1e-08 to 1"),
        ("convert", "--rate", "1e300", "0.001 to 100000"),
        ("convert", "--fps", "1e300", "0.001 to 100000"),
        ("convert", "--fps", "nan", "0.001 to 100000"),
        ("sample", "--fps", "0", "0.001 to 100000"),
        ("sample", "--frames", "0:1e12", "from -1e+09 to 1e+09"),
        ("sample", "--frames", "0:1e8", "1e+08 frames, the limit is 1000000"),
        ("sample", "--frames", "0:1:1e-300", "1e+300 frames, the limit is 1000000"),
        ("sample", "--times", "inf", "from -1e+09 to 1e+09"),
        ("thumbnail", "--frames", "0:1e12", "from -1e+09 to 1e+09"),
        ("thumbnail", "--frames", "0:5000", "at most 1000"),
        ("thumbnail", "--frame", "1e300", "from -1e+07 to 1e+07"),
        ("thumbnail", "--size", "999999999", "1 to 4096"),
        ("thumbnail", "--size", "9" * 300, "1 to 4096"),
        ("thumbnail", "--sheet", "9999x9999", "at most 1000"),
        ("thumbnail", "--pictures", "1000000000", "1 to 1000"),
        ("thumbnail", "--around", "1e300", "-360 to 360"),
        ("thumbnail", "--above", "nan", "-90 to 90"),
        ("plot", "--most", "1000000000", "1 to 1000"),
        ("plot", "--span", "0:1e300", "from -1e+11 to 1e+11"),
        ("check", "--limit", "keys=1e300", "from 1 to 1e15"),
        ("check", "--limit", "kees=5", "(known: file_size"),
    ],
)
def test_impossible_values_are_refused(
    run: Run, tmp_path: Path, command: str, option: str, value: str, allowed: str
) -> None:
    source = tmp_path / "a.3ds"
    source.write_bytes(w.editor(w.mesh(w.points(*w.TRIANGLE), w.faces((0, 1, 2)))))
    output = ["-o", str(tmp_path / OUT[command])] if command in OUT else []
    ran = run(command, source, *output, f"{option}={value}")
    assert ran.code == 2
    line = ran.err.splitlines()[-1]
    assert allowed in line
    assert len(line) < 500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.3ds"]


def test_limits_can_be_set_by_an_option(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "a.3ds"
    source.write_bytes(w.keyframer(w.node(b"a", 0), w.node(b"b", 1)))
    ran = run("sample", source, "--frames", "0:9", "--limit", "samples=100")
    assert ran.code == 3
    assert ran.err.count("\n") == 1
    assert "LIMIT_SAMPLES" in ran.err
    assert "the limit is 100; --limit samples=N allows more" in ran.err
    assert run("sample", source, "--frames", "0:9", "--limit", "samples=400").code == 0
