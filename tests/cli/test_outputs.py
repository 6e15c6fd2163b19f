"""No command writes to devices, pipes, sockets, folders, or inputs of the same run."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

import keyframer
from keyframer.batch import Ledger
from keyframer.batch.job import LEDGER
from tests.cli.running import EXAMPLE, Run, spawn
from tests.portable import needs_linux
from tests.samples import sample_files

SAMPLES = {path.name: path.read_bytes() for name in ("3ds", "hale3d") for path in sample_files(name)}
SMALL = SAMPLES["tracks.3ds"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and devices of POSIX")

WRITERS = {
    "dump": "dump IN/a.3ds -o PATH",
    "build": "build IN/a.json -o PATH",
    "sample": "sample IN/a.3ds -o PATH",
    "convert": "convert IN/a.3ds PATH --to gltf",
    "convert text": "convert IN/a.3ds PATH --to gltf --dialect text",
    "convert natively": "convert IN/a.3ds PATH --to 3ds",
    "report": "convert IN/a.3ds IN/other.glb -f --report PATH",
    "plot": "plot IN/a.3ds -o PATH",
    "diff": "diff IN/a.3ds IN/b.3ds --plot PATH",
    "thumbnail": "thumbnail IN/a.3ds --size 16 -o PATH",
    "view": "view IN/a.3ds --export PATH",
    "batch report": "batch report IN/batch -o PATH",
}
"""commands that write one file"""
ENDINGS = {"diff": ".svg", "plot": ".svg", "thumbnail": ".png"}
"""where the command insists on one"""


@pytest.fixture
def place(tmp_path: Path, run: Run) -> Path:
    (tmp_path / "a.3ds").write_bytes(SMALL)
    (tmp_path / "b.3ds").write_bytes(SMALL)
    run("dump", tmp_path / "a.3ds", "-o", tmp_path / "a.json")
    return tmp_path


def command(name: str, folder: Path, path: Path, *more: str) -> list[str]:
    words = WRITERS[name].split()
    return [word.replace("IN", str(folder)).replace("PATH", str(path)) for word in words] + list(more)


def prepare(name: str, place: Path) -> None:
    if name == "batch report":
        Ledger(str(place / "batch" / LEDGER), str(place / "batch")).close()
    if name == "view":
        from keyframer.viewer.standalone_page import Assets, PageMissing

        try:
            Assets()
        except PageMissing:
            pytest.skip("the page of the viewer is not built")


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.stat("/dev/null").st_rdev)
    except OSError:
        pytest.skip("only root makes devices")


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # paths of sockets must be short
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


ODD: dict[str, tuple[Callable[[Path], None], str]] = {
    "device": (_device, "a device"),
    "link to a device": (lambda path: path.symlink_to("/dev/null"), "a device"),
    "pipe": (os.mkfifo, "a pipe"),
    "socket": (_socket, "a socket"),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", WRITERS)
def test_special_file_is_not_overwritten(name: str, odd: str, place: Path, run: Run) -> None:
    prepare(name, place)
    path = place / f"odd{ENDINGS.get(name, '.glb')}"
    make, kind = ODD[odd]
    make(path)
    before = os.lstat(path)
    ran = run(*command(name, place, path, "-f"))
    assert ran.code == 3, ran.err
    assert f"{path} is {kind}, not a regular file" in ran.err
    assert os.path.samestat(os.lstat(path), before)
    assert not list(place.glob(".kf-*"))


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("dump IN/a.3ds -o IN/out -f", "a.3ds.json"),
        ("build IN/a.json -o IN/out -f", "a.3ds"),
        ("convert IN/a.3ds IN/out -f", "a.glb"),
        ("convert IN/a.3ds IN/out --to hale3d -f", "a.anim"),
        ("convert IN/mill.3ds IN/out --to hale3d -f", "mill.mdl"),
        ("plot IN/a.3ds -o IN/out -f", "a.3ds.svg"),
        ("thumbnail IN/a.3ds -o IN/out -f --size 16", "a.3ds.png"),
        ("sample IN/a.3ds -o IN/out/x -f", "x"),
        ("batch check IN/a.3ds -o IN/out --force -j 1", "a.3ds.check.json"),
        ("batch convert IN/mill.3ds -o IN/out --force -j 1 --to hale3d", "mill.mdl"),
    ],
)
def test_folder_with_the_name_of_an_output_is_refused(words: str, name: str, place: Path, run: Run) -> None:
    shutil.copyfile(EXAMPLE, place / "mill.3ds")
    path = place / "out" / name
    path.mkdir(parents=True)
    ran = run(*words.replace("IN", str(place)).split())
    assert ran.code == 3, ran.err
    assert f"{path} is a folder, not a regular file" in ran.err
    assert list(path.iterdir()) == []
    assert [path.name for path in (place / "out").iterdir() if "sqlite" not in path.name] == [name]


@pytest.mark.parametrize("odd", ["pipe", *(pytest.param(odd, marks=pytest.mark.slow) for odd in ODD if odd != "pipe")])
def test_batch_does_not_overwrite_special_files(odd: str, place: Path, run: Run) -> None:
    (place / "out").mkdir()
    path = place / "out" / "a.3ds.check.json"
    make, kind = ODD[odd]
    make(path)
    before = os.lstat(path)
    for more in ((), ("--force",)):
        ran = run("batch", "check", place / "a.3ds", "-o", place / "out", "-j", "1", *more)
        assert ran.code == 3
        assert f"{path} is {kind}" in ran.err
        assert os.path.samestat(os.lstat(path), before)


def test_library_does_not_overwrite_special_files(place: Path) -> None:
    (place / "null.glb").symlink_to("/dev/null")
    for path in (place / "null.glb", place):
        with pytest.raises(OSError, match="not a regular file"):
            keyframer.write(keyframer.read(place / "a.3ds"), path, overwrite=True)
    with pytest.raises(OSError, match="not a regular file"):
        keyframer.save(keyframer.load(place / "a.3ds"), place / "null.glb", overwrite=True)
    assert (place / "null.glb").is_symlink()


@pytest.mark.parametrize("way", ["name", "another spelling", "link", pytest.param("hard link", marks=needs_linux)])
@pytest.mark.parametrize("name", WRITERS)
def test_input_is_never_replaced(name: str, way: str, place: Path, run: Run) -> None:
    prepare(name, place)
    source = place / {"build": "a.json", "batch report": f"batch/{LEDGER}"}.get(name, "a.3ds")
    path = place / f"way{ENDINGS.get(name, '')}"
    if way == "link":
        path.symlink_to(source)
    elif way == "hard link":
        path.hardlink_to(source)
    elif name in ENDINGS:
        pytest.skip("the ending is another")
    elif way == "name":
        path = source
    else:
        (place / "sub").mkdir()
        path = place / "sub" / ".." / source.relative_to(place)
    before, status_before = source.read_bytes(), os.lstat(path)
    for more in ((), ("-f",), ("-f", "--salvage")):
        if "--salvage" in more and name in ("dump", "build", "batch report"):
            continue
        ran = run(*command(name, place, path, *more))
        assert ran.code in (2, 3), ran.err
        if "-f" in more:
            assert ran.code == 3
            assert f"{path} is an input of this run" in ran.err
        assert os.path.samestat(os.lstat(path), status_before)
        assert source.read_bytes() == before


def refused(run: Run, words: str, place: Path, path: str) -> None:
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    ran = run(*words.replace("IN", str(place)).split())
    assert ran.code == 3, ran.err
    assert f"{place / path} is an input of this run" in ran.err
    assert {source: source.read_bytes() for source in before} == before


def test_later_input_is_not_replaced(place: Path, run: Run) -> None:
    run("convert", place / "b.3ds", place / "a.glb")
    refused(run, "convert IN/a.3ds IN/a.glb -o .glb -f", place, "a.glb")
    refused(run, "dump IN/b.3ds IN/a.3ds -o .3ds -f", place, "b.3ds")


def test_companion_of_an_input_is_not_replaced(place: Path, run: Run) -> None:
    (place / "walk.anim").write_bytes(SAMPLES["wave-nul-ended.anim"])
    (place / "walk.mdl").write_bytes(SAMPLES["arm-nul-ended.mdl"])
    refused(run, "convert IN/walk.anim IN/walk.mdl --to hale3d -f", place, "walk.mdl")
    refused(run, "dump IN/walk.anim -o IN/walk.mdl -f", place, "walk.mdl")
    (place / "x.anim").write_bytes(SAMPLES["wave-nul-ended.anim"])
    (place / "m.mdl").write_bytes(SAMPLES["arm-nul-ended.mdl"])
    refused(run, "convert IN/x.anim IN/m.mdl --model IN/m.mdl --to hale3d -f", place, "m.mdl")
    refused(run, "convert IN/a.3ds IN/b.3ds --merge IN/b.3ds -f", place, "b.3ds")


def test_archive_or_list_of_inputs_is_not_replaced(place: Path, run: Run) -> None:
    with zipfile.ZipFile(place / "p.zip", "w") as archive:
        archive.write(place / "a.3ds", "a.3ds")
    refused(run, "dump IN/p.zip!/a.3ds -o IN/p.zip -f", place, "p.zip")
    refused(run, "convert IN/p.zip IN/out/ --report IN/p.zip -f", place, "p.zip")
    (place / "list").write_text(f"{place / 'a.3ds'}\n")
    refused(run, "convert --files-from IN/list IN/out/ --report IN/list -f", place, "list")


def test_image_of_an_input_is_not_replaced(place: Path, run: Run) -> None:
    from PIL import Image

    shutil.copyfile(EXAMPLE, place / "mill.3ds")
    Image.new("RGB", (4, 4), (255, 0, 0)).save(place / "stone.png")
    refused(run, "thumbnail IN/mill.3ds --size 16 -o IN/stone.png -f", place, "stone.png")
    refused(run, "convert IN/mill.3ds IN/m.glb --report IN/stone.png -f", place, "stone.png")
    shutil.copyfile(place / "a.3ds", place / "stone.3ds")
    refused(run, "thumbnail IN/stone.3ds IN/mill.3ds --size 16 -o .png -f", place, "stone.png")
    assert (place / "mill.png").exists()
    ran = run("thumbnail", place / "stone.3ds", "--size", "16", "-o", place / "stone.png", "-f")
    assert ran.code == 0, "of this run it is no input"


def test_file_on_stdin_is_not_replaced(place: Path) -> None:
    import subprocess
    import sys

    from tests.cli.running import START

    before = (place / "a.3ds").read_bytes()
    with open(place / "a.3ds", "rb") as stream:
        words = ["dump", "-", "-o", str(place / "a.3ds"), "-f"]
        ran = subprocess.run([sys.executable, "-c", START, *words], stdin=stream, capture_output=True, check=False)
    assert ran.returncode == 3
    assert b"is an input of this run" in ran.stderr
    assert (place / "a.3ds").read_bytes() == before


def test_output_does_not_replace_another_output_of_the_same_run(place: Path, run: Run) -> None:
    ran = run("convert", place / "a.3ds", place / "a.glb", "--report", place / "a.glb", "-f")
    assert ran.code == 3
    assert f"{place / 'a.glb'} is already an output of this run" in ran.err
    assert (place / "a.glb").read_bytes()[:4] == b"glTF"


@needs_linux
def test_batch_does_not_replace_a_source_through_links_or_pairs(place: Path, run: Run) -> None:
    source, out = place / "in", place / "out"
    source.mkdir()
    out.mkdir()
    (source / "a.3ds").write_bytes(SMALL)
    (source / "b.3ds").write_bytes(SMALL)
    (out / "a.glb").hardlink_to(source / "b.3ds")
    (out / "b.glb").symlink_to(source / "a.3ds")
    ran = run("batch", "convert", source, "-o", out, "-j", "1", "--force")
    assert ran.code == 3
    for name in ("a.glb", "b.glb"):
        assert f"{out / name} is an input of this run" in ran.err
        assert (out / name).read_bytes() == SMALL
    (place / "more").mkdir()
    (source / "deep").mkdir()
    shutil.copyfile(EXAMPLE, place / "more" / "c.3ds")
    (source / "deep" / "c.mdl").write_bytes(SAMPLES["arm-nul-ended.mdl"])
    words = ("-o", source / "deep", "-j", "1", "--force", "--to", "hale3d")
    ran = run("batch", "convert", place / "more", source, *words)
    assert f"{source / 'deep' / 'c.mdl'} is an input of this run" in ran.err
    assert (source / "deep" / "c.mdl").read_bytes() == SAMPLES["arm-nul-ended.mdl"]


def test_unusable_ledger_gets_no_lock_file(place: Path, run: Run) -> None:
    before = sorted(os.listdir(place))
    shutil.copyfile(place / "a.3ds", place / "other.3ds")
    ran = run("batch", "info", place / "a.3ds", "-o", place / "out", "--ledger", place / "other.3ds", "-j", "1")
    assert ran.code == 3
    assert "other.3ds is not a usable ledger" in ran.err
    assert sorted(os.listdir(place)) == sorted([*before, "other.3ds"])


def test_batch_does_not_use_an_input_or_a_pipe_as_its_ledger(place: Path, run: Run) -> None:
    """SQLite accepts an empty file as a database."""
    (place / "empty.3ds").touch()
    os.mkfifo(place / "pipe")
    for name, reason in (("empty.3ds", "is an input of this run"), ("pipe", "is a pipe, not a regular file")):
        words = ("-o", place / "out", "--ledger", place / name, "-j", "1")
        ran = run("batch", "identify", place / "a.3ds", place / "empty.3ds", *words)
        assert ran.code == 3
        assert f"{place / name} {reason}" in ran.err
    assert (place / "empty.3ds").stat().st_size == 0


def test_library_may_replace_a_file_that_it_read(place: Path) -> None:
    scene = keyframer.load(place / "a.3ds")
    keyframer.save(scene, place / "a.3ds", overwrite=True)
    keyframer.write(keyframer.read(place / "a.3ds"), place / "a.3ds", overwrite=True)
    assert (place / "a.3ds").read_bytes() == SMALL


def test_link_is_replaced_but_not_its_target(place: Path, run: Run) -> None:
    (place / "kept").write_bytes(b"kept")
    for name, target in (("to a file", "kept"), ("to nowhere", "missing")):
        link = place / f"{name}.json"
        link.symlink_to(place / target)
        assert run("dump", place / "a.3ds", "-o", link).code == 3
        assert link.is_symlink()
        assert run("dump", place / "a.3ds", "-o", link, "-f").code == 0
        assert link.is_file()
        assert not link.is_symlink()
    assert (place / "kept").read_bytes() == b"kept"
    assert not (place / "missing").exists()


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="needs /dev/fd")
def test_lists_and_inputs_may_be_pipes(place: Path, run: Run) -> None:
    """As with ``<(command)`` in a shell: a pipe can be read only once, although all inputs are examined first."""
    (place / "out").mkdir()
    (place / "out" / "a.3ds.png").write_bytes(b"old")
    assert len(SMALL) < 4096  # a pipe holds that much without a reader
    pipes = []
    for data in (SMALL, f"{place / 'a.3ds'}\n".encode()):
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        pipes.append(reading)
    words = ("--size", "16", "-o", place / "out", "-f")
    ran = run("thumbnail", f"/dev/fd/{pipes[0]}", "--files-from", f"/dev/fd/{pipes[1]}", *words)
    for pipe in pipes:
        os.close(pipe)
    assert ran.code == 0, ran.err
    assert sorted(os.listdir(place / "out")) == sorted([f"{pipes[0]}.png", "a.3ds.png"])


def test_next_run_mends_a_pair_whose_writing_was_interrupted(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The companion is replaced first: the old file beside the new companion can be read."""
    (place / "in").mkdir()
    shutil.copyfile(EXAMPLE, place / "in" / "mill.3ds")
    words = ("convert", place / "in" / "mill.3ds", place / "mill.anim", "--to", "hale3d")
    assert run(*words).code == 0
    old = {name: (place / name).read_bytes() for name in ("mill.anim", "mill.mdl")}
    renamed: list[str] = []

    def replace(source: str, target: str, real: Callable[[str, str], None] = os.replace) -> None:
        renamed.append(target)
        if len(renamed) > 1:
            raise OSError(5, "Input/output error")
        real(source, target)

    with monkeypatch.context() as context:
        context.setattr(os, "replace", replace)
        ran = run(*words, "--scale", "2", "-f")
    assert ran.code == 3
    assert "mill.anim cannot be written: Input/output error" in ran.err
    assert (place / "mill.anim").read_bytes() == old["mill.anim"]
    assert (place / "mill.mdl").read_bytes() != old["mill.mdl"]
    assert run("info", place / "mill.anim").code == 0
    assert run(*words, "--scale", "2", "-f").code == 0
    assert run(*words[:2], place / "in" / "mill.anim", *words[3:], "--scale", "2").code == 0
    for name in ("mill.anim", "mill.mdl"):
        assert (place / name).read_bytes() == (place / "in" / name).read_bytes()


