"""A disc becomes a catalogue and a gallery without being unpacked, the same as its folder gives."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.building import containers
from tests.building.files import editor, material, texture
from tests.building.images import picture
from tests.cli.running import EXAMPLE, START, Run, check_schema, spawn
from tests.viewer.browser import Browser
from tests.viewer.opening import SAMPLES
from tests.viewer_page import NOT_BUILT
from tests.waiting import wait_for

needs_page = pytest.mark.skipif(NOT_BUILT is not None, reason=str(NOT_BUILT))
OLD = 773_064_000  # 1 July 1994, noon, UTC


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Scenes with textures in MAPS, two copies, a file of another program, and a broken one."""
    folder = tmp_path_factory.mktemp("disc") / "disc"
    (folder / "MESHES/MAPS").mkdir(parents=True)
    (folder / "MESHES/COPY").mkdir()
    shutil.copy(EXAMPLE, folder / "MESHES/MILL.3DS")
    shutil.copy(EXAMPLE, folder / "MESHES/COPY/MILL2.3DS")
    shutil.copy(SAMPLES / "3ds/looks_images.3ds", folder / "MESHES/LOOKS.3DS")
    for image in ("HALF.TGA", "RED.TGA"):
        shutil.copy(SAMPLES / "3ds/images" / image, folder / "MESHES/MAPS")
    (folder / "MESHES/BOX.3DS").write_bytes(editor(material(b"wood", texture(b"WOOD.TGA"))))
    (folder / "MESHES/MAPS/WOOD.TGA").write_bytes(picture("TGA"))
    (folder / "BAD.3DS").write_bytes(b"MM")
    (folder / "QUAKE.MDL").write_bytes(b"IDPO\x06\0\0\0" + bytes(200))
    for path in folder.rglob("*"):
        os.utime(path, (OLD, OLD))
    return folder


@pytest.fixture(scope="module")
def disc(folder: Path) -> Path:
    path = folder.parent / "disc.iso"
    containers.MAKERS["iso"](folder, path)
    return path


def entries(site: Path, below: str = "") -> dict[str, dict[str, Any]]:
    text = (site / "gallery" / "data.js").read_text("ascii")
    listed = json.loads(text[len("keyframerGallery(") : -3])
    return {entry["path"].removeprefix(below): entry for entry in listed}


@needs_page
def test_gallery_of_a_disc_is_that_of_its_folder(folder: Path, disc: Path, tmp_path: Path, run: Run) -> None:
    for source, out in ((folder, "one"), (disc, "two")):
        ran = spawn("batch", "gallery", source, "-o", tmp_path / out, "-j", "2", TZ="UTC")
        assert ran.returncode in (0, 3), ran.stderr
    one, two = entries(tmp_path / "one"), entries(tmp_path / "two", "disc.iso/")
    for listed in (one, two):
        for entry in listed.values():
            entry.pop("url"), entry.pop("path")
    assert two == one
    assert one["MESHES/MILL.3DS"]["copies"] == 1
    assert one["MESHES/MILL.3DS"]["date"] == "1994-07-01T12:00:00"
    assert "Quake" in one["QUAKE.MDL"]["stranger"]
    pictures = [path.relative_to(tmp_path / "one/files") for path in (tmp_path / "one").rglob("*.jpg")]
    assert len(pictures) == 6
    for path in [*pictures, *(path.with_name("model.glb") for path in pictures)]:
        assert (tmp_path / "two/files/disc.iso" / path).read_bytes() == (tmp_path / "one/files" / path).read_bytes()
    page = (tmp_path / "two/files/disc.iso/MESHES/MILL.3DS/index.html").read_text()
    assert "1994-07-01 12:00:00" in page
    assert "disc.iso/MESHES/MILL.3DS" in page
    again = spawn("batch", "gallery", disc, "-o", tmp_path / "two", "-j", "1")
    assert b"6 already finished" in again.stderr


