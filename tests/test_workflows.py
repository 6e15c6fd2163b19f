"""What continuous integration does besides ``make test``: releases are guarded, and one missing package is only one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import keyframer

ROOT = Path(__file__).resolve().parents[1]


def jobs(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / ".github/workflows" / name).read_text("utf-8"))["jobs"])


def test_nothing_is_released_without_tests() -> None:
    release = jobs("release.yml")
    assert release["tests"]["uses"] == "./.github/workflows/tests.yml"
    assert release["build"]["needs"] == "tests"
    assert {release[name]["needs"] for name in ("pypi", "github")} == {"build"}


@pytest.mark.parametrize(("tag", "status"), [(f"v{keyframer.__version__}", 0), ("v9.9.9", 1)])
def test_the_tag_must_be_the_version(tag: str, status: int) -> None:
    (script,) = (step["run"] for step in jobs("release.yml")["build"]["steps"] if "tag" in step.get("name", ""))
    ran = subprocess.run(["bash", "-c", script], cwd=ROOT, env={**os.environ, "TAG": tag}, check=False)
    assert ran.returncode == status


APT = """#!/bin/sh
case "$*" in *chromium*) exit 100 ;; *" install "*) echo "$*" >> installed ;; esac
"""
"""stands for an apt that has all packages but one"""


def test_missing_package_does_not_keep_the_others_out(tmp_path: Path) -> None:
    programs = {"apt-get": APT, "dpkg-query": "#!/bin/sh\nexit 1\n", "id": "#!/bin/sh\necho 0\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    for name in ("sh", "grep"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    command = ["sh", str(ROOT / "tools/install_test_tools.sh")]
    settings = {"PATH": str(tmp_path)}
    ran = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[1:] == [
        "could not install chromium-headless-shell: the tests that need it are skipped"
    ]
    installed = {line.split()[-1] for line in (tmp_path / "installed").read_text().splitlines()}
    assert {"gcc", "lib3ds-dev", "assimp-utils"} <= installed


@pytest.mark.parametrize(("settings", "outcome"), [({"CI": "true"}, "must not skip"), ({}, "skipped is possible")])
def test_tests_of_the_page_are_not_skipped_without_it(settings: dict[str, str], outcome: str, tmp_path: Path) -> None:
    program = f"""
import pathlib, sys
from keyframer.viewer import standalone_page
standalone_page.FOLDER = pathlib.Path({str(tmp_path)!r})
try:
    import tests.viewer_page
except BaseException as failure:
    sys.exit(str(failure))
sys.exit("skipped is possible")
"""
    environment = {name: value for name, value in os.environ.items() if name != "CI"} | settings
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert outcome in ran.stderr


def test_checkouts_keep_the_bytes_of_files() -> None:
    """Git would otherwise change the ends of lines on Windows, also in samples."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    command = ["git", "check-attr", "text", "README.md", "tests/samples/ase/textured.ase"]
    said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert [line.split(": ")[-1] for line in said.splitlines()] == ["unset", "unset"]
