"""Exit codes and messages: usage errors, broken pipes, internal errors, help."""

from __future__ import annotations

import subprocess
import sys

import pytest

import keyframer
from keyframer.cli.parser import COMMANDS, command_module
from tests.cli.running import EXAMPLE, Run, spawn


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(run: Run, command: str) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert "examples:" in ran.out
    for example in command_module(command).EXAMPLES:
        assert f"keyframer {command}" in example
        assert example in ran.out


def test_help_version_and_wrong_usage(run: Run) -> None:
    assert run("--version").out == f"keyframer {keyframer.__version__}\n"
    everything = run("--help")
    assert everything.code == 0
    assert all(command in everything.out for command in COMMANDS)
    assert run().out == everything.out
    for arguments in (["--nonsense"], ["nonsense"], ["identify", "--nonsense"], ["identify", "--format", "xml", "x"]):
        ran = run(*arguments)
        assert ran.code == 2
        assert ran.out == ""
        assert ran.err.count("\n") == 1
        assert "--help)\n" in ran.err


def test_python_m_keyframer_runs_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "keyframer", "identify", EXAMPLE], capture_output=True, check=False)
    assert ran.returncode == 0


def test_internal_errors_are_reported_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("\x1b[31mboom")

    monkeypatch.delenv("KEYFRAMER_DEBUG", raising=False)
    monkeypatch.setattr("keyframer.cli.identify.identify", fail)
    ran = run("identify", EXAMPLE)
    assert ran.code == 4
    assert ran.err.startswith("keyframer: internal error: RuntimeError: \\x1b[31mboom")
    assert ran.err.count("\n") == 1
    monkeypatch.setenv("KEYFRAMER_DEBUG", "1")
    with pytest.raises(RuntimeError):
        run("identify", EXAMPLE)


def test_no_traceback_if_stdout_is_ascii() -> None:
    ran = spawn("info", EXAMPLE, PYTHONIOENCODING="ascii")
    assert ran.returncode == 0
    assert b"Traceback" not in ran.stderr


def test_quiet_still_reports_failures() -> None:
    ran = spawn("info", "-q", "none.3ds")
    assert ran.returncode == 3
    assert ran.stderr.count(b"\n") == 1
