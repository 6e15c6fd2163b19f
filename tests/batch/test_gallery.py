"""The gallery: pages that work from a disk, their index, and what a second run does."""

from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import bagit
import pytest

from keyframer.batch import Job, Ledger, gallery_index, gallery_page, perform
from keyframer.batch.job import LEDGER
from keyframer.batch.ledger import RunInProgress, lock_ledger
from keyframer.batch.proof import MANIFEST, read_manifest
from keyframer.exchange.opening import OpenedFile
from keyframer.scene import Node, Scene
from keyframer.text import safe_text
from tests.batch.places import BAD, OTHER, put
from tests.building import threeds_records as make
from tests.cli.running import EXAMPLE, Ran, Run, spawn
from tests.viewer.browser import Browser, Watched
from tests.viewer_page import NOT_BUILT

pytestmark = [pytest.mark.skipif(NOT_BUILT is not None, reason=str(NOT_BUILT))]
Image = pytest.importorskip("PIL.Image")

HOSTILE = "<img src=x onerror=alert(1)> 100% #1.3ds"
VOID = ("meta", "link", "img", "input", "br")


def entries(site: Path) -> dict[str, dict[str, Any]]:
    """Return the entries of the index by path."""
    text = (site / "gallery" / "data.js").read_text("ascii")
    assert text.startswith("keyframerGallery(")
    assert text.endswith(");\n")
    return {entry["path"]: entry for entry in json.loads(text[len("keyframerGallery(") : -3])}


