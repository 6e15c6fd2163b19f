"""The README shows real output: every command in its console blocks is run, and its output is compared."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown_commands() -> list[tuple[str, str]]:
    """Return the commands of the console blocks, each with the output shown below it."""
    commands: list[tuple[str, str]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            commands.append((command.split("  #")[0].strip(), output.strip()))
    return commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", place / "examples")
    return place


def test_console_blocks(folder: Path) -> None:
    commands = shown_commands()
    assert len(commands) >= 5
    command_line = f"{shlex.quote(sys.executable)} -m keyframer "
    for command, expected in commands:
        real = re.sub(r"\bkeyframer (?=\w)", lambda _: command_line, command)
        done = subprocess.run(["sh", "-c", real], cwd=folder, capture_output=True, text=True, check=False)
        output = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).strip().splitlines())
        assert output == expected, command


def test_links_have_targets() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_command_is_named() -> None:
    from keyframer.cli.parser import COMMANDS

    for name, words in COMMANDS.items():
        assert f"| `keyframer {name}` | {words} |" in README, name
