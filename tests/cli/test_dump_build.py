"""``keyframer dump`` and ``keyframer build``: documents as text and back, output paths, and refused arguments."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import EXAMPLE, Run, check_schema, spawn


def test_dump_and_build_restore_the_file(run: Run, tmp_path: Path) -> None:
    text, copy = tmp_path / "scene.json", tmp_path / "copy.3ds"
    assert run("dump", EXAMPLE, "-o", text).code == 0
    assert run("build", text, "-o", copy).code == 0
    assert copy.read_bytes() == EXAMPLE.read_bytes()


def test_stdout_and_stdin() -> None:
    text = spawn("dump", EXAMPLE)
    assert text.returncode == 0
    check_schema("text", json.loads(text.stdout))
    built = spawn("build", "-", "-o", "-", stdin=text.stdout)
    assert built.stdout == EXAMPLE.read_bytes()


def test_without_offsets(run: Run, tmp_path: Path) -> None:
    out = run("dump", "--no-offsets", EXAMPLE).out
    assert '"offset"' not in out
    (tmp_path / "t.json").write_text(out)
    assert run("build", tmp_path / "t.json", "-o", tmp_path / "t.3ds").code == 0
    assert (tmp_path / "t.3ds").read_bytes() == EXAMPLE.read_bytes()


def test_folders_keep_their_tree(run: Run, tmp_path: Path) -> None:
    models = tmp_path / "models"
    for name in ("a.3ds", "inner/b.3ds", "inner/rubbish.3ds"):
        path = models / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(EXAMPLE.read_bytes() if "rubbish" not in name else b"rubbish")
    ran = run("dump", "-r", models, "-o", tmp_path / "text", "-v")
    assert ran.code == 3
    assert ran.err.count("IO_UNRECOGNISED") == 1
    assert ran.err.count("->") == 2
    assert run("build", "-r", tmp_path / "text", "-o", tmp_path / "again").code == 0
    built = sorted(str(path.relative_to(tmp_path / "again")) for path in (tmp_path / "again").rglob("*.3ds"))
    assert built == ["a.3ds", "inner/b.3ds"]
    assert (tmp_path / "again" / "inner" / "b.3ds").read_bytes() == EXAMPLE.read_bytes()


def test_suffix_as_output_writes_beside_each_input(run: Run, tmp_path: Path) -> None:
    for name in ("a.3ds", "b.3ds"):
        (tmp_path / name).write_bytes(EXAMPLE.read_bytes())
    assert run("dump", tmp_path / "a.3ds", tmp_path / "b.3ds", "-o", ".json").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.3ds", "a.json", "b.3ds", "b.json"]
    (tmp_path / "a.prj").write_bytes(EXAMPLE.read_bytes())
    ran = run("dump", tmp_path / "a.3ds", tmp_path / "a.prj", "-o", ".json", "-f")
    assert ran.code == 3
    assert "a.json is already the output of" in ran.err


def test_names_that_some_file_systems_treat_as_the_same_are_one_output(run: Run, tmp_path: Path) -> None:
    for name in ("1/a.3ds", "2/A.3ds"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(EXAMPLE.read_bytes())
    ran = run("dump", tmp_path / "1/a.3ds", tmp_path / "2/A.3ds", "-o", tmp_path / "out")
    assert ran.code == 3
    assert "A.3ds.json is already the output of" in ran.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.3ds.json"]


def test_several_files_need_an_output(run: Run) -> None:
    assert run("dump", EXAMPLE, EXAMPLE).code == 2
    assert run("build", EXAMPLE).code == 2


def test_invalid_texts_are_refused_with_line_and_path(run: Run, tmp_path: Path) -> None:
    text = run("dump", EXAMPLE).out
    wrong = tmp_path / "wrong.json"
    wrong.write_text(text.replace('"parent": -1', '"parent": "none"', 1))
    ran = run("build", wrong, "-o", tmp_path / "x.3ds")
    assert ran.code == 3
    line = next(at for at, words in enumerate(wrong.read_text().splitlines(), 1) if '"none"' in words)
    assert ran.err.startswith(f"keyframer: {wrong}: TEXT_WRONG at line {line}, column ")
    assert "/fields/parent: expected a whole number" in ran.err
    assert not (tmp_path / "x.3ds").exists()
