"""The page that runs Python in the browser: first picture, every format, saving, damage, offline use, requests."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.exchange.opening import OpenedFile
from keyframer.viewer.saving import SAVE_CHOICES
from keyframer.viewer.viewed_file import LoadedFile
from tests.exchange.truth import assert_valid, needs_node_tools
from tests.page.conftest import PAGE, Visit, served
from tests.viewer.browser import Browser
from tests.viewer.hostile import hostile_file
from tests.viewer.opening import EXAMPLE, SAMPLES
from tests.viewer.test_layout import CUT_OFF
from tests.viewer.test_opening import DROP, picture
from tests.viewer.test_saving import zipped

CUT = SAMPLES / "3ds/cut.3ds"
EVERY_FORMAT = (
    SAMPLES / "3ds/tracks.3ds",
    SAMPLES / "ase/controllers.ase",
    SAMPLES / "hale3d/wave-nul-ended.anim",
    SAMPLES / "midtown/retail.anim",
    SAMPLES / "nodeanim/default_mixed.nanim",
    SAMPLES / "uto3d/maxscript.u3d",
    EXAMPLE.with_name("stage.mvr"),
)


def native(path: Path, ending: str) -> bytes:
    """Return what the viewer saves without a browser."""
    opened = OpenedFile(path.read_bytes(), name=path.name)
    loaded = LoadedFile(opened, opened.scene())
    choice = next(each for each in SAVE_CHOICES if each.ending == ending)
    return choice.save(loaded, path.name).data


def test_example_plays_before_python_has_started(browser: Browser, address: str) -> None:
    """The worker never gets its files, so that this does not depend on the time it needs."""
    page = browser.new_page(moving=True)
    held: list[Any] = []
    try:
        page.context.route("**/python/**", lambda route: held.append(route))
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_function("() => keyframerViewer.store.state.frame > 0 && keyframerViewer.store.state.playing")
        assert page.get_attribute("html", "data-state") == "starting"
        assert page.locator("#tree .row").count() == len(keyframer.load(EXAMPLE).nodes)
        assert "nothing is uploaded" in page.inner_text("#welcome")
        assert page.locator("#progress").is_visible()
        page.focus("#help")
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.id") == "welcome-open"
        page.click("#welcome-close")
        assert page.locator(".notice #progress").is_visible()
        assert page.inner_text(".notice #step") == "Loading Python…"
        assert page.locator("#folder").is_visible()
    finally:
        for route in held:
            route.abort()
        page.context.close()


def test_missing_files_of_python_are_reported_in_one_line(browser: Browser, address: str) -> None:
    page = browser.new_page()
    try:
        page.context.route("**/library.zip", lambda route: route.fulfill(status=404))
        page.goto(address)
        page.wait_for_selector("html[data-state=error]")
        assert page.inner_text("#step") == "Python could not be started: library.zip: 404"
        page.click("#welcome-close")
        assert page.inner_text(".notice #step") == "Python could not be started: library.zip: 404"
    finally:
        page.context.close()


def test_python_starts(visit: Visit) -> None:
    assert visit.page.get_attribute("html", "data-state") == "ready"
    assert not visit.page.locator("#progress").is_visible()


def exchange_file(ending: str, folder: Path) -> Path:
    """Return a new file of an exchange format: a saved model, or a fixture out of the show."""
    path = folder / f"new{ending}"
    if ending == ".gdtf":
        with zipfile.ZipFile(EXAMPLE.with_name("stage.mvr")) as show:
            path.write_bytes(show.read(next(name for name in show.namelist() if name.endswith(ending))))
    else:
        keyframer.save(keyframer.load(EXAMPLE), path)
    return path


@pytest.mark.parametrize("ending", [".glb", ".gdtf"])
def test_files_of_exchange_formats_play(visit: Visit, ending: str, tmp_path: Path) -> None:
    test_files_of_every_format_play(visit, exchange_file(ending, tmp_path))


@pytest.mark.parametrize("path", EVERY_FORMAT, ids=lambda path: path.name)
def test_files_of_every_format_play(visit: Visit, path: Path) -> None:
    assert visit.open(path) == "ready", visit.message()
    scene = keyframer.load(path)
    assert visit.watched.state("info.nodes.length") == len(scene.nodes)
    assert visit.watched.state("info.size") == path.stat().st_size
    assert visit.page.locator("#welcome").count() == 0
    if scene.clips:
        visit.page.click("#play")
        visit.page.wait_for_function(
            "() => { const { frame, info } = keyframerViewer.store.state; return frame > info.timing.start; }"
        )
        visit.page.click("#play")


@needs_node_tools
def test_model_is_saved_as_without_a_browser(visit: Visit, tmp_path: Path) -> None:
    assert visit.open(EXAMPLE) == "ready"
    name, data = visit.save(".glb")
    assert name == "windmill.glb"
    (tmp_path / name).write_bytes(data)
    assert_valid([tmp_path / name])
    assert data == native(EXAMPLE, ".glb")


@pytest.mark.parametrize("path", EVERY_FORMAT[:-1], ids=lambda path: path.name)
def test_unchanged_files_are_saved_byte_by_byte(visit: Visit, path: Path) -> None:
    """Also formats whose extension is shared: one of the choices is the own format."""
    assert visit.open(path) == "ready"
    file = visit.watched.state("file")
    saves = [each["number"] for each in visit.watched.state("info.saves") if each["ending"] == path.suffix]
    contents = [bytes(visit.page.evaluate(SAVED, [file, number])) for number in saves]
    assert path.read_bytes() in contents


SAVED = """([file, choice]) => keyframerViewer.data.saved(file, choice)
    .then(data => [...new Uint8Array(data)], () => [])"""


def test_another_format_text_table_and_archive(visit: Visit) -> None:
    assert visit.open(SAMPLES / "uto3d/maxscript.u3d") == "ready"
    name, data = visit.save(".3ds")
    assert name == "maxscript.3ds"
    assert len(keyframer.load(data).nodes) >= 1
    name, data = visit.save(".gltf")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert name == "maxscript.gltf.zip"
        assert "maxscript.gltf" in archive.namelist()
    assert json.loads(visit.save(".json")[1])["format"] == "uto3d"
    rows = list(csv.reader(io.StringIO(visit.save(".csv")[1].decode())))
    wanted = list(csv.reader(io.StringIO(native(SAMPLES / "uto3d/maxscript.u3d", ".csv").decode())))
    assert rows[0] == wanted[0]
    np.testing.assert_allclose(
        [[float(cell) for cell in row[3:13]] for row in rows[1:]],
        [[float(cell) for cell in row[3:13]] for row in wanted[1:]],
        atol=1e-9,
    )


def test_losses_are_shown_before_saving(visit: Visit) -> None:
    assert visit.open(EXAMPLE) == "ready"
    visit.page.click("#save")
    visit.page.click("#save-as")
    number = next(each["number"] for each in visit.watched.state("info.saves") if each["ending"] == ".nanim")
    visit.page.select_option("#format", str(number))
    visit.page.wait_for_selector("#download:not(:disabled)")
    assert visit.page.inner_text("#save-summary").startswith("lost: ")
    assert visit.page.locator("#save-report .loss").count() > 0
    visit.page.click("#save-close")


def test_exported_page_needs_no_server(visit: Visit, browser: Browser, tmp_path: Path) -> None:
    assert visit.open(EXAMPLE) == "ready"
    visit.page.click("#save")
    with visit.page.expect_download() as download:
        visit.page.click("#save-page")
    download.value.save_as(tmp_path / "windmill.html")
    with browser.page((tmp_path / "windmill.html").as_uri()) as exported:
        assert exported.page.locator("#tree .row").count() == 12
        assert exported.troubles == []


def test_damaged_file_and_what_can_be_recovered(visit: Visit) -> None:
    with pytest.raises(keyframer.FormatError) as error:
        keyframer.load(CUT)
    assert visit.open(CUT) == "error"
    assert visit.message() == f"This file cannot be shown: {error.value.message}"
    assert error.value.code in visit.page.inner_text("#issues")
    visit.page.click("#recover")
    visit.page.wait_for_selector("html[data-state=ready]")
    assert visit.watched.state("info.nodes.length") == len(keyframer.load(CUT, salvage=True).nodes)
    assert visit.watched.state("info.verdict") == "damaged"
    assert not visit.page.locator("#recover").is_visible()


def test_unknown_files_are_refused_in_one_line(visit: Visit) -> None:
    assert visit.open({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"not a scene"}) == "error"
    assert visit.message().startswith("This file cannot be shown: ")
    assert not visit.page.locator("#recover").is_visible()
    assert visit.open({"name": "a.png", "mimeType": "image/png", "buffer": picture("PNG")}) == "error"
    assert "no scene" in visit.message()
    assert visit.open(EXAMPLE) == "ready"


def test_archive_and_model_with_its_image(visit: Visit, tmp_path: Path) -> None:
    scene = hostile_file(b"WOOD.PNG", tmp_path).read_bytes()
    archive = zipped(("old/box.3ds", scene), ("old/wood.png", picture("PNG")))
    assert visit.open({"name": "all.zip", "mimeType": "application/zip", "buffer": archive}) == "ready"
    assert visit.watched.state("info.name") == "all.zip/old/box.3ds"
    images = visit.watched.state("losses.images")
    assert [(image["name"], image["status"]) for image in images] == [("WOOD.PNG", "guessed")]  # found as wood.png


def test_dropped_and_pasted_files(visit: Visit) -> None:
    for number, script in enumerate((DROP, PASTE)):
        name = f"mill{number}.3ds"
        visit.page.evaluate(script, [[name, list(EXAMPLE.read_bytes())]])
        visit.page.wait_for_function("name => keyframerViewer.store.state.info.name === name", arg=name)
        assert visit.done() == "ready"


def test_files_are_dropped_by_the_browser_itself(visit: Visit) -> None:
    """Several files, as the system hands them over: no event is made by a script."""
    before = visit.page.evaluate("() => keyframerViewer.data.files().then(() => keyframerViewer.activity.last)")
    names = [EXAMPLE.name, "tracks.3ds", "maxscript.u3d"]
    paths = [str(EXAMPLE), *(str(path) for path in EVERY_FORMAT if path.name in names)]
    session = visit.page.context.new_cdp_session(visit.page)
    for kind in ("dragEnter", "dragOver", "drop"):
        data = {"items": [], "files": paths, "dragOperationsMask": 1}
        session.send("Input.dispatchDragEvent", {"type": kind, "x": 500, "y": 300, "data": data})
    visit.page.wait_for_function("before => keyframerViewer.activity.last > before", arg=before)
    assert visit.done() == "ready", visit.message()
    assert visit.watched.state("info.name") == EXAMPLE.name
    last = visit.watched.state("file")
    visit.page.click("#file")
    listed = visit.page.locator(".option").all_text_contents()[last:]  # rows are drawn when they are in sight
    assert sorted(name.strip() for name in listed) == sorted(names)
    visit.page.keyboard.press("Escape")


PASTE = """files => {
    const transfer = new DataTransfer();
    for (const [name, bytes] of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true }));
}"""


@pytest.mark.parametrize("width", [390, 800, 1024, 1400])
def test_nothing_is_wider_than_the_window(visit: Visit, width: int) -> None:
    size = visit.page.viewport_size
    visit.page.set_viewport_size({"width": width, "height": 844})
    try:
        visit.watched.settle()
        assert visit.page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert visit.page.evaluate(CUT_OFF) == []
        stage, play = (visit.page.locator(name).bounding_box() for name in ("#stage", "#play"))
        assert stage is not None
        assert play is not None
        assert stage["width"] >= min(width, 390) * 0.9
        assert play["y"] >= stage["y"] + stage["height"]
    finally:
        assert size is not None
        visit.page.set_viewport_size(size)


def test_work_can_be_stopped_and_the_page_goes_on(visit: Visit) -> None:
    """The worker has a queue of work that is far longer than this test takes."""
    assert visit.open(EXAMPLE) == "ready"
    file = visit.watched.state("file")
    visit.page.evaluate(QUEUE, f"/data/{file}/page")
    visit.page.set_input_files("#open-files", EXAMPLE)
    visit.page.click("#stop")
    visit.page.wait_for_function("() => document.getElementById('message').textContent === 'Stopped.'")
    assert visit.open(SAMPLES / "3ds/tracks.3ds") == "ready", visit.message()
    assert visit.watched.state("file") > file
    visit.watched.open_file(file)  # opened before the stop
    assert visit.done() == "ready"


QUEUE = """path => {
    for (let id = -1; id > -2000; id--) keyframerViewer.data.engine.worker.postMessage({ id, path });
}"""


def test_page_works_offline_after_the_first_visit(visit: Visit) -> None:
    context = visit.page.context
    again = context.new_page()
    context.set_offline(True)
    try:
        again.goto(visit.address)
        again.wait_for_selector("html[data-state=ready]")
        again.set_input_files("#open-files", SAMPLES / "3ds/tracks.3ds")
        again.wait_for_selector("html[data-file='1'][data-state=ready]")
    finally:
        context.set_offline(False)
        again.close()


def test_old_versions_are_removed(browser: Browser, address: str) -> None:
    version = re.search('VERSION = "([0-9a-f]{16})"', (PAGE / "service-worker.js").read_text())
    assert version is not None
    page = browser.new_page()
    held: list[Any] = []
    try:
        page.context.route("**/python/**", lambda route: held.append(route))
        page.goto(f"{address}LICENSE.txt")
        page.evaluate("() => Promise.all(['keyframer 0', 'another'].map(name => caches.open(name)))")
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        page.evaluate("() => navigator.serviceWorker.ready")
        page.wait_for_function(
            "async wanted => String((await caches.keys()).sort()) === wanted", arg=f"another,keyframer {version[1]}"
        )
    finally:
        for route in held:
            route.abort()
        page.context.close()


def test_new_version_after_a_visit_that_ended_early(
    browser: Browser, address: str, tool: ModuleType, tmp_path: Path
) -> None:
    """The first visit keeps only the files of the first picture; the server then has another version of all others."""
    folder, second = tmp_path / "page", tmp_path / "second"
    shutil.copytree(PAGE, folder, ignore=shutil.ignore_patterns("python"))
    shutil.copytree(PAGE, second)
    for name, old, new in (
        ("index.html", "<html ", '<html data-version="second" '),  # not in the title, which shows the file later
        ("python/worker.js", "Loading Python", "Loading the second version"),
    ):
        text = (second / name).read_text("utf-8")
        assert old in text
        (second / name).write_text(text.replace(old, new), "utf-8")
    (second / "service-worker.js").unlink()
    (second / "service-worker.js").write_text(tool.service_worker(second), "utf-8")
    with served(tmp_path) as root:
        page = browser.new_page()
        try:
            page.goto(f"{root}/page/")
            page.wait_for_selector("html[data-ready=yes][data-state=error]")
            assert page.evaluate("() => navigator.serviceWorker.controller !== null")
            assert page.query_selector("html[data-version]") is None
            folder.rename(tmp_path / "first")
            second.rename(folder)
            page.reload(wait_until="commit")
            page.wait_for_selector("html[data-version=second][data-state=ready]")
            kept = page.evaluate(
                """async () => Object.fromEntries(await Promise.all((await caches.keys()).map(async name =>
                    [name, (await (await caches.open(name)).keys()).map(request => new URL(request.url).pathname)])))"""
            )
            [(cache, paths)] = kept.items()
            assert cache.removeprefix("keyframer ") in (folder / "service-worker.js").read_text()
            assert {"/page/", "/page/python/worker.js", "/page/python/library.zip"} <= set(paths)
            assert "second version" in page.evaluate("() => fetch('python/worker.js').then(answer => answer.text())")
        finally:
            page.context.close()


def test_policy_forbids_other_origins(visit: Visit) -> None:
    """In the page and in its worker; the policy would be reported to the console, so that this uses another page."""
    page = visit.page.context.new_page()
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(visit.address)
        page.wait_for_selector("html[data-ready=yes]")
        for address in ("http://127.0.0.1:9/", "https://example.com/x"):
            assert page.evaluate("url => fetch(url).then(() => 'sent', () => 'refused')", address) == "refused"
        script = "fetch('https://example.com/y').then(() => postMessage('sent'), () => postMessage('refused'))"
        assert (
            page.evaluate(
                """script => new Promise(done => {
                const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
                try { new Worker(url).onmessage = ({ data }) => done(data); } catch (error) { done(error.name); }
            })""",
                script,
            )
            == "TypeError"
        )  # only the scripts of the page may become workers
        policy = page.get_attribute("meta[http-equiv]", "content") or ""
        assert "connect-src 'self' blob:;" in policy
        assert "'unsafe-inline'" not in policy
        assert "'unsafe-eval'" not in policy
        assert [url for url in asked if "example.com" in url or ":9/" in url] == []
    finally:
        page.close()
