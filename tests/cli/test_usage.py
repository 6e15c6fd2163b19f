"""Usage: options may be anywhere, mistakes print one line that says what to write, and no argument is ignored."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from keyframer.batch import OPERATIONS
from keyframer.cli.parser import COMMANDS, Parser, command_module
from tests.cli.running import EXAMPLE, Run
from tests.viewer_page import needs_page

VERBS = (
    *("Read", "Tell", "Summarise", "List", "Write", "Make", "Compute", "Convert", "Draw", "Compare", "Render", "Play"),
    *("Run", "Check", "Identify", "Show", "Install"),
)
"""first words of the help texts"""


class TestOptionsAnywhere:
    def test_options_between_input_and_output(self, run: Run, tmp_path: Path) -> None:
        target = tmp_path / "b.glb"
        target.write_bytes(b"old")
        assert run("convert", EXAMPLE, "-f", target).code == 0
        assert target.read_bytes()[:4] == b"glTF"

    def test_options_between_inputs(self, run: Run) -> None:
        ran = run("check", EXAMPLE, "-q", EXAMPLE)
        assert (ran.code, ran.err, ran.out.count(": clean")) == (0, "", 2)

    def test_options_between_the_two_files_of_a_comparison(self, run: Run) -> None:
        ran = run("diff", EXAMPLE, "--what", "motion", EXAMPLE)
        assert ran.code == 0
        assert "motion (" in ran.out
        assert "structure" not in ran.out

    @needs_page
    def test_export_option_between_inputs(self, run: Run, tmp_path: Path) -> None:
        pack, page = tmp_path / "pack.zip", tmp_path / "p.html"
        with ZipFile(pack, "w") as archive:
            archive.write(EXAMPLE, "inside.3ds")
        ran = run("view", EXAMPLE, "--export", page, pack)
        assert ran.code == 0
        assert "2 files" in ran.err
        assert page.stat().st_size > 1_000

    def test_options_before_the_command_and_its_operation(self, run: Run, tmp_path: Path) -> None:
        assert run("-q", "check", EXAMPLE).err == ""
        out = tmp_path / "out"
        assert run("batch", "-o", out, "identify", "-q", EXAMPLE).code == 0
        assert (out / "windmill.3ds.identify.json").exists() or any(out.rglob("*.json"))

    def test_arguments_after_two_dashes_are_names(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("-q").write_bytes(EXAMPLE.read_bytes())
        ran = run("check", "--", "-q")
        assert ran.code == 0
        assert ran.out == "-q: clean\n"

    def test_values_may_be_negative(self, run: Run) -> None:
        ran = run("sample", "--frames", "-5:5:5", EXAMPLE, "--node", "Rotor")
        assert [line.split()[0] for line in ran.out.splitlines()[1:]] == ["-5", "0", "5"]

    def test_short_options_can_be_combined_and_take_their_value(self, run: Run, tmp_path: Path) -> None:
        target = tmp_path / "a.json"
        target.write_text("old")
        assert run("dump", f"-fo{target}", EXAMPLE).code == 0
        assert run("dump", EXAMPLE, "-qfo", target).code == 0
        assert target.read_text().startswith("{")

    def test_long_options_may_be_abbreviated(self, run: Run) -> None:
        assert run("check", EXAMPLE, "--qui", EXAMPLE).code == 0
        ran = run("check", EXAMPLE, "--fo", "json", "--f", "x")
        assert ran.code == 2
        assert "--f is ambiguous: --" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["chek", "scene.3ds"], "no command or file is named 'chek'; did you mean 'check'?"),
        (["info", "--tabel", "x", EXAMPLE], "unknown option --tabel; did you mean '--table'?"),
        (["info", "-t", EXAMPLE], "unknown option -t"),
        (["check", "--salvage", EXAMPLE], "--salvage belongs to sample, convert, plot, diff, thumbnail, view, batch "),
        (["check", "--salvage", EXAMPLE], ", not to check (see keyframer check --help)"),
        (["batch", "check", EXAMPLE, "-o", "x", "--fps=5"], "batch thumbnail, not to batch check"),
        (["formats", "-rf"], "-r belongs to identify, info, check, "),
        (["--core-only", EXAMPLE], "--core-only belongs to convert, batch convert (see"),
        (["--verison"], "unknown option --verison; did you mean '--version'?"),
        (["info", "--format", "jsn", EXAMPLE], "did you mean 'json'?"),
        (["batch", "chek", "x", "-o", "y"], "did you mean 'check'?"),
        (["convert", EXAMPLE, "x.glb", "--limit", "reconds=5"], "did you mean 'records'?"),
        (["convert", EXAMPLE, "x.glb", "--write", "smoth=1"], "did you mean 'smooth'?"),
        (["convert", EXAMPLE, "x.3ds", "--write", "fsp=1"], "did you mean 'fps'?"),
        (["convert", EXAMPLE, "x.glb", "--write", "foo=1"], "gltf has no option 'foo' (it has: keys, "),
        (["batch", "convert", EXAMPLE, "-o", "x", "--write", "foo=1"], "gltf has no option 'foo'"),
        (["convert", EXAMPLE, "x.glb", "--texture-path", "/nodir"], "--texture-path: no such folder: '/nodir'"),
        (["sample", EXAMPLE, "--set", "geometri=raw"], "did you mean 'geometry'?"),
        (["check", EXAMPLE, "--only", "STRUCT_TRUNKATED"], "did you mean 'STRUCT_TRUNCATED'?"),
        (["info", EXAMPLE, "--limit"], "--limit needs a value: --limit NAME=N"),
        (["info", EXAMPLE, "--format", "-q"], "--format needs a value: --format pretty|json"),
        (["thumbnail", EXAMPLE, "-o", "x.png", "--pictures", "5"], "--pictures is for a playback"),
        (["thumbnail", EXAMPLE, "-o", "x.png", "--camera", "Camera", "--above", "5"], "are for --camera fit"),
        (["view", EXAMPLE, "--export", "x.html", "--port", "80"], "--export starts no server"),
    ],
)
def test_mistake_prints_one_line(run: Run, arguments: list[str | Path], words: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert words in ran.err
    assert ran.err.endswith("--help)\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["sample", EXAMPLE, "--node", "rotor"],
        ["plot", EXAMPLE, "--terminal", "--node", "Rotro"],
        ["plot", EXAMPLE, "--terminal", "--motion", "--node", "Rotro"],
        ["convert", EXAMPLE, "x.glb", "--node", "Rotro"],
    ],
)
def test_misspelled_nodes(run: Run, arguments: list[str | Path]) -> None:
    ran = run(*arguments)
    assert ran.code == 3
    assert "did you mean 'Rotor'?" in ran.err
    assert "0x0" not in ran.err


def test_misspelled_cameras_and_tracks(run: Run) -> None:
    assert "did you mean 'Camera'?" in run("thumbnail", EXAMPLE, "--camera", "camra", "-o", "x.png").err
    assert "did you mean 'rotation'?" in run("plot", EXAMPLE, "--terminal", "--track", "rotaton").err


def test_angle_option_implies_the_fitted_camera(run: Run, tmp_path: Path) -> None:
    for name, arguments in {"a": ["--around", "70"], "b": ["--around", "70", "--camera", "fit"], "c": []}.items():
        assert run("thumbnail", EXAMPLE, "--size", "24", "-o", tmp_path / f"{name}.png", *arguments).code == 0
    first, second, third = ((tmp_path / f"{name}.png").read_bytes() for name in "abc")
    assert first == second != third


class TestWithoutACommand:
    @pytest.mark.parametrize("name", ["", *COMMANDS, *(f"batch {operation}" for operation in OPERATIONS)])
    def test_help_fits_80_columns_and_begins_with_a_verb(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        text = run(*name.split(), "--help").out
        assert [line for line in text.splitlines() if len(line) > 80] == []
        first_word = text.split("\n\n")[1].split()[0].rstrip(",")
        assert first_word in VERBS, first_word

    def test_help(self, run: Run) -> None:
        assert run("help").out == run("--help").out == run().out
        assert run("help", "convert").out == run("convert", "--help").out
        assert run("help", "batch", "convert").out == run("batch", "convert", "--help").out
        assert "did you mean 'convert'?" in run("help", "convrt").err

    def test_version(self, run: Run) -> None:
        assert run("-V").out == run("--version").out != ""

    def test_file_without_a_command_is_identified(self, run: Run, tmp_path: Path) -> None:
        ran = run(EXAMPLE)
        assert ran.code == 0
        assert ran.out == run("identify", EXAMPLE).out
        assert "commands for this file: info, check, view" in ran.err
        assert "dump" in ran.err
        assert run("convert", EXAMPLE, tmp_path / "a.glb").code == 0
        ran = run(tmp_path / "a.glb")
        assert "glTF" in ran.out
        assert "dump" not in ran.err

    def test_foreign_file_without_a_command(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "letter.txt"
        path.write_text("dear reader")
        ran = run(path)
        assert ran.code == 3
        assert "keyframer formats lists" in ran.err

    def test_folder_without_a_command(self, run: Run, tmp_path: Path) -> None:
        ran = run(tmp_path)
        assert ran.code == 0
        assert "is a folder" in ran.err
        assert "batch" in ran.err


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_version_and_help_import_no_command(word: str) -> None:
    code = (
        f"from keyframer.cli import main; main([{word!r}]); import sys; print('keyframer.cli.convert' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("formats", "batch")])
def test_option_of_another_command_names_that_command(run: Run, name: str) -> None:
    parser, formats = Parser(), Parser()
    command_module(name).add_arguments(parser)
    command_module("formats").add_arguments(formats)
    option = max(parser._option_string_actions.keys() - formats._option_string_actions.keys(), key=len)
    ran = run("formats", option)
    assert ran.code == 2
    assert re.search(rf": {option} belongs to (.*, )?{name}, ", ran.err)
