"""The batch command: inputs, folder trees, exit codes, messages, reports, limits and Ctrl-C."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest

from keyframer.batch import OPERATIONS
from keyframer.batch.job import LEDGER as NAME
from keyframer.cli.batch.progress import progress_line
from tests.batch.holding import Gate, apply_time_limit_only_if_hanging
from tests.batch.holding import own_fork_server as own_fork_server  # the fixture
from tests.batch.places import BAD, GOOD, OTHER, put, temporaries, without_hash
from tests.building import files as w
from tests.cli.running import EXAMPLE, START, Run, check_schema, spawn
from tests.waiting import PATIENCE

posix = pytest.mark.skipif(os.name != "posix", reason="signals and FIFOs")


def output_names(out: Path) -> list[str]:
    return sorted(
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file() and not path.name.startswith(NAME)
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    put(folder / "a.nanim")
    put(folder / "deep" / "b.3ds", OTHER)
    put(folder / "deep" / "c.bak.3ds", OTHER)
    put(folder / "readme.txt", b"not taken")
    return folder


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "gallery"])  # writes folders
def test_every_operation_keeps_the_folder_tree(run: Run, archive: Path, tmp_path: Path, operation: str) -> None:
    ran = run("batch", operation, archive, "-o", tmp_path / "out", "-j", "2")
    assert ran.code == 0, ran.err
    assert ran.out == ""
    assert [Path(name).parent.as_posix() for name in output_names(tmp_path / "out")] == [".", "deep", "deep"]
    assert "3 files: 3 done" in ran.err
    again = run("batch", operation, archive, "-o", tmp_path / "out")
    assert again.code == 0
    assert "3 already finished by an earlier run" in again.err


def test_json_outputs_match_what_the_commands_print(run: Run, archive: Path, tmp_path: Path) -> None:
    for operation in ("identify", "info", "check"):
        run("batch", operation, archive, "-o", tmp_path / operation, "-q", "-j", "1")
        for name in output_names(tmp_path / operation):
            content = json.loads((tmp_path / operation / name).read_text())
            check_schema(operation, content)
            source = archive / name.removesuffix(f".{operation}.json")
            printed = run(operation, "--format", "json", source).json()
            printed["files"][0].pop("size"), content["files"][0].pop("size")
            assert content == printed


def test_include_and_exclude(run: Run, archive: Path, tmp_path: Path) -> None:
    run("batch", "identify", archive, "-o", tmp_path / "1", "--exclude", "*.bak.*", "-q", "-j", "1")
    assert output_names(tmp_path / "1") == ["a.nanim.identify.json", "deep/b.3ds.identify.json"]
    run("batch", "identify", archive, "-o", tmp_path / "2", "--include", "deep/*", "-q", "-j", "1")
    assert output_names(tmp_path / "2") == ["deep/b.3ds.identify.json", "deep/c.bak.3ds.identify.json"]
    ran = run("batch", "identify", archive, "-o", tmp_path / "3", "--all-files", "--include", "*.txt", "-j", "1")
    assert ran.code == 3  # not recognised, as `keyframer identify` says
    assert output_names(tmp_path / "3") == ["readme.txt.identify.json"]


def test_globs_lists_of_files_and_archive_members(run: Run, archive: Path, tmp_path: Path) -> None:
    pack = tmp_path / "pack.zip"
    with zipfile.ZipFile(pack, "w") as file:
        file.writestr("x/m.3ds", OTHER)
        file.writestr("../../evil.nanim", GOOD)
        file.writestr("twice.nanim", GOOD)
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("twice.nanim", GOOD + b"\0")
    names = tmp_path / "names.txt"
    names.write_text(f"{archive / 'a.nanim'}\n{archive / 'deep' / 'b.3ds'}\n")
    out = tmp_path / "out"
    ran = run("batch", "check", pack, f"{archive}/d*/*.3ds", "--files-from", names, "-o", out, "-j", "1")
    assert "7 files: 7 done" in ran.err, ran.err
    found = output_names(out)
    assert [name for name in found if "~" not in name] == [
        "a.nanim.check.json",
        "deep/b.3ds.check.json",
        "deep/c.bak.3ds.check.json",
        "pack.zip/evil.nanim.check.json",
        "pack.zip/x/m.3ds.check.json",
    ]
    twins = [json.loads((out / name).read_text())["files"][0]["size"] for name in found if "~" in name]
    assert sorted(twins) == [len(GOOD), len(GOOD) + 1]
    again = run("batch", "check", pack, f"{archive}/d*/*.3ds", "--files-from", names, "-o", out, "-j", "1")
    assert "7 already finished by an earlier run" in again.err
    one = run("batch", "identify", f"{pack}!/x/m.3ds", "-o", tmp_path / "one", "-j", "1")
    assert (one.code, output_names(tmp_path / "one")) == (0, ["pack.zip/x/m.3ds.identify.json"])


def test_name_collisions_are_resolved_and_reported(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    put(tmp_path / "in" / "a.nanim")
    put(tmp_path / "in" / ("x" * 251 + ".3ds"), OTHER)
    ran = run("batch", "convert", tmp_path / "in", "-o", tmp_path / "out", "--dialect", "text", "-j", "1")
    assert ran.code == 0
    outputs = output_names(tmp_path / "out")
    assert [without_hash(name) for name in outputs if not name.startswith("x")] == [
        "a.3ds.bin",
        "a.3ds.gltf",
        "a.nanim.bin",
        "a.nanim.gltf",
    ]
    assert ran.err.count("RUN_OUTPUT_COLLISION") == 3
    assert "renamed: " in run("batch", "report", tmp_path / "out").out


def test_exit_codes(run: Run, archive: Path, tmp_path: Path) -> None:
    assert run("batch", "convert", tmp_path / "missing", "-o", tmp_path / "0").code == 3
    assert run("batch", "convert", "-o", tmp_path / "0").code == 2
    assert run("batch", "convert", "-", "-o", tmp_path / "0").code == 2
    assert run("batch", "convert", archive, "-o", tmp_path / "0", "--dialect", "steam").code == 2
    assert run("batch", "convert", archive, "-o", tmp_path / "0", "--tls-ca", "x").code == 2
    assert run("batch", "juggle", archive).code == 2
    assert run("batch", "report", tmp_path / "nothing").code == 3
    put(archive / "bad.3ds", BAD)
    bad = run("batch", "convert", archive, "-o", tmp_path / "1", "-j", "1", "-q")
    assert bad.code == 3
    assert bad.err.count("\n") == 1
    assert "IO_UNRECOGNISED" in bad.err
    assert run("batch", "convert", archive, "-o", tmp_path / "1", "-j", "1").code == 3  # resumed: the same answer
    assert run("batch", "check", archive, "-o", tmp_path / "2", "-j", "1").code == 1
    assert run("batch", "check", archive, "-o", tmp_path / "2", "--exclude", "bad*", "-j", "1").code == 0
    put(tmp_path / "file")
    refused = run("batch", "check", archive, "-o", tmp_path / "file")
    assert refused.code == 3
    assert "cannot be written" in refused.err
    assert "internal" not in refused.err


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


HOSTILE = ["<script>alert(1)<!--.3ds", "=cmd|' x'!A1.3ds", "\x1b]0;x\x07\u202egpj.3ds", "a,b\"c'&amp;.3ds"]


def test_reports(run: Run, tmp_path: Path) -> None:
    for name in HOSTILE:
        put(tmp_path / "in" / name, BAD)
    put(tmp_path / "in" / "good.nanim")
    out = tmp_path / "out"
    ran = run("batch", "convert", tmp_path / "in", "-o", out, "-j", "1")
    assert "\x1b" not in ran.err
    report = {
        style: run("batch", "report", out, "--format", style).out
        for style in ("json", "jsonl", "csv", "md", "html", "pretty")
    }
    for text in report.values():
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    check_schema("batch", json.loads(report["json"]))
    lines = [json.loads(line) for line in report["jsonl"].splitlines()]
    assert len(lines) == 5
    for line in lines:
        check_schema("batch", line)
    assert [line["status"] for line in lines].count("done") == 1
    rows = list(csv.DictReader(io.StringIO(report["csv"])))
    assert len(rows) == 5
    assert not any((cell or "").startswith(("=", "+", "@")) for row in rows for cell in row.values())
    page = Page()
    page.feed(report["html"])
    assert not set(page.tags) & {"img", "iframe", "link"}
    assert page.tags.count("script") == 1  # that of the filters
    assert page.tags.count("tr") == 1 + 2 + 1 + 5  # counts: done and failed; one row a file
    assert any("<script>alert(1)<!--" in text for text in page.text)
    only = run("batch", "report", out, "--format", "jsonl", "--status", "failed", "-o", tmp_path / "failed.jsonl")
    assert only.out == ""
    assert len((tmp_path / "failed.jsonl").read_text().splitlines()) == 4
    assert run("batch", "report", out, "-o", tmp_path / "failed.jsonl").code == 3  # exists
    assert run("batch", "report", out / NAME, "--operation", "check", "--format", "jsonl").out == ""


def test_hanging_file_and_huge_file_are_reported(
    run: Run, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_fork_server: None
) -> None:
    """A worker waits at one file for ever; a sparse file is larger than the memory limit."""
    put(archive / "stuck.3ds", OTHER)
    with open(archive / "huge.3ds", "wb") as stream:
        stream.truncate(450 << 20)
    gate = Gate(tmp_path / "gate", "stuck.3ds")
    gate.patch(monkeypatch)
    apply_time_limit_only_if_hanging(monkeypatch, gate.holds)
    limits = ("--time-limit", "1", "--memory-limit", "400")
    ran = run("batch", "identify", archive, "-o", tmp_path / "out", *limits, "-j", "2")
    assert ran.code == 3
    assert "stuck.3ds: LIMIT_TIME" in ran.err
    assert "failed       1.000 s" in run("batch", "report", tmp_path / "out").out
    assert "huge.3ds: LIMIT_MEMORY" in ran.err
    assert "5 files: 3 done, 2 failed" in ran.err
    assert temporaries(tmp_path / "out") == []


@posix
def test_ctrl_c_stops_cleanly_and_the_next_run_finishes(tmp_path: Path) -> None:
    for number in range(300):  # more than a worker gets at once
        put(tmp_path / "in" / f"{number:04}.nanim")
    out = tmp_path / "out"
    gate = Gate(tmp_path / "gate", "0030.nanim")
    arguments = ["batch", "info", str(tmp_path / "in"), "-o", str(out), "-j", "1", "--time-limit", str(PATIENCE)]
    # a test run in the background inherits an ignored SIGINT: Ctrl-C must reach the command all the same
    heed = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    command = [sys.executable, "-c", START, *arguments]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, bufsize=1, preexec_fn=heed, env=gate.environment
    )
    gate.wait_for_workers(1)
    process.send_signal(signal.SIGINT)
    shown = iter(process.stderr.readline, "")
    assert any("stopping after the current files" in line for line in shown)
    gate.open()
    _, text = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, text
    assert "not finished" in text
    assert "Traceback" not in text
    done = output_names(out)
    assert 30 < len(done) < 300
    assert temporaries(out) == []
    report = spawn("batch", "report", out, "--format", "jsonl").stdout.splitlines()
    assert len(report) == len(done)
    keep = {name: (out / name).stat().st_mtime_ns for name in done}
    rest = spawn(*arguments, "--include", "0[0-2]*")
    assert rest.returncode == 0, rest.stderr
    assert all((out / name).stat().st_mtime_ns == then for name, then in keep.items())


def test_progress_is_shown_only_on_terminals() -> None:
    assert progress_line(1_000, 250, 200, 3, 20.0) == "250 of 1,000 (25 %), 10 per second, 1:15 left, 3 failed"
    assert progress_line(0, 0, 0, 0, 0.0) == "0 of 0 (100 %)"


@posix
def test_progress_on_a_terminal(archive: Path, tmp_path: Path) -> None:
    import pty

    for number in range(150):
        put(archive / f"{number}.nanim")
    leader, follower = pty.openpty()
    arguments = ["batch", "info", str(archive), "-o", str(tmp_path / "out"), "-j", "1"]
    process = subprocess.Popen([sys.executable, "-c", START, *arguments], stdout=subprocess.PIPE, stderr=follower)
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 4_096):
            shown += part
    except OSError:  # the end of a terminal
        pass
    os.close(leader)
    assert process.communicate()[0] == b""
    assert process.returncode == 0
    assert b" per second, " in shown
    assert b" left" in shown


def test_help_shows_an_example(run: Run) -> None:
    for words in ((), ("convert",), ("report",)):
        ran = run("batch", *words, "--help")
        assert ran.code == 0
        assert "keyframer batch" in ran.out


# filters and hints

UNSAFE = w.editor(w.chunk(0x4000, b"A\0", w.chunk(0x4100, w.chunk(0x4120, b"\x01\0" + bytes(6) + b"\0\0"))))
"""a face without vertices: loading is refused, and salvage leaves it out"""


def reported(run: Run, out: Path, *options: str) -> list[str]:
    lines = run("batch", "report", out, "--format", "jsonl", *options).out.splitlines()
    return [Path(json.loads(line)["source"]).stem for line in lines]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    for name, data in (("clean", EXAMPLE.read_bytes()), ("odd", OTHER), ("unsafe", UNSAFE), ("rubbish", BAD)):
        put(folder / "in" / f"{name}.3ds", data)
    for operation in ("check", "convert"):
        spawn("batch", operation, folder / "in", "-o", folder / operation, "-j", "1", "-q")
    return folder


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--only", "damaged"), ["unsafe"]),
        (("--only", "problems"), ["odd"]),
        (("--only", "unreadable"), ["rubbish"]),
        (("--only", "damaged", "--only", "unreadable"), ["rubbish", "unsafe"]),
        (("--severity", "error"), ["rubbish", "unsafe"]),
        (("--severity", "warning"), ["odd", "rubbish", "unsafe"]),
        (("--severity", "warning", "--only", "problems"), ["odd"]),
    ],
)
@pytest.mark.parametrize("operation", ["check", "convert"])
def test_the_report_selects_by_verdict_and_severity(
    run: Run, mixed: Path, operation: str, options: tuple[str, ...], expected: list[str]
) -> None:
    assert reported(run, mixed / operation, *options) == expected


def test_the_report_selects_conversions_by_a_loss(run: Run, mixed: Path, tmp_path: Path) -> None:
    """Only the example has lights, which Blitz3D files cannot store."""
    run("batch", "convert", mixed / "in", "-o", tmp_path, "--to", "b3d", "-j", "1")
    assert reported(run, tmp_path, "--loss", "LIGHTS_UNSUPPORTED") == ["clean"]
    assert reported(run, tmp_path, "--loss", "lights_unsupported") == ["clean"]
    head, _, _ = run("batch", "report", tmp_path, "--loss", "LIGHTS_UNSUPPORTED").out.partition("\n\n")
    assert head == "convert: 1 done"
    (line,) = run("batch", "report", tmp_path, "--loss", "LIGHTS_UNSUPPORTED", "--format", "jsonl").out.splitlines()
    assert json.loads(line)["details"]["loss_codes"]["LIGHTS_UNSUPPORTED:lights"] == 1
    assert reported(run, tmp_path, "--loss", "lights_unsupported:lights") == ["clean"]
    assert reported(run, tmp_path, "--loss", "LIGHTS_UNSUPPORTED:ambient") == []
    ran = run("batch", "report", tmp_path, "--loss", "LIGHTS_UNSUPPORTED:lamps")
    assert "no loss has the code LIGHTS_UNSUPPORTED:lamps" in ran.err
    ran = run("batch", "report", tmp_path, "--loss", "LIGHT_UNSUPPORTED")
    assert "no loss has the code LIGHT_UNSUPPORTED" in ran.err
    assert reported(run, tmp_path, "--loss", "LIGHT_UNSUPPORTED") == []


def test_the_report_counts_what_it_shows_and_has_the_verdict(run: Run, mixed: Path) -> None:
    out = mixed / "convert"
    head, _, lines = run("batch", "report", out, "--only", "damaged").out.partition("\n\n")
    assert head == "convert: 1 failed (LINK_INDEX_OUT_OF_RANGE)"
    assert [line[:8] for line in lines.splitlines() if not line.startswith((" ", "in "))] == ["failed  "]
    assert run("batch", "report", out).out.partition("\n\n")[0].splitlines()[0] == "convert: 2 done"
    page = run("batch", "report", out, "--status", "done", "--format", "html").out
    assert "LINK_INDEX_OUT_OF_RANGE" not in page
    rows = csv.DictReader(io.StringIO(run("batch", "report", out, "--format", "csv").out))
    assert {Path(row["source"]).stem: (row["verdict"], row["worst"]) for row in rows} == {
        "clean": ("", ""),
        "odd": ("readable with problems", "warning"),
        "rubbish": ("not readable", "error"),
        "unsafe": ("damaged", "error"),
    }


def test_hints_are_true_for_the_failures_at_hand(run: Run, mixed: Path, tmp_path: Path) -> None:
    """Salvage is suggested only for failures that it can avoid, and the named report lists just the failures."""
    ran = run("batch", "convert", mixed / "in", tmp_path / "missing", "-o", tmp_path / "1", "-j", "1")
    assert ran.code == 3
    assert "with --salvage processes 1 of them again" in ran.err
    assert f"keyframer: to list the failures: keyframer batch report {tmp_path / '1'} --status failed\n" in ran.err
    assert reported(run, tmp_path / "1", "--status", "failed") == ["rubbish", "unsafe", "missing"]
    ran = run("batch", "convert", mixed / "in", "-o", tmp_path / "1", "-j", "1", "--salvage")
    assert "salvage processes" not in ran.err
    assert f"to list the files with issues: keyframer batch report {tmp_path / '1'} --status findings\n" in ran.err
    assert reported(run, tmp_path / "1", "--status", "findings") == ["unsafe"]


def test_a_verdict_is_asked_from_the_report(run: Run, mixed: Path, tmp_path: Path) -> None:
    ran = run("batch", "check", mixed / "in", "-o", tmp_path / "out", "--only", "damaged")
    assert ran.code == 2
    assert "for a verdict: keyframer batch report OUT --only damaged" in ran.err
    assert run("batch", "check", mixed / "in", "-o", tmp_path / "out", "-r").code == 2  # batch always recurses


def test_salvage_is_not_suggested_for_missing_folders_and_collisions(run: Run, archive: Path, tmp_path: Path) -> None:
    put(tmp_path / "out" / "a.glb", b"mine")
    ran = run("batch", "convert", archive, tmp_path / "missing", "-o", tmp_path / "out", "-j", "1")
    assert ran.code == 3
    assert "RUN_OUTPUT_COLLISION 1" in ran.err
    assert "--salvage" not in ran.err


def test_report_has_relative_names_in_narrow_lines(run: Run, archive: Path, tmp_path: Path) -> None:
    """Names are relative to the folder that all sources are in; a long message is wrapped."""
    long_name = archive / "deep" / f"{'x' * 90}.3ds"
    long_name.write_bytes(OTHER[:-40])
    run("batch", "check", archive, "-o", tmp_path / "out", "-q", "-j", "1")
    run("batch", "identify", archive, "-o", tmp_path / "out", "--all-files", "-q", "-j", "1")
    lines = run("batch", "report", tmp_path / "out").out.splitlines()
    assert f"in {archive}/:" in lines
    assert sum(str(archive) in line for line in lines) == 1
    assert all(len(line) <= 100 for line in lines if not line.startswith("in "))
    (line,) = (line for line in lines if " deep/b.3ds  " in line and "check" in line)
    assert " s  deep/b.3ds  -> deep/b.3ds.check.json" in line
    assert f"deep/{long_name.name}" in "".join(line.strip() for line in lines)
