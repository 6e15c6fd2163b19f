"""Comfort: completion and man pages, and what the desktop knows about the files."""

from __future__ import annotations

import configparser
import os
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

from tests.cli.running import EXAMPLE, Run

ROOT = Path(__file__).resolve().parents[2]
DESKTOP = ROOT / "src/keyframer/cli/desktop"
TYPES = DESKTOP / "keyframer.xml"
SYSTEM_TYPES = Path("/usr/share/mime/packages/freedesktop.org.xml")


def thumbnailer() -> configparser.SectionProxy:
    entry = configparser.ConfigParser(interpolation=None)
    entry.optionxform = str  # type: ignore[assignment, method-assign]
    entry.read(DESKTOP / "keyframer.thumbnailer")
    return entry["Thumbnailer Entry"]


def test_desktop_can_request_thumbnails(run: Run, tmp_path: Path) -> None:
    section = thumbnailer()
    out = tmp_path / "made by the desktop"
    out.write_bytes(b"")  # the desktop creates an empty file first
    program, *words = shlex.split(section["Exec"])
    assert (program, section["TryExec"]) == ("keyframer", "keyframer")
    values = {"%s": "128", "%o": str(out), "%i": str(EXAMPLE)}
    ran = run(*(values.get(word, word) for word in words))
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    with Image.open(out) as picture:
        assert picture.size == (128, 128)


def test_every_type_we_declare_gets_thumbnails() -> None:
    ours = {element.get("type") for element in ET.parse(TYPES).getroot()}
    assert ours < set(thumbnailer()["MimeType"].split(";"))


@pytest.fixture(scope="module")
def desktop(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment in which programs know the types of a desktop and ours."""
    for program in ("update-mime-database", "gio"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    folder = tmp_path_factory.mktemp("desktop")
    packages = folder / "mime" / "packages"
    packages.mkdir(parents=True)
    for source in (SYSTEM_TYPES, TYPES):
        shutil.copy(source, packages)
    environment = os.environ | {"XDG_DATA_DIRS": str(folder), "XDG_DATA_HOME": str(folder / "none")}
    subprocess.run(["update-mime-database", folder / "mime"], env=environment, check=True, capture_output=True)
    return environment


@pytest.mark.parametrize(
    "sample",
    [
        "3ds/windmill.3ds",
        "uto3d/maxscript.u3d",
        "hale3d/wave-length.anim",
        "hale3d/arm-length.mdl",
        "nodeanim/tcb_by_key.nanim",
        "ase/textured.ase",
    ],
)
def test_desktop_detects_the_type_of_samples(desktop: dict[str, str], sample: str) -> None:
    """GLib is asked, as file managers do."""
    answer = subprocess.run(
        ["gio", "info", "-a", "standard::content-type", ROOT / "tests" / "samples" / sample],
        env=desktop,
        check=True,
        capture_output=True,
        text=True,
    )
    assert answer.stdout.split()[-1] in thumbnailer()["MimeType"].split(";")


def test_extension_of_several_formats_is_registered_for_none() -> None:
    assert "*.anim" not in [
        glob.get("pattern") for glob in ET.parse(TYPES).getroot().iter() if glob.tag.endswith("glob")
    ]


class Home:
    """A home directory for ``keyframer setup``, which runs as a command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "tools/bin"
        self.bin.mkdir(parents=True)
        command = self.bin / "keyframer"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m keyframer "$@"\n')
        command.chmod(0o755)

    def setup(self, *options: str) -> list[str]:
        unset = {"XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
        environment = {**os.environ, **unset, "HOME": str(self.folder), "PATH": f"{self.bin}:{os.environ['PATH']}"}
        ran = subprocess.run(
            ["keyframer", "setup", *options], env=environment, capture_output=True, text=True, check=True
        )
        assert ran.stderr == ""
        return ran.stdout.splitlines()

    def files(self) -> set[str]:
        """Return the files that the home directory contains, without those that the desktop's programs make."""
        found = {path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file()}
        made = ("tools", ".local/share/mime", ".local/share/applications/mimeinfo.cache")
        packages = {path for path in found if "packages" in path.parts}
        return {str(path) for path in found if not str(path).startswith(made)} | {str(path) for path in packages}


def test_setup_writes_what_it_names_and_removes_it_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    planned = home.setup("--dry-run")
    assert home.files() == set()
    *written, zsh = home.setup()
    assert home.files() == {str(Path(line.removeprefix("wrote ")).relative_to(tmp_path)) for line in written}
    assert [line.removeprefix("would write ") for line in planned[:-1]] == [
        each.removeprefix("wrote ") for each in written
    ]
    assert zsh.startswith("zsh:")
    entry = (tmp_path / ".local/share/applications/keyframer.desktop").read_text()
    assert f"\nExec={home.bin}/keyframer view %F\n" in entry
    assert f"\nTryExec={home.bin}/keyframer\n" in entry
    assert home.setup() == [*written, zsh]  # again, after an update
    assert home.setup("--undo") == [line.replace("wrote", "removed") for line in written]
    assert home.files() == set()
    assert home.setup("--undo") == []


def completed(*words: str) -> set[str]:
    """Return what bash offers for the last word."""
    script = f"""
        source {shlex.quote(str(DESKTOP / "keyframer.bash"))}
        COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}
        "$(complete -p keyframer | grep -oE '_shtab[a-z_]*')"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    bash = ["bash", "--norc", "-c", script]
    return set(subprocess.run(bash, capture_output=True, text=True, check=True, cwd=ROOT).stdout.split())


def test_bash_completes_commands_options_values_and_files() -> None:
    assert completed("keyframer", "conv") == {"convert"}
    assert completed("keyframer", "convert", "--key") == {"--keys"}
    assert completed("keyframer", "convert", "--keys", "") == {"linear", "cubic", "frames"}
    assert "check" in completed("keyframer", "batch", "")
    assert completed("keyframer", "info", "examples/windm") == {"examples/windmill.3ds"}


@pytest.mark.parametrize(("shell", "name"), [("zsh", "_keyframer"), ("fish", "keyframer.fish")])
def test_other_shells_accept_their_completion(shell: str, name: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([program, "-n", DESKTOP / name], check=True)


@pytest.mark.parametrize("page", sorted(DESKTOP.glob("*.1")), ids=lambda page: page.stem)
def test_man_pages_are_formatted_without_warnings(page: Path) -> None:
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    ran = subprocess.run(["man", "--warnings=w", "-l", page], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert f"{page.stem} - " in " ".join(ran.stdout.split())
    assert "EXAMPLES" in ran.stdout
