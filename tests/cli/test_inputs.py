"""Inputs of commands: folders, globs, lists, stdin, zip archives; every failure is one record."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from tests.cli.running import EXAMPLE, Run, check_schema, spawn
from tests.viewer_page import needs_page


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a folder with a.3ds, inner/B.3DS, inner/picture.png and broken.3ds."""
    folder = tmp_path / "tree"
    (folder / "inner").mkdir(parents=True)
    data = EXAMPLE.read_bytes()
    (folder / "a.3ds").write_bytes(data)
    (folder / "inner" / "B.3DS").write_bytes(data)
    (folder / "inner" / "picture.png").write_bytes(b"\x89PNG")
    (folder / "broken.3ds").write_bytes(b"rubbish")
    return folder


def names(run: Run, *arguments: str | Path) -> list[str]:
    report = run("identify", "--format", "json", *arguments).json()
    check_schema("identify", report)
    return [os.path.basename(record["file"]) for record in report["files"]]


def test_folders(run: Run, tree: Path) -> None:
    assert names(run, "-r", tree) == ["a.3ds", "broken.3ds", "B.3DS"]
    assert names(run, "-r", "--all-files", tree) == ["a.3ds", "broken.3ds", "B.3DS", "picture.png"]
    ran = run("identify", tree)
    assert ran.code == 3
    assert "this is a folder (-r searches it)" in ran.err


def test_folder_without_r_is_no_file_to_check(run: Run, tree: Path) -> None:
    ran = run("check", tree)
    assert (ran.code, ran.out, ran.err) == (3, "", f"keyframer: {tree}: this is a folder (-r searches it)\n")
    both = run("check", tree, tree / "broken.3ds")
    assert both.code == 3
    assert "broken.3ds: not readable" in both.out


def test_folder_without_supported_files_is_reported(run: Run, tmp_path: Path) -> None:
    ran = run("identify", "-r", tmp_path)
    assert ran.code == 3
    assert "--all-files" in ran.err