@needs_page
def test_front_page_has_figures(disc: Path, tmp_path: Path, browser: Browser) -> None:
    assert spawn("batch", "gallery", disc, "-o", tmp_path / "site", "-j", "1").returncode in (0, 3)
    with browser.page((tmp_path / "site/index.html").as_uri()) as shown:
        shown.page.wait_for_selector("html[data-ready]")
        figures = shown.page.inner_text("#figures")
        assert "1994: 6" in figures
        assert "files with the same content as another: 2" in figures
        assert "Quake" in figures
        names = shown.page.locator(".card .name").all_inner_texts()
        assert names[:2] == ["MILL2.3DS", "MILL.3DS"]  # animated ones first
        shown.page.select_option("#by-sort", "path")
        assert shown.page.locator(".card .name").all_inner_texts()[0] == "BAD.3DS"
        shown.page.select_option("#by-year", "1994")
        assert shown.page.inner_text("#count") == "6 files"


def test_catalogue_of_discs_is_searched_by_date(folder: Path, disc: Path, tmp_path: Path, run: Run) -> None:
    with zipfile.ZipFile(tmp_path / "new.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("NEW.3DS", (1997, 3, 1, 10, 0, 0)), EXAMPLE.read_bytes())
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.write(tmp_path / "new.zip", "IN/new.zip")
    catalogue = tmp_path / "discs.sqlite"
    sources = (disc, tmp_path / "outer.zip")
    assert run("batch", "catalogue", *sources, "-o", catalogue, "-j", "1").code in (0, 3)

    def found(*arguments: str) -> list[str]:
        return [line.rpartition("/")[2] for line in run("search", catalogue, *arguments).out.splitlines()]

    assert found("--before", "1996", "animated:yes") == ["MILL2.3DS", "MILL.3DS"]
    assert found("--after", "1996") == found("--after", "1997-03-01") == ["NEW.3DS"]
    assert found("--after", "1997-03-02") == []
    assert found("--before", "1994-07", "format:3ds") == []
    assert len(found("animated:no", "--before", "1995")) == 4
    assert found("verdict:not readable", "QUAKE") == ["QUAKE.MDL"]
    assert found("rotor", "animated:yes", "--before", "1996") == ["MILL2.3DS", "MILL.3DS"]
    with closing(sqlite3.connect(catalogue)) as database:
        rows = database.execute("SELECT path, container, modified FROM files WHERE path LIKE '%NEW.3DS'").fetchall()
    outer = tmp_path / "outer.zip"
    assert rows == [(f"{outer}!/IN/new.zip!/NEW.3DS", str(outer), "1997-03-01T10:00:00")]
    ran = run("search", catalogue, "--before", "1996", "--format", "json")
    check_schema("search", ran.json())
    assert {file["container"] for file in ran.json()["files"]} == {str(disc)}
    assert run("search", catalogue, "--before", "July").code == 2
    again = run("batch", "catalogue", *sources, "-o", catalogue, "-j", "1")
    assert "7 unchanged" in again.err or "7 already" in again.err, again.err


def test_killed_run_over_a_disc_is_resumed(disc: Path, tmp_path: Path) -> None:
    """Whenever the run is killed, the next one ends with the same files."""
    wanted, out = tmp_path / "wanted", tmp_path / "out"
    spawn("batch", "convert", disc, "-o", wanted, "-j", "1")
    command = [sys.executable, "-c", START, "batch", "convert", str(disc), "-o", str(out), "-j", "1"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as running:
        wait_for(lambda: any(out.rglob("*.glb")))
        os.killpg(running.pid, signal.SIGKILL)
    assert b"4 done, 2 failed" in spawn("batch", "convert", disc, "-o", out, "-j", "1").stderr
    made = {path.relative_to(out): path.read_bytes() for path in out.rglob("*.glb")}
    assert made == {path.relative_to(wanted): path.read_bytes() for path in wanted.rglob("*.glb")}
    assert len(made) == 4