class Page(HTMLParser):
    """What a page refers to, its text, and whether its elements are nested correctly."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.deepest = 0
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href") and value is not None]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self._open.append(tag)
        self.deepest = max(self.deepest, self._open.count("ul"))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    put(folder / "windmill.3ds", EXAMPLE.read_bytes())
    put(folder / "deep" / HOSTILE, OTHER)
    put(folder / "cut.3ds", EXAMPLE.read_bytes()[:3_000])
    put(folder / "bad.3ds", BAD)
    return folder


@pytest.fixture(scope="module")
def site(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("gallery") / "site"
    ran = spawn("batch", "gallery", archive, "-o", site, "-j", "2")
    assert ran.returncode == 0, ran.stderr
    assert b"4 files: 4 done" in ran.stderr
    command = f"keyframer batch report {site} --only damaged --only unreadable"
    assert f"2 files damaged or not readable; to list them: {command}\n".encode() in ran.stderr
    assert len(spawn(*command.split()[1:], "--format", "jsonl").stdout.splitlines()) == 2
    return site


def test_every_file_has_a_page_whose_links_lead_to_files(site: Path) -> None:
    pages = sorted((site / "files").rglob("*.html"))
    assert [page.relative_to(site / "files").as_posix() for page in pages if page.name == "index.html"] == [
        "bad.3ds/index.html", "cut.3ds/index.html", f"deep/{HOSTILE}/index.html", "windmill.3ds/index.html",
    ]  # fmt: skip
    for path in [*pages, site / "index.html"]:
        page = Page(path.read_text("utf-8"))
        assert "\\x0a" not in page.text  # line breaks are between elements, not text of the page
        assert page.links
        for link in page.links:
            assert (path.parent / unquote(link)).is_file(), (path, link)
    page = Page((site / "files" / "deep" / HOSTILE / "index.html").read_text("utf-8"))
    assert HOSTILE in page.text
    assert "script" not in page.tags  # works without scripts


def test_the_folder_of_a_file(run: Run, site: Path, tmp_path: Path) -> None:
    folder = site / "files" / "windmill.3ds"
    assert run("convert", EXAMPLE, "-o", tmp_path / "windmill.glb").code == 0
    assert (folder / "model.glb").read_bytes() == (tmp_path / "windmill.glb").read_bytes()
    with Image.open(folder / "picture.jpg") as picture, Image.open(folder / "strip.jpg") as strip:
        assert picture.size == (640, 480)
        assert strip.size == (12 * 160, 160)
        first, later = (strip.crop((160 * at, 0, 160 * at + 160, 160)).tobytes() for at in (0, 3))
    assert first != later  # it moves
    svg = (folder / "curves.svg").read_text("utf-8")
    assert "Rotor" in svg
    assert "rotation" in svg
    assert (folder / "viewer.html").stat().st_size < 100_000  # without the script of 700 KB, which all share
    assert b"b'" not in (site / "gallery" / "data.js").read_bytes()
    page = Page((folder / "index.html").read_text("utf-8"))
    for words in (
        "3D Studio (3ds), version 3",
        "12, 5 of them animated",
        "6 with 150 triangles",
        "Issues (0)",
        "Sail4",
    ):
        assert words in page.text


def test_a_quick_gallery_has_pictures_and_the_next_run_adds_the_rest(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in/a.3ds", EXAMPLE.read_bytes())
    out, command = tmp_path / "site", ("batch", "gallery", tmp_path / "in", "-o", tmp_path / "site", "-j", "1")
    assert run(*command, "--quick").code == 0
    folder = next(path.parent for path in out.rglob("picture.jpg"))
    quick = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(quick) == {"index.html", "picture.jpg", "strip.jpg"}
    assert entries(out)["a.3ds"]["verdict"] == "clean"
    page = Page(quick["index.html"].decode())
    assert all((folder / unquote(link)).exists() for link in page.links)
    assert run(*command).code == 0
    assert {path.name for path in folder.iterdir()} == {*quick, "model.glb", "viewer.html", "curves.svg"}
    assert (folder / "picture.jpg").read_bytes() == quick["picture.jpg"]


def test_the_index_has_what_filters_need(site: Path) -> None:
    found = entries(site)
    assert sorted(found) == sorted(["bad.3ds", "cut.3ds", f"deep/{HOSTILE}", "windmill.3ds"])
    windmill = found["windmill.3ds"]
    assert windmill["format"] == "3ds"
    assert windmill["verdict"] == "clean"
    assert windmill["frames"] == 12
    assert windmill["size"] == EXAMPLE.stat().st_size
    assert windmill["triangles"] == 150
    assert windmill["features"] == ["animation", "meshes", "cameras", "lights", "images", "missing images"]
    assert "Sail4" in windmill["words"]
    still = found[f"deep/{HOSTILE}"]
    assert still["frames"] == 1
    assert "seconds" not in still
    assert found["cut.3ds"]["verdict"] == "damaged"
    assert found["bad.3ds"]["verdict"] == "not readable"
    assert "frames" not in found["bad.3ds"]
    bad = Page((site / "files" / "bad.3ds" / "index.html").read_text("utf-8"))
    assert "IO_UNRECOGNISED" in bad.text
    assert "iframe" not in bad.tags


def test_the_page_of_a_damaged_file_says_what_is_not_shown(site: Path) -> None:
    cut = Page((site / "files" / "cut.3ds" / "index.html").read_text("utf-8"))
    assert "bytes (without the parts that could not be read)" in cut.text
    bad = Page((site / "files" / "bad.3ds" / "index.html").read_text("utf-8"))
    assert "no picture: no node could be read" in bad.text
    whole = Page((site / "files" / "deep" / HOSTILE / "index.html").read_text("utf-8"))
    assert f"path deep/{HOSTILE}" in whole.text
    assert "without the parts" not in whole.text


def text_of_page(data: bytes) -> str:
    files, _, _ = gallery_page.make_folder(OpenedFile(data, name="a.3ds"), "", None, "")
    return Page(files["index.html"].decode()).text


def test_all_issues_are_counted() -> None:
    names = [f"N{number}" for number in range(25)]
    meshes = [make.mesh(name, [[0, 0, 0], [1, 0, 0]]) for name in names]  # their faces have three corners
    text = text_of_page(make.file_bytes(meshes, [make.node("object", name, at) for at, name in enumerate(names)]))
    assert "damaged (25 errors)" in text
    assert "Issues (20 of 25 listed)" in text
    assert text.count("face 0 refers to vertex 2, which does not exist") == 1
    assert "(count: 2) 20 69 /4d4d/3d3d/4000[0]/4100/4120/faces[0]" in text  # how many, and where the first is


def test_curves_are_folded(site: Path) -> None:
    page = (site / "files" / "windmill.3ds" / "index.html").read_text("utf-8")
    assert '<details><summary>Curves</summary><img class="curves" src="curves.svg"' in page


def test_an_empty_picture_says_why() -> None:
    data = make.file_bytes([], [make.node("camera", name, at) for at, name in enumerate(("Eye", "Cut"))])
    assert "the picture is empty: the file has no faces" in text_of_page(data)
    assert "the picture is empty: what could be read has no faces" in text_of_page(data[:-1])


def gallery(run: Run, folder: Path, site: Path, *options: str) -> Ran:
    return run("batch", "gallery", folder, "-o", site, "-j", "1", *options)


def test_a_second_run_makes_only_what_changed_and_lists_only_what_is_there(run: Run, tmp_path: Path) -> None:
    folder, site = tmp_path / "in", tmp_path / "in" / "site"  # the GLB files of a gallery are no inputs
    put(folder / "a.3ds", OTHER)
    put(folder / "b.3ds", OTHER)
    assert gallery(run, folder, site).code == 0
    before = (site / "gallery" / "data.js").read_bytes()
    again = gallery(run, folder, site)
    assert "2 files: 2 done, 0 failed, 2 already finished" in again.err
    assert (site / "gallery" / "data.js").read_bytes() == before
    os.unlink(folder / "a.3ds")
    put(folder / "c.3ds", EXAMPLE.read_bytes())
    (site / "files" / "b.3ds" / "strip.jpg").unlink()
    third = gallery(run, folder, site)
    assert "2 files: 2 done, 0 failed; " in third.err
    assert sorted(entries(site)) == ["b.3ds", "c.3ds"]
    assert (site / "files" / "b.3ds" / "strip.jpg").is_file()


def test_shards_write_the_index_of_one_run(run: Run, tmp_path: Path) -> None:
    folder, one, many = tmp_path / "in", tmp_path / "one", tmp_path / "many"
    for name in "abcd":
        put(folder / f"{name}.3ds", OTHER)
    assert gallery(run, folder, one).code == 0
    for index in range(2):
        ran = gallery(run, folder, many, "--shard", f"{index}/2")
        assert (ran.code, "was not written" in ran.err) == (0, False)
    assert (many / "gallery" / "data.js").read_bytes() == (one / "gallery" / "data.js").read_bytes()
    put(many / "keyframer-batch.0-of-2.sqlite", b"")  # begins again
    for name in "abcd":
        os.unlink(folder / f"{name}.3ds")
        put(folder / f"{name}2.3ds", OTHER)
    (many / "gallery" / "data.js").unlink()
    for index in (1, 0):  # in another order
        assert gallery(run, folder, many, "--shard", f"{index}/2").code == 0
    assert sorted(entries(many)) == ["a2.3ds", "b2.3ds", "c2.3ds", "d2.3ds"]


def test_shards_write_the_index_one_after_the_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put(tmp_path / "keyframer-batch.1-of-2.sqlite", b"")
    locked = []

    def write_all(*_: object) -> tuple[str, int]:
        with pytest.raises(RunInProgress):
            lock_ledger(str(tmp_path / LEDGER))
        locked.append(True)
        return "", 0

    monkeypatch.setattr(gallery_index, "_write_all", write_all)
    with Ledger(str(tmp_path / "keyframer-batch.0-of-2.sqlite"), str(tmp_path)) as ledger:
        gallery_index.write(str(tmp_path), ledger, [])
    os.close(lock_ledger(str(tmp_path / LEDGER)) or -1)
    assert locked == [True]


def test_a_file_that_fails_is_listed_without_a_page(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    os.mkfifo(tmp_path / "in" / "pipe.3ds")
    ran = gallery(run, tmp_path / "in", tmp_path / "site")
    assert ran.code == 3
    entry = entries(tmp_path / "site")["pipe.3ds"]
    assert entry["url"] == ""
    assert entry["verdict"] == "not readable"
    assert entry["message"].startswith("IO_READ_FAILED: ")


def test_a_gallery_in_a_store(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    out = "memory://gallery-test"
    result = perform(Job("gallery", str(EXAMPLE), f"{out}/files/deep/a.3ds/index.html", out=out))
    assert result["error"] is None
    with Ledger(str(tmp_path / "ledger.sqlite"), out) as ledger:
        ledger.record(result)
        assert gallery_index.write(out, ledger, [str(EXAMPLE)]) == (f"{out}/index.html", 0)
    store = fsspec.filesystem("memory")
    assert b"files/deep/a.3ds" in store.cat("/gallery-test/gallery/data.js")
    assert store.exists("/gallery-test/files/deep/a.3ds/model.glb")
    assert b'src="../../../gallery/viewer.js"' in store.cat("/gallery-test/files/deep/a.3ds/viewer.html")
    assert store.exists("/gallery-test/gallery/viewer.js")
    store.rm("/gallery-test", recursive=True)


def test_proof_covers_the_index(run: Run, tmp_path: Path) -> None:
    folder, site, bag = tmp_path / "in", tmp_path / "site", tmp_path / "bag"
    put(folder / "deep" / "a.3ds", OTHER)
    assert gallery(run, folder, site, "--manifest", "sha256").code == 0
    written = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    listed = {os.path.relpath(path, site) for path, _ in read_manifest(str(site / MANIFEST))}
    assert {name for name in written if not name.startswith(LEDGER)} - {MANIFEST} == listed
    assert gallery(run, folder, bag, "--bag").code == 0
    bagit.Bag(str(bag)).validate()
    assert list(entries(bag)) == ["deep/a.3ds"]
    page = bag / entries(bag)["deep/a.3ds"]["url"] / "index.html"
    links = Page(page.read_text("utf-8")).links
    assert "../../../../index.html" in links
    assert all((page.parent / link).is_file() for link in links)
    put(bag / "gallery" / "data.js", b"")
    assert f"{bag}/gallery/data.js: file of the bag has changed" in run("batch", "verify", bag).out


def test_a_foreign_index_is_not_replaced(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    put(tmp_path / "site" / "index.html", b"mine")
    ran = gallery(run, tmp_path / "in", tmp_path / "site")
    assert ran.code == 3
    (line,) = ran.err.splitlines()
    assert line.endswith("index.html exists and was not written by an earlier run (--force replaces it)")
    assert (tmp_path / "site" / "index.html").read_bytes() == b"mine"
    assert gallery(run, tmp_path / "in", tmp_path / "site", "--force").code == 0
    assert b"Gallery" in (tmp_path / "site" / "index.html").read_bytes()


def test_nothing_is_written_through_a_link(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "gallery").symlink_to(tmp_path / "elsewhere")
    ran = gallery(run, tmp_path / "in", tmp_path / "site")
    assert ran.code == 3
    assert ran.err.splitlines()[-1].endswith("cannot be written: it is, or leads through, a link")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_names_that_differ_only_in_case_get_two_folders(run: Run, tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.3ds", OTHER)
    put(tmp_path / "in" / "A.3ds", OTHER)
    assert gallery(run, tmp_path / "in", tmp_path / "site").code == 0
    names = [path.name for path in (tmp_path / "site" / "files").iterdir()]
    assert len({name.casefold() for name in names}) == 2
    assert all(name.casefold().startswith("a.3ds~") for name in names)


def test_a_deep_tree_is_nested_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(nodes=[Node(f"n{at}", parent=at - 1 if at else None) for at in range(60)])
    monkeypatch.setattr(gallery_page, "_MOST_ROWS", 40)
    opened = OpenedFile(EXAMPLE.read_bytes(), name="deep.3ds")
    monkeypatch.setattr(OpenedFile, "scene", lambda self, *, salvage=False: scene)
    files, _, _ = gallery_page.make_folder(opened, "", None, "")
    page = Page(files["index.html"].decode("utf-8"))
    assert page.deepest == 30
    assert " n39 " in page.text
    assert " n40 " not in page.text
    assert "20 more nodes" in page.text


# In the browser


def cards(watched: Watched) -> list[str]:
    names: list[str] = watched.page.locator(".card .name").all_text_contents()
    return names


def test_filters_keyboard_and_viewer_from_a_disk(browser: Browser, site: Path) -> None:
    with browser.page((site / "index.html").as_uri(), moving=True) as shown:
        page = shown.page
        assert sorted(cards(shown)) == sorted(["bad.3ds", "cut.3ds", HOSTILE, "windmill.3ds"])
        assert cards(shown)[0] in ("cut.3ds", "windmill.3ds")  # animated files are the first
        page.get_by_label("Sort").select_option("path")
        assert cards(shown) == ["bad.3ds", "cut.3ds", HOSTILE, "windmill.3ds"]
        page.get_by_label("Words").fill("SAIL4 windmill.3ds")
        assert cards(shown) == ["windmill.3ds"]
        page.get_by_label("Words").fill("")
        page.get_by_label("Feature").select_option("cameras")
        page.get_by_label("Verdict", exact=True).select_option("clean")
        assert cards(shown) == ["windmill.3ds"]
        assert page.get_by_role("status").inner_text() == "1 of 4 files"
        card = page.get_by_role("link", name="windmill.3ds")
        page.get_by_role("button", name="Show all").focus()
        page.keyboard.press("Tab")
        assert card.evaluate("link => link === document.activeElement")
        playing = "link => getComputedStyle(link.querySelector('.thumbnail')).animationName"
        assert card.evaluate(playing) == "play"  # also with the keyboard
        page.emulate_media(reduced_motion="reduce")
        assert card.evaluate(playing) == "none"
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="windmill.3ds").wait_for()
        page.get_by_text("Play in the viewer").click()
        page.frame_locator("iframe").locator("html[data-ready=yes]").wait_for(state="attached")
        page.go_back()
        page.wait_for_selector("html[data-ready=yes]")
        assert cards(shown) == ["windmill.3ds"]  # filters are in the address
        assert shown.troubles == []
        assert all(url.startswith((site.as_uri(), "blob:")) for url in shown.requests), shown.requests


def test_the_page_of_a_report_shows_pictures_and_links_and_filters(
    run: Run, browser: Browser, archive: Path, tmp_path: Path
) -> None:
    out, report = tmp_path / "out #1", tmp_path / "pages" / "report.html"
    report.parent.mkdir()
    run("batch", "thumbnail", archive, "-o", out, "--size", "32", "-j", "1")
    run("batch", "check", archive, "-o", out, "-j", "1")
    assert run("batch", "report", out, "--format", "html", "-o", report).code == 0
    page = Page(report.read_text("utf-8"))
    assert "\\x0a" not in page.text
    assert {unquote(link) for link in page.links} == {
        f"../out #1/{name}{suffix}"
        for name, suffixes in {
            "windmill.3ds": (".png", ".check.json"), f"deep/{HOSTILE}": (".png", ".check.json"),
            "cut.3ds": (".check.json",), "bad.3ds": (".check.json",),
        }.items()
        for suffix in suffixes
    }  # fmt: skip
    watched = Watched(browser.new_page())
    shown = watched.page
    shown.set_viewport_size({"width": 1300, "height": 800})
    shown.goto(report.as_uri())
    visible = "[...document.querySelectorAll('tr[data-status]')].filter(row => !row.hidden).length"
    assert shown.evaluate(visible) == 8
    assert shown.evaluate("document.querySelector('#files img').naturalWidth") == 32
    assert shown.evaluate("document.documentElement.scrollWidth") <= 1300
    shown.get_by_label("Status").select_option("failed")
    assert shown.evaluate(visible) == 2  # no pictures of two damaged files
    shown.get_by_label("Words").fill("unrecognised BAD")
    assert shown.evaluate(visible) == 1
    shown.get_by_role("button", name="Show all").click()
    shown.get_by_label("Severity").select_option("none")
    assert shown.get_by_role("status").inner_text() == f"{shown.evaluate(visible)} of 8 shown"
    without = shown.evaluate(visible)
    shown.get_by_label("Severity").select_option("info or higher")
    assert shown.evaluate(visible) == 8 - without
    shown.get_by_label("Severity").select_option("error")
    shown.get_by_label("Verdict").select_option("damaged")
    assert shown.evaluate(visible) == 2  # the check and the missing picture
    assert watched.troubles == []
    shown.context.close()


def test_the_page_of_a_report_about_two_folders_links_to_both(run: Run, archive: Path, tmp_path: Path) -> None:
    run("batch", "thumbnail", archive, "-o", tmp_path / "a", "--size", "32", "-j", "1")
    run("batch", "identify", archive, "-o", tmp_path / "b", "-j", "1")
    report = tmp_path / "report.html"
    assert run("batch", "report", tmp_path / "a", tmp_path / "b", "--format", "html", "-o", report).code == 0
    links = Page(report.read_text("utf-8")).links
    assert {"a/windmill.3ds.png", "b/windmill.3ds.identify.json", "b/cut.3ds.identify.json"} <= set(links)
    assert links.count("a/windmill.3ds.png") == 3  # a link, and a picture in two rows


def test_ten_thousand_files_show_sixty_at_a_time(browser: Browser, site: Path, tmp_path: Path) -> None:
    for path in (site / "index.html", *(site / "gallery").iterdir()):
        put(tmp_path / path.relative_to(site), path.read_bytes())
    data = [
        {"path": f"f{at % 100}/{at:05}.3ds", "url": "", "format": "3ds", "size": at, "verdict": "clean", "words": "box"}
        for at in range(10_000)
    ]
    put(tmp_path / "gallery" / "data.js", f"keyframerGallery({json.dumps(data)});".encode())
    with browser.page((tmp_path / "index.html").as_uri()) as shown:
        page = shown.page
        assert len(cards(shown)) == 60
        assert page.get_by_role("status").inner_text() == "10,000 files, page 1 of 167"
        page.get_by_label("Sort").select_option("size")
        assert cards(shown)[:2] == ["09999.3ds", "09998.3ds"]
        page.get_by_role("button", name="Next").click()
        assert cards(shown)[0] == "09939.3ds"
        page.get_by_label("Words").fill("box f7/ 07")
        expected = [f"{at:05}.3ds" for at in range(9_999, -1, -1) if at % 100 == 7]
        assert cards(shown) == expected[:60]
        assert page.get_by_role("status").inner_text() == "100 of 10,000 files, page 1 of 2"
        assert shown.troubles == []


def test_entries_of_the_index_are_safe_and_have_known_types() -> None:
    """The ledger may come from somebody else."""
    details = {"verdict": ["clean"], "triangles": "<b>", "features": "x", "title": "good", "unknown": 1}
    row = {"output": "files/a\x1b[31m\u202e.3ds/index.html", "format": "3ds", "size": 7, "status": "done"}
    entry = gallery_index._entry({**row, "details": details})
    assert entry == {
        "path": safe_text("a\x1b[31m\u202e.3ds"),
        "format": "3ds",
        "size": 7,
        "url": entry["url"],
        "title": "good",
    }
    assert "\x1b" not in entry["path"]
