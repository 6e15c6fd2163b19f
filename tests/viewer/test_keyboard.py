"""The page without a mouse: every control can be reached, the focus is visible, and all documented keys work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keyframer.viewer import Viewer
from tests.viewer.browser import Browser, Watched
from tests.viewer.opening import EXAMPLE, SAMPLES, viewed

CONTROLS = {
    "file", "next-file", "hide", "isolate", "show-all",
    "camera", "lights", "wire", "edges", "bones", "grid", "all", "zoom", "theme", "search", "tree", "stage",
    "help", "tab-details", "play", "loop", "speed", "frame", "scrub", "tab-dope", "dope",
}  # fmt: skip
IN_TABS = {"graph": {"track", "graph"}, "bytes": {"goto", "dump"}, "dope": {"dope"}}


@pytest.fixture(scope="module")
def running(browser: Browser) -> Iterator[Viewer]:
    viewer = Viewer(viewed(EXAMPLE, SAMPLES / "3ds/cut.3ds"))
    yield viewer
    viewer.close()


@pytest.fixture(params=[False, True], ids=["light", "dark"])
def dark(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def tabbed(shown: Watched) -> dict[str, float]:
    """Return the elements that Tab reaches, with the widths of their focus rings."""
    ring_widths: dict[str, float] = {}
    shown.page.evaluate("() => document.activeElement.blur()")
    for _ in range(60):
        shown.page.keyboard.press("Tab")
        name, ring = shown.page.evaluate(
            """() => {
                const style = getComputedStyle(document.activeElement);
                const seen = style.outlineStyle !== "none" && style.outlineColor !== "rgba(0, 0, 0, 0)";
                return [document.activeElement.id, seen ? parseFloat(style.outlineWidth) : 0];
            }"""
        )
        if name in ring_widths and len(ring_widths) > 3:
            break
        if name:
            ring_widths[name] = ring
    return ring_widths


def test_tab_reaches_every_control_with_a_visible_focus(shown: Watched) -> None:
    shown.page.click("#node-2")
    shown.page.click("#hide")
    reached = tabbed(shown)
    assert reached.keys() >= CONTROLS
    assert [name for name, ring in reached.items() if ring < 1] == []


def test_tabs_and_their_panels_can_be_reached(shown: Watched) -> None:
    shown.page.click("#node-1")
    for tab, wanted in IN_TABS.items():
        shown.page.focus("[role=tablist][aria-label=Timeline] [aria-selected=true]")
        while shown.state("lower") != tab:
            shown.page.keyboard.press("ArrowRight")
        shown.page.keyboard.press("Tab")
        reached = set()
        for _ in range(4):
            reached.add(shown.page.evaluate("() => document.activeElement.id"))
            shown.page.keyboard.press("Tab")
        assert reached >= wanted


def test_keys_play_and_step(shown: Watched) -> None:
    page = shown.page
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert shown.state("frame") == 2
    page.keyboard.press("ArrowLeft")
    assert shown.state("frame") == 1
    page.keyboard.press("End")
    assert shown.state("frame") == 100
    page.keyboard.press("Home")
    assert shown.state("frame") == 0
    page.keyboard.press("Space")
    assert shown.state("playing") is True
    page.keyboard.press("Space")
    assert shown.state("playing") is False
    page.focus("#play")
    page.keyboard.press("Space")  # the button and the key are not both pressed
    assert shown.state("playing") is True
    page.keyboard.press("Space")
    for key, name in (("l", "loop"), ("w", "wire"), ("e", "edges"), ("b", "bones"), ("g", "grid")):
        before = page.get_attribute(f"#{name}", "aria-pressed")
        page.keyboard.press(key)
        assert page.get_attribute(f"#{name}", "aria-pressed") != before
    for key, tab in (("2", "graph"), ("3", "bytes"), ("1", "dope")):
        page.keyboard.press(key)
        assert shown.state("lower") == tab


@pytest.mark.parametrize("panel", ["dope", "graph"])
def test_keys_move_and_zoom_the_time_axis(shown: Watched, panel: str) -> None:
    page = shown.page
    page.click("#node-6")
    page.click(f"#tab-{panel}")
    page.focus(f"#{panel}")
    windows = [shown.state("window")]
    for key in ("Shift+ArrowRight", "+", "Shift+ArrowLeft", "-"):
        page.keyboard.press(key)
        windows.append(shown.state("window"))
    begins, sizes = [window["from"] for window in windows], [window["to"] - window["from"] for window in windows]
    assert begins[1] == pytest.approx(begins[0] + 0.1 * sizes[0])
    assert sizes[1] == pytest.approx(sizes[0])
    assert sizes[2] < sizes[1]
    assert begins[3] == pytest.approx(begins[2] - 0.1 * sizes[2])
    assert sizes[4] == pytest.approx(sizes[0])
    assert (shown.state("frame"), shown.state("key")) == (0, None)  # neither time nor selection moved


def test_pages_of_the_dope_sheet(shown: Watched) -> None:
    shown.page.focus("#dope")
    for key, moved in (("PageDown", "true"), ("PageUp", "false")):
        shown.page.keyboard.press(key)
        shown.page.wait_for_function(
            "() => (document.querySelector('.scrollbar[aria-controls=dope]').getAttribute('aria-valuenow') !== '0')"
            f" === {moved}"
        )


def test_keys_orbit_and_zoom_the_picture(shown: Watched) -> None:
    eye = "() => keyframerViewer.stage.eye.position.toArray()"
    target = "() => keyframerViewer.stage.controls.target.toArray()"
    page = shown.page
    page.focus("#stage")
    places = [page.evaluate(eye)]
    for key in ("Shift+ArrowRight", "Shift+ArrowUp", "+"):
        page.keyboard.press(key)
        places.append(page.evaluate(eye))
    assert len({tuple(place) for place in places}) == 4
    center = page.evaluate(target)
    far = [sum((a - b) ** 2 for a, b in zip(place, center, strict=True)) ** 0.5 for place in places]
    assert far[0] == pytest.approx(far[1], rel=1e-6)
    assert far[1] == pytest.approx(far[2], rel=1e-6)
    assert far[3] < far[2]
    assert shown.state("frame") == 0  # turning does not move time
    page.keyboard.press("a")
    assert page.evaluate(eye) == pytest.approx(places[0])


def test_tree_and_issues_work_with_keys(shown: Watched) -> None:
    page = shown.page
    page.focus("#tree")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert shown.state("node") == 1
    before = page.locator("#tree .row").count()
    page.keyboard.press("ArrowLeft")  # closes it
    assert page.locator("#tree .row").count() < before
    page.keyboard.press("ArrowRight")
    assert page.locator("#tree .row").count() == before
    page.keyboard.press("ArrowRight")  # to its first child, which has none
    page.keyboard.press("ArrowRight")
    assert (shown.state("node"), shown.state("frame")) == (2, 0)
    page.keyboard.press("ArrowLeft")
    assert shown.state("node") == 1
    page.keyboard.press("n")
    page.wait_for_selector("html[data-file='1']")
    page.focus("#tab-issues")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert shown.state("lower") == "bytes"
    page.wait_for_selector("#dump .marked")


def test_question_mark_lists_the_keys(shown: Watched) -> None:
    shown.page.keyboard.press("?")
    shown.page.wait_for_selector("#keys-list[open]")
    words = shown.page.inner_text("#keys-list")
    assert words.startswith("Keyboard\n")
    for key in ("Space", "Home", "End", "W", "G", "F", "H", "I", "S", "N", "P", "J", "/", "?"):
        assert f"{key}\n" in words or f"{key}\t" in words
    assert "Play or pause" in words
    shown.page.keyboard.press("Escape")
    shown.page.wait_for_selector("#keys-list", state="hidden")
    shown.page.click("#help")
    shown.page.click("#help-close")
    shown.page.wait_for_selector("#keys-list", state="hidden")


def test_frame_box_follows_the_file(shown: Watched) -> None:
    shown.seek(40)
    shown.page.click("#frame")
    shown.page.keyboard.type("7")
    shown.open_file(1)
    assert float(shown.page.input_value("#frame")) == shown.state("frame")
    timing = shown.state("info.timing")
    assert float(shown.page.get_attribute("#frame", "max") or "nan") == (timing or {"last": 0})["last"]
    shown.open_file(0)
    assert float(shown.page.input_value("#frame")) == 0
    assert shown.page.get_attribute("#frame", "max") == "100"


def test_dialogs_keep_the_keys_of_the_page(shown: Watched) -> None:
    """Save as downloads the file for which it was opened, although a key of the page would show another one."""
    page = shown.page
    page.click("#save")
    page.click("#save-as")
    page.wait_for_selector("#download:not(:disabled)")
    name = page.inner_text("#save-report p").partition(",")[0]
    page.keyboard.press("Tab")
    for key in ("n", "p", "w", "?"):
        page.keyboard.press(key)
    shown.settle()
    assert shown.state("file") == 0
    assert page.get_attribute("#wire", "aria-pressed") == "false"
    assert not page.locator("#keys-list").is_visible()
    page.evaluate("() => keyframerViewer.open(1)")  # as by a file that is dropped on the dialog
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == name == "windmill.glb"
    page.click("#save-close")


def test_saving_a_damaged_file_names_the_way_to_recover_it(shown: Watched) -> None:
    shown.page.click("#save")
    shown.page.click("#save-as")
    assert shown.page.inner_text("#save-hint") == ""
    shown.page.click("#save-close")
    shown.open_file(1)
    assert shown.page.get_attribute("#flaw", "aria-label") == "damaged"
    shown.page.click("#save")
    shown.page.click("#save-as")
    assert shown.page.inner_text("#recover") in shown.page.inner_text("#save-hint")
    shown.page.click("#save-close")
    shown.open_file(0)
    assert not shown.page.locator("#flaw").is_visible()
