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

    def __init__(self, folder: Path, tools: str = "tools") -> None:
        self.folder = folder
        self.command = folder / tools / "keyframer"
        self.command.parent.mkdir(parents=True)
        self.command.write_text(f"#!{sys.executable}\nimport sys, keyframer.cli\nsys.exit(keyframer.cli.main())\n")
        self.command.chmod(0o755)
        self.before = self.paths()

    def setup(self, *options: str, run: tuple[str, ...] = (), code: int = 0, **settings: str) -> list[str]:
        unset = {"XDG_DATA_HOME": "", "XDG_CONFIG_HOME": "", "PATH": "/usr/bin:/bin"}
        environment = {**os.environ, **unset, "HOME": str(self.folder), **settings}
        ran = subprocess.run(
            [*(run or (str(self.command),)), "setup", *options],
            env=environment, cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (ran.returncode, ran.stderr != "") == (code, code != 0), ran.stderr
        return ran.stdout.splitlines()

    def paths(self) -> set[Path]:
        """Return all that the home directory contains, also empty folders."""
        return set(self.folder.rglob("*"))

    def files(self) -> set[Path]:
        """Return the new files, without those that the desktop's programs make of them, and the list of them."""
        made = (self.folder / ".local/share/mime", self.folder / ".local/share/applications/mimeinfo.cache")
        new = {path for path in self.paths() - self.before if path.is_file()}
        new -= {made[1], self.folder / ".local/share/keyframer/setup.json"}
        return {path for path in new if path.parent.name == "packages" or not path.is_relative_to(made[0])}

    def entry(self) -> str:
        return (self.folder / ".local/share/applications/keyframer.desktop").read_text()


def test_setup_writes_what_it_names_and_removes_it_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    planned = home.setup("--dry-run")
    assert home.paths() == home.before
    *written, zsh, man = home.setup()
    assert home.files() == {Path(line.removeprefix("wrote ")) for line in written}
    assert planned == [*(line.replace("wrote", "would write") for line in written), zsh, man]
    assert zsh.startswith("zsh:")
    assert f"\nExec={home.command} view %F\n" in home.entry()
    assert f"\nTryExec={home.command}\n" in home.entry()
    assert home.setup() == [*written, zsh, man]  # again, after an update
    assert home.setup("--undo") == [line.replace("wrote", "removed") for line in written]
    assert home.paths() == home.before  # also nothing of update-mime-database, and no folder
    assert home.setup("--undo") == []


def test_undo_keeps_an_empty_home(tmp_path: Path) -> None:
    home = Home(tmp_path / "tools", "")
    (tmp_path / "home").mkdir()
    (tmp_path / "data").mkdir()
    for settings in ({}, {"XDG_DATA_HOME": str(tmp_path / "data")}):
        home.setup(HOME=str(tmp_path / "home"), **settings)
        home.setup("--undo", HOME=str(tmp_path / "home"), **settings)
        assert {path.name for path in tmp_path.rglob("*")} == {"tools", "keyframer", "home", "data"}


def test_undo_keeps_what_others_made(tmp_path: Path) -> None:
    if shutil.which("update-mime-database") is None:
        pytest.skip("update-mime-database is not installed")
    other = tmp_path / ".local/share/mime/packages/other.xml"
    other.parent.mkdir(parents=True)
    other.write_text(TYPES.read_text().replace("x-uto3d", "x-other"))
    home = Home(tmp_path)
    home.setup()
    home.setup("--undo")
    assert home.files() == set()
    assert "x-other" in (tmp_path / ".local/share/mime/types").read_text()


def test_man_is_explained_only_if_it_does_not_find_the_pages(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = f"{tmp_path}/.local/bin:/usr/bin:/bin"
    assert (
        home.setup()[-1] == f"man: to find the pages, add to your profile: export MANPATH={tmp_path}/.local/share/man:"
    )
    assert home.setup(PATH=path)[-1].startswith("zsh:")
    if shutil.which("manpath"):
        found = subprocess.run(
            ["manpath", "-q"], env={"HOME": str(tmp_path), "PATH": path}, capture_output=True, text=True, check=True
        )
        assert f"{tmp_path}/.local/share/man" in found.stdout.split(":")


def test_lines_for_profiles_are_quoted(tmp_path: Path) -> None:
    home = Home(tmp_path)
    data = tmp_path / "my $data"
    *_, zsh, man = home.setup("--dry-run", XDG_DATA_HOME=str(data))
    shown = 'printf \'%s|\' "${fpath[@]}" "$MANPATH"'
    lines = "; ".join(["fpath=()", *(line.partition(": ")[2].partition(": ")[2] for line in (zsh, man)), shown])
    ran = subprocess.run(["bash", "-c", lines], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{data}/zsh/site-functions|{data}/man:|"


def test_files_of_others_are_neither_replaced_nor_removed(tmp_path: Path) -> None:
    data = tmp_path / ".local/share"
    theirs = {
        data / "bash-completion/completions/keyframer": "their completion",
        data / "applications/mimeinfo.cache": "[MIME Cache]",
        data / "mime/version": "their version",
    }
    for path, content in theirs.items():
        path.parent.mkdir(parents=True)
        path.write_text(content)
    (data / "man/man1").mkdir(parents=True)
    home = Home(tmp_path)
    assert home.setup("--undo") == []  # setup never ran
    assert home.paths() == home.before
    refused = home.setup(code=3)
    assert not any("bash-completion" in line for line in refused)
    page = data / "man/man1/keyframer.1"
    page.write_text("changed by the user")
    home.setup(code=3)
    assert not any("keyframer.1" in line for line in home.setup("--undo", code=3))
    assert home.paths() == home.before | {page}
    assert page.read_text() == "changed by the user"
    assert next(iter(theirs)).read_text() == "their completion"


def test_desktop_gets_the_command_that_ran(tmp_path: Path) -> None:
    """Not another one on the PATH."""
    other = Home(tmp_path / "other")
    home = Home(tmp_path / "home")
    home.setup(PATH=f"{other.command.parent}:/usr/bin:/bin")
    assert f"\nExec={home.command} view" in home.entry()


def test_path_with_special_characters_is_quoted(tmp_path: Path) -> None:
    home = Home(tmp_path, 'my tools 5% "new" $x')
    home.setup()
    line = next(line for line in home.entry().splitlines() if line.startswith("Exec="))
    value = line.removeprefix("Exec=").replace("\\\\", "\\")  # escapes of values, then those of quotes
    words = subprocess.run(["sh", "-c", f"printf '%s\n' {value}"], capture_output=True, text=True, check=True)
    assert words.stdout.replace("%%", "%").splitlines() == [str(home.command), "view", "%F"]
    assert f"\nTryExec={home.command}\n" in home.entry()


def test_without_a_command_there_are_no_files_for_desktops(tmp_path: Path) -> None:
    """As from a .pyz."""
    home = Home(tmp_path)
    lines = home.setup(run=(sys.executable, "-m", "keyframer"))
    assert "no files for desktops: the command keyframer is not installed, this is another way to run it" in lines
    names = {path.name for path in home.files()}
    assert {"keyframer", "_keyframer", "keyframer.fish", "keyframer.1"} <= names
    assert not names & {"keyframer.desktop", "keyframer.svg", "keyframer.thumbnailer", "keyframer.xml"}


def test_relative_base_directory_is_ignored(tmp_path: Path) -> None:
    home = Home(tmp_path)
    lines = home.setup("--dry-run", XDG_DATA_HOME="data", XDG_CONFIG_HOME="./config")
    assert lines == home.setup("--dry-run")


def completed(*words: str, folder: Path = ROOT) -> set[str]:
    """Return what bash offers for the last word; words are given as they are typed."""
    script = f"""
        source {shlex.quote(str(DESKTOP / "keyframer.bash"))}
        COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}
        "$(complete -p keyframer | grep -oE '_shtab[a-z_]*')"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    bash = ["bash", "--norc", "-c", script]
    return set(subprocess.run(bash, capture_output=True, text=True, check=True, cwd=folder).stdout.splitlines())


def test_bash_completes_commands_options_values_and_files() -> None:
    assert completed("keyframer", "conv") == {"convert"}
    assert completed("keyframer", "convert", "--key") == {"--keys"}
    assert completed("keyframer", "convert", "--keys", "") == {"linear", "cubic", "frames"}
    assert "check" in completed("keyframer", "batch", "")
    assert completed("keyframer", "info", "examples/windm") == {"examples/windmill.3ds"}


def test_bash_completes_names_with_spaces(tmp_path: Path) -> None:
    for name in ("my scene.3ds", "my other.3ds"):
        (tmp_path / name).touch()
    for typed in ("my\\ s", '"my s', "'my s"):
        assert completed("keyframer", "info", typed, folder=tmp_path) == {"my scene.3ds"}


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