def test_stdout_is_written_only_as_a_dash(place: Path) -> None:
    ran = spawn("dump", place / "a.3ds", "-o", "-")
    assert ran.returncode == 0
    assert ran.stdout == (place / "a.json").read_bytes()
    ran = spawn("dump", place / "a.3ds", "-o", "/dev/stdout")
    assert ran.returncode == 3
    assert b"/dev/stdout is a pipe, not a regular file" in ran.stderr


@pytest.mark.parametrize(
    "words",
    [
        "thumbnail IN/a.3ds IN/b.3ds -o IN/x.png",
        "plot IN/a.3ds IN/b.3ds -o IN/x.SVG",
        "convert IN/a.3ds IN/b.3ds IN/x.glb",
        "convert -r IN -o IN/x.3ds",
        "dump IN/a.3ds IN/b.3ds -o IN/x.json",
        "build IN/a.json IN/a.json -o IN/x.3ds",
        "batch check IN -o IN/x.json",
    ],
)
def test_no_folder_is_made_with_the_name_of_a_file(place: Path, run: Run, words: str) -> None:
    before = sorted(place.rglob("*"))
    ran = run(*words.replace("IN", str(place)).split())
    assert ran.code == 2
    assert " is the name of a file, but " in ran.err
    assert ran.err.count("\n") == 1
    assert sorted(place.rglob("*")) == before


def test_folder_with_the_name_of_a_file_can_be_chosen(place: Path, run: Run) -> None:
    files = place / "a.3ds", place / "b.3ds"
    assert run("dump", *files, "-o", f"{place}/x.json/").code == 0
    assert sorted(path.name for path in (place / "x.json").iterdir()) == ["a.3ds.json", "b.3ds.json"]
    assert run("dump", *files, "-f", "-o", place / "x.json").code == 0  # it exists
    assert run("dump", *files, "-o", place / "models.2026").code == 0