def test_unreadable_folder_fails_and_the_others_are_searched(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("closed", "open"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.3ds").write_bytes(EXAMPLE.read_bytes())
    real = os.scandir

    def scandir(path: str) -> object:
        if os.fspath(path) == str(tmp_path / "closed"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    ran = run("identify", "-r", tmp_path)
    assert ran.code == 3
    assert f"{tmp_path / 'closed'}: cannot list the folder: Permission denied" in ran.err
    assert "3D Studio" in ran.out


def test_globs(run: Run, tree: Path) -> None:
    assert names(run, str(tree / "*.3ds")) == ["a.3ds", "broken.3ds"]
    assert names(run, str(tree / "**" / "*.3[dD][sS]")) == ["a.3ds", "broken.3ds", "B.3DS"]
    ran = run("identify", str(tree / "*.nothing"))
    assert ran.code == 3
    assert "no file matches" in ran.err


def test_lists(run: Run, tree: Path, tmp_path: Path) -> None:
    for separator in (b"\n", b"\r\n", b"\0"):
        listed = tmp_path / "list"
        listed.write_bytes(os.fsencode(tree / "a.3ds") + separator + os.fsencode(tree / "inner" / "B.3DS") + separator)
        assert names(run, "--files-from", listed) == ["a.3ds", "B.3DS"]
    ran = spawn("identify", "--files-from", "-", stdin=os.fsencode(tree / "a.3ds"))
    assert ran.returncode == 0
    ran2 = run("identify", "--files-from", tmp_path / "none")
    assert ran2.code == 3


def test_every_reading_command_accepts_stdin() -> None:
    data = EXAMPLE.read_bytes()
    assert spawn("identify", "-", stdin=data).stdout.startswith(b"<stdin>: 3D Studio")
    assert spawn("info", "-", stdin=data).returncode == 0
    assert spawn("dump", "-", stdin=data).stdout.startswith(b"{")
    assert spawn("sample", "-", "--frames", "0", "--format", "json", stdin=data).stdout.startswith(b"{")
    assert b"IO_EMPTY" in spawn("info", "-", stdin=b"").stderr


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    path = tmp_path / "pack.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("models/mill.3ds", EXAMPLE.read_bytes())
        archive.writestr("../../evil.3ds", EXAMPLE.read_bytes())
        archive.writestr("picture.png", b"\x89PNG")
    return path


def test_zip_archives_are_read_as_their_members(run: Run, pack: Path) -> None:
    assert names(run, pack) == ["evil.3ds", "mill.3ds"]
    assert names(run, f"{pack}!/models/mill.3ds") == ["mill.3ds"]
    assert run("info", f"{pack}!/models/mill.3ds").code == 0
    ran = run("identify", f"{pack}!/none.3ds")
    assert ran.code == 3
    assert "no such member" in ran.err


def test_archives_in_a_folder_whose_name_ends_like_an_archive(run: Run, pack: Path) -> None:
    folder = pack.parent / "wow!"
    folder.mkdir()
    pack = pack.rename(folder / "pack.zip")
    before = pack.read_bytes()
    assert names(run, f"{pack}!/models/mill.3ds") == ["mill.3ds"]
    assert run("info", f"{pack}!/models/mill.3ds").code == 0
    assert run(f"{pack}!/models/mill.3ds").code == 0  # without a command: identify
    for source in (pack, f"{pack}!/models/mill.3ds"):
        ran = run("convert", source, pack, "--to", "gltf", "-f")
        assert ran.code == 3
        assert "is an input of this run" in ran.err
        assert pack.read_bytes() == before
    out = folder.with_name("out")
    assert run("batch", "identify", f"{pack}!/models/mill.3ds", "-o", out, "-j", "1").code == 0
    assert (out / "pack.zip" / "models" / "mill.3ds.identify.json").is_file()


def test_archive_members_are_not_written_outside_the_output_folder(run: Run, pack: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    assert run("dump", "-r", pack, "-o", f"{out}/").code == 0
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.json"))
    assert written == [Path("deep/out/evil.3ds.json"), Path("deep/out/models/mill.3ds.json")]


def test_broken_archives_are_reported(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pack.zip"
    path.write_bytes(b"PK\x03\x04rubbish")
    assert run("info", path).code == 3
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.3ds", EXAMPLE.read_bytes())
    damaged = bytearray(path.read_bytes())
    damaged[60] ^= 0xFF  # inside the stored data: the checksum is wrong
    path.write_bytes(damaged)
    ran = run("info", path)
    assert ran.code == 3
    assert "cannot be read from the archive" in ran.err


def test_unusual_file_names(run: Run, tmp_path: Path) -> None:
    assert run("identify", "a\0b").code == 3
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b[31m.3ds"))
    path.write_bytes(EXAMPLE.read_bytes())
    ran = run("identify", path)
    assert ran.code == 0
    assert "\\x1b[31m" in ran.out
    assert "\x1b" not in ran.out
    assert names(run, path) == ["\\udcff\\x1b[31m.3ds"]


@pytest.mark.parametrize("command", ["identify", "info", "dump"])
def test_missing_inputs_are_wrong_usage(run: Run, command: str) -> None:
    ran = run(command)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert f"(see keyframer {command} --help)" in ran.err


def test_utf8_names_without_the_flag_are_read(run: Run, tmp_path: Path) -> None:
    """Some programs write UTF-8 and do not set the flag for it; names that are not UTF-8 are CP437."""
    path = tmp_path / "pack.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("Mühle.3ds", "Flügel.3ds", "plain.3ds"):
            archive.writestr(name, EXAMPLE.read_bytes())
    data = path.read_bytes()
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flags in the headers and in the directory
        position = -1
        while (position := data.find(mark, position + 1)) >= 0:
            data = data[: position + at] + b"\0\0" + data[position + at + 2 :]
    path.write_bytes(data.replace("Flügel".encode(), b"Fl\x81gel\xe1"))  # in CP437, of the same length
    assert names(run, path) == ["Flügelß.3ds", "Mühle.3ds", "plain.3ds"]
    assert run("info", f"{path}!/Mühle.3ds").code == 0
    assert run("info", f"{path}!/Flügelß.3ds").code == 0
    assert run("batch", "identify", path, "-o", tmp_path / "out").code == 0
    assert len(list((tmp_path / "out").rglob("M*hle.3ds*.json"))) == 1


@needs_page
def test_view_of_files_that_do_not_exist_ends(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(*arguments: object, **options: object) -> None:
        raise AssertionError("the server was started")

    monkeypatch.setattr("keyframer.cli.view.Viewer", serve)
    typo = tmp_path / "typo.3ds"
    ran = run("view", typo, "--no-open")
    assert (ran.code, ran.out, ran.err) == (3, "", f"keyframer: {typo}: no such file\n")
    assert run("view", typo, f"{tmp_path}/no.zip!/a.3ds", "--no-open").code == 3
    assert "the server was started" in run("view", typo, EXAMPLE, "--no-open").err  # one file can be shown


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_pipe_with_the_name_of_an_apple_double_file_is_not_opened(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "._pipe.3ds")
    ran = run("identify", "-r", tmp_path)
    assert ran.code == 3
    assert ran.err == f"keyframer: {tmp_path / '._pipe.3ds'}: not a regular file\n"
