"""The page under failures and large files: a server that ends, lost graphics, empty files, thousands of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import keyframer
from keyframer.formats.uto3d import document as uto3d
from keyframer.formats.uto3d.records import Bone
from keyframer.viewer import Viewer
from tests.samples.make_3ds import chunk
from tests.viewer.browser import Browser, Watched
from tests.viewer.opening import CUT, EXAMPLE, FILES, SAMPLES, viewed
from tests.viewer.test_opening import DROP, picture

MANY = 3_000


@pytest.fixture(scope="module")
def unusual_files(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Start a viewer of an empty file, one with very many nodes, and one with a long chain of nodes."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "empty.3ds").write_bytes(chunk(0x4D4D, chunk(0x3D3D)))
    many = uto3d.new_document(*(Bone(name=b"Bone%d" % number, id=number + 1) for number in range(MANY)))
    deep = uto3d.new_document(
        *(
            Bone(name=b"Link%d" % number, id=number + 1, parent_id=number) for number in range(40)
        )  # child of the one before
    )
    (folder / "many.u3d").write_bytes(keyframer.encode(many))
    (folder / "deep.u3d").write_bytes(keyframer.encode(deep))
    viewer = Viewer(viewed(*(folder / name for name in ("empty.3ds", "many.u3d", "deep.u3d"))))
    yield viewer
    viewer.close()


@pytest.fixture
def page(browser: Browser, unusual_files: Viewer) -> Iterator[Watched]:
    with browser.page(unusual_files.url) as watched:
        yield watched
        assert watched.troubles == []


def test_stopped_server_is_reported(browser: Browser) -> None:
    viewer = Viewer(viewed(EXAMPLE, SAMPLES / "3ds/tracks.3ds"))
    with browser.page(viewer.url) as shown:
        viewer.close()
        message = "No response: is 'keyframer view' still running?"
        shown.page.click("#node-6")
        shown.page.click("#tab-graph")
        shown.page.click("#tab-bytes")
        shown.page.wait_for_function("text => document.getElementById('where').textContent === text", arg=message)
        shown.page.click("#next-file")
        shown.page.wait_for_function("text => document.getElementById('message').textContent === text", arg=message)
        assert shown.page.inner_text("#file").startswith("windmill.3ds")  # what is shown is still the first
        assert shown.page.inner_text("#details h2") == "Cock"
        assert [
            trouble for trouble in shown.troubles if trouble.startswith("error: ") and "ERR_CONNECTION" not in trouble
        ] == []


def test_lost_graphics_context_is_restored(shown: Watched) -> None:
    """A driver that restarts clears the picture; without animation nothing else would redraw it."""
    before = shown.page.locator("#stage").screenshot()
    shown.page.evaluate(
        """async () => {
            const canvas = document.getElementById("stage");
            const { renderer } = keyframerViewer.stage;
            const wait = ms => new Promise(done => setTimeout(done, ms));
            const happened = name => Promise.race([
                new Promise(done => canvas.addEventListener(name, done, { once: true })),
                wait(600000).then(() => { throw new Error(`no ${name}`); }),
            ]);
            const lost = happened("webglcontextlost");
            const back = happened("webglcontextrestored");
            renderer.forceContextLoss();
            await lost;
            await wait(0); // a loss can be undone when all listeners have returned
            renderer.forceContextRestore();
            await back;
            for (let turn = 0; turn < 5; turn++) await new Promise(requestAnimationFrame);
        }"""
    )
    after = shown.page.locator("#stage").screenshot()
    assert len(after) > 0.8 * len(before)  # an empty picture compresses to almost nothing
    shown.troubles = [trouble for trouble in shown.troubles if "Context" not in trouble]


def test_page_works_without_webgl_except_for_the_picture(browser: Browser, running: Viewer) -> None:
    page = browser.new_page()
    page.add_init_script(
        """const plain = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
            return kind.startsWith("webgl") ? null : plain.call(this, kind, ...more);
        };"""
    )
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    try:
        page.goto(running.url)
        page.wait_for_selector("html[data-ready=yes]")
        assert "no WebGL" in page.inner_text("#message")
        page.click("#node-6")
        for tab, selector in (("graph", "#key-details dd"), ("bytes", "#dump .marked")):
            page.click(f"#tab-{tab}")
            page.wait_for_selector(selector)
        for button in ("wire", "edges", "bones", "grid", "all", "zoom", "play", "theme"):
            page.click(f"#{button}")
        page.click("#next-file")
        page.wait_for_selector("html[data-file='1']")
        assert "no WebGL" in page.inner_text("#message")
        assert errors == []
    finally:
        page.context.close()


def test_track_that_cannot_be_loaded_is_explained(browser: Browser, running: Viewer) -> None:
    page = browser.new_page()
    page.route("**/data/*/track/*", lambda route: route.fulfill(status=500, body="the track is not available"))
    try:
        page.goto(running.url)
        page.wait_for_selector("html[data-ready=yes]")
        page.click("#node-6")
        page.click("#tab-graph")
        page.wait_for_selector("#key-details p")
        assert page.inner_text("#key-details") == "the track is not available"
    finally:
        page.context.close()


def test_only_the_last_of_several_opened_files_is_requested(shown: Watched) -> None:
    shown.page.evaluate("() => Promise.all([1, 2, 3].map(file => keyframerViewer.open(file)))")
    assert shown.state("file") == 3
    asked = [url for url in shown.requests if url.endswith("/model")]
    assert [url.split("/")[-2] for url in asked] == ["0", "3"]


def test_damage_is_named_and_the_message_belongs_to_the_file(shown: Watched) -> None:
    """The text is that of the page without a server; recovery is offered only beside it."""
    shown.open_file(CUT)
    assert FILES[CUT].name == "cut.3ds"
    with pytest.raises(keyframer.FormatError) as error:
        keyframer.load(FILES[CUT])
    wanted = f"This file cannot be shown: {error.value.message}"
    assert shown.page.inner_text("#message") == wanted
    assert not shown.page.locator("#dismiss").is_visible()
    shown.page.evaluate(DROP, [["only.png", list(picture("PNG"))]])
    shown.page.wait_for_selector("#dismiss:visible")
    assert "no scene" in shown.page.inner_text("#message")
    assert not shown.page.locator("#recover").is_visible()
    shown.page.click("#dismiss")
    assert shown.page.inner_text("#message") == wanted
    assert shown.page.locator("#recover").is_visible()
    shown.troubles.clear()  # the refused request


@pytest.mark.parametrize("content", [b"", b"only text"])
def test_files_of_no_known_format_cannot_be_recovered(browser: Browser, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.3ds"
    path.write_bytes(content)
    viewer = Viewer(viewed(path))
    try:
        with browser.page(viewer.url) as shown:
            assert shown.page.inner_text("#message").startswith("This file cannot be shown")
            assert not shown.page.locator("#recover").is_visible()
            shown.page.click("#save")
            shown.page.click("#save-as")
            assert "Nothing" in shown.page.inner_text("#save-report")
            assert shown.page.locator("#download").is_disabled()
            assert shown.troubles == []
    finally:
        viewer.close()


def test_damaged_file_can_be_recovered(browser: Browser) -> None:
    viewer = Viewer(viewed(FILES[CUT]))
    try:
        with browser.page(viewer.url) as shown:
            assert shown.page.get_attribute("html", "data-state") == "error"
            shown.page.click("#recover")
            shown.page.wait_for_selector("html[data-file='1'][data-state=ready]")
            assert shown.state("info.nodes.length") == 1
            assert not shown.page.locator("#recover").is_visible()
            assert shown.troubles == []
    finally:
        viewer.close()


def test_file_with_everything_hidden_is_explained(browser: Browser) -> None:
    viewer = Viewer(viewed(SAMPLES / "3ds/cut.3ds", "--salvage"))  # its one object is hidden
    try:
        with browser.page(viewer.url) as shown:
            message = shown.page.inner_text("#message")
            assert message == "All objects of this file are hidden; the button Bones shows the nodes."
            assert shown.page.locator("#tree .unseen").all_inner_texts()[0].split()[-1] == "Tri"
            shown.page.set_viewport_size({"width": 390, "height": 844})
            shown.page.evaluate("() => keyframerViewer.open(0)")
            assert shown.page.inner_text("#message").endswith("hidden; Bones, under Display, shows the nodes.")
            assert shown.page.inner_text("#sheet-right") == "Selection, 3 issues"
            assert shown.troubles == []
    finally:
        viewer.close()


def test_empty_file_is_explained(page: Watched) -> None:
    assert page.page.inner_text("#message") == "This file has nothing to show."
    page.page.click("#fold")  # the timeline of a file without keys is closed
    drawn = page.page.evaluate(
        """async () => {
            for (let turn = 0; turn < 3; turn++) await new Promise(requestAnimationFrame);
            const canvas = document.getElementById("dope");
            const { data } = canvas.getContext("2d").getImageData(0, 22, 415, 24);
            const found = [false, false];
            for (let at = 0; at < data.length; at += 4) {
                const x = (at / 4) % 415;
                if (data[at + 3] > 99 && (x < 205 || x > 214)) found[Number(x > 214)] = true;
            }
            return found;
        }"""
    )
    assert drawn == [False, True]  # "There are no keys." beside the labels, not across them
    for tab in ("graph", "bytes"):
        page.page.click(f"#tab-{tab}")
    page.page.wait_for_selector("#dump .bytes")


def test_every_one_of_many_nodes_is_in_the_tree(page: Watched) -> None:
    page.open_file(1)
    rows = page.page.locator("#tree .row")
    assert rows.count() < 400
    assert page.page.inner_text(".left .quiet") == f"{MANY} nodes"
    page.page.focus("#tree")
    page.page.keyboard.press("End")
    assert page.state("node") == MANY - 1
    assert in_sight(page, MANY - 1)
    page.page.keyboard.press("ArrowUp")
    assert in_sight(page, MANY - 2)
    page.page.keyboard.press("Home")
    assert in_sight(page, 0)
    page.page.evaluate("() => document.getElementById('tree').scrollTo(0, 22 * 1500)")
    page.page.wait_for_selector("#node-1500")
    page.page.click("#node-1503")
    assert page.page.inner_text("#details h2") == "Bone1503"
    page.page.evaluate("() => keyframerViewer.stage.picked(2750)")  # as a click in the picture would
    assert in_sight(page, 2750)
    page.page.fill("#search", "bone29")
    assert page.page.inner_text(".left .quiet") == f"111 of {MANY} nodes"


def test_scrolled_tree_keeps_its_position(page: Watched) -> None:
    """Rows that are added while scrolling do not bring the selected row back into view."""
    page.open_file(1)
    page.page.click("#node-8")
    for row in range(90, 130, 2):
        page.page.evaluate(
            """async row => {
                document.getElementById("tree").scrollTop = 22 * row;
                for (let turn = 0; turn < 3; turn++) await new Promise(requestAnimationFrame);
            }""",
            row,
        )
        assert page.page.evaluate("() => document.getElementById('tree').scrollTop") == 22 * row
    assert page.state("node") == 8


def test_names_deep_in_the_tree_are_legible(page: Watched) -> None:
    page.open_file(2)
    page.page.click("#node-2")
    page.page.focus("#tree")
    for _ in range(30):
        page.page.keyboard.press("ArrowDown")
    assert page.state("node") == 32
    assert in_sight(page, 32)


def in_sight(shown: Watched, node: int) -> bool:
    """Return whether the whole name of a node is inside the frame of the tree."""
    shown.settle()
    name = shown.page.locator(f"#node-{node} .name").bounding_box()
    tree = shown.page.locator("#tree").bounding_box()
    across = tree["x"] <= name["x"] + 1 and name["x"] + name["width"] <= tree["x"] + tree["width"] + 1
    down = tree["y"] <= name["y"] + 1 and name["y"] + name["height"] <= tree["y"] + tree["height"] + 4
    return across and down and name["width"] > 20


@pytest.mark.parametrize("panel", ["dope", "dump"])
def test_scrollbars_show_and_move_the_visible_range(shown: Watched, panel: str) -> None:
    if panel == "dump":
        shown.page.click("#tab-bytes")
        shown.page.wait_for_selector("#dump .bytes")
    shown.settle()  # the bar gets its thumb when the panel is drawn
    bar = shown.page.locator(f".scrollbar[aria-controls={panel}]")
    thumb = bar.locator(".thumb").bounding_box()
    track = bar.bounding_box()
    at, most = (
        f"document.querySelector('.scrollbar[aria-controls={panel}]').ariaValue{name}" for name in ("Now", "Max")
    )
    shown.page.wait_for_function(f"() => {at} === '0' && {most} !== '0'")
    shown.page.mouse.move(thumb["x"] + 3, thumb["y"] + 3)
    shown.page.mouse.down()
    shown.page.mouse.move(thumb["x"] + 3, track["y"] + track["height"])
    shown.page.mouse.up()
    shown.page.wait_for_function(f"() => {at} === {most}")
    if panel == "dump":
        last = (EXAMPLE.stat().st_size - 1) // 16 * 16
        shown.page.wait_for_function(
            "last => parseInt([...document.querySelectorAll('#dump .offset')].at(-1).textContent, 16) === last",
            arg=last,
        )
        shown.page.focus("#dump")
        shown.page.keyboard.press("Home")
        shown.page.wait_for_function(f"() => {at} === '0'")
