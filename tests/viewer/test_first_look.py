"""What a user sees first: motion plays, a still file fills the window, a clean file shows no issues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.scene import Node, Scene
from keyframer.viewer import Viewer, packed_page
from tests.samples.make_3ds import chunk, f32, strz, triangle
from tests.viewer.browser import Browser, Watched
from tests.viewer.opening import EXAMPLE, SAMPLES, viewed

LONG = "a_long_name_from_an_old_disk_" * 3
MILL, STILL, DAMAGED, OTHER = range(4)
JOINTS = 3_000


@pytest.fixture(scope="module")
def running(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """A mill, a file with long names and without keys, a damaged file, another file with motion and issues."""
    path = tmp_path_factory.mktemp("still") / f"{LONG}.3ds"
    cameras = [chunk(0x4000, strz(LONG[:50]), chunk(0x4700, f32(0, -9, n, 0, 0, 0, 0, 50))) for n in (1, 2)]
    lamp = chunk(0x4000, strz(LONG[1:51]), chunk(0x4600, f32(1, 2, 3)))
    path.write_bytes(chunk(0x4D4D, chunk(0x3D3D, *cameras, lamp, chunk(0x4000, strz("Box"), triangle()))))
    viewer = Viewer(viewed(EXAMPLE, path, SAMPLES / "3ds/cut.3ds", SAMPLES / "uto3d/maxscript.u3d"))
    yield viewer
    viewer.close()


@pytest.fixture
def shown(browser: Browser, running: Viewer) -> Iterator[Watched]:
    with browser.page(running.url, moving=True) as watched:
        yield watched
        assert watched.troubles == []


def test_motion_plays_at_once_unless_the_user_does_not_want_it(shown: Watched) -> None:
    moves = "() => keyframerViewer.store.state.frame > keyframerViewer.store.state.info.timing.start"
    shown.page.wait_for_function(moves)
    shown.open_file(STILL)
    assert shown.state("playing") is False
    shown.open_file(OTHER)
    shown.page.wait_for_function(moves)
    shown.page.click("#autoplay")
    shown.open_file(MILL)
    assert (shown.state("playing"), shown.state("frame")) == (False, 0)
    shown.page.reload()
    shown.page.wait_for_selector("html[data-ready=yes]")
    shown.settle()
    assert (shown.state("playing"), shown.state("frame")) == (False, 0)
    shown.page.click("#autoplay")
    shown.open_file(OTHER)
    shown.page.wait_for_function(moves)


def test_nothing_moves_if_the_system_asks_for_less_motion(browser: Browser, running: Viewer) -> None:
    with browser.page(running.url) as shown:
        assert shown.state("playing") is False
        assert shown.page.get_attribute("#autoplay", "aria-pressed") == "false"


def test_file_without_keys_gives_the_picture_the_window(shown: Watched) -> None:
    def height() -> float:
        box = shown.page.locator("#stage").bounding_box()
        assert box is not None
        return float(box["height"])

    with_timeline = height()
    assert shown.page.locator("#dope").is_visible()
    shown.open_file(STILL)
    assert height() > 640  # of 720
    assert not shown.page.locator("#play").is_visible()
    shown.open_file(OTHER)
    assert height() == with_timeline
    shown.open_file(STILL)
    shown.page.click("#fold")
    assert (height(), shown.page.get_attribute("#fold", "aria-expanded")) == (with_timeline, "true")
    shown.page.keyboard.press("t")
    assert height() > 640
    shown.page.click("#tab-bytes")
    shown.page.wait_for_selector("#dump .codes")
    shown.open_file(MILL)
    shown.open_file(STILL)
    assert height() == with_timeline  # the user has opened it
    assert shown.page.locator("#dump").is_visible()


def test_issue_opens_the_timeline_at_its_bytes(shown: Watched) -> None:
    shown.open_file(DAMAGED)
    assert not shown.page.locator("#dump").is_visible()
    shown.page.locator(".issue").first.click()
    shown.page.wait_for_selector("#dump .marked")


def test_issues_of_a_damaged_file_do_not_stay_for_a_clean_one(shown: Watched) -> None:
    shown.open_file(DAMAGED)
    assert shown.page.locator("#issues").is_visible()
    shown.open_file(MILL)
    assert shown.state("info.verdict") == "clean"
    assert shown.page.locator("#details").is_visible()
    shown.page.click("#tab-issues")
    shown.open_file(OTHER)
    assert shown.state("info.verdict") == "readable with problems"
    assert shown.page.locator("#issues").is_visible()  # as the user has chosen
    shown.open_file(MILL)
    assert shown.page.locator("#details").is_visible()


def test_toolbar_is_one_line_at_1280_pixels(shown: Watched) -> None:
    for number in (STILL, MILL):
        shown.open_file(number)
        tops = shown.page.evaluate(
            """() => [...document.querySelectorAll(".toolbar button, .toolbar select")]
                .filter(each => each.checkVisibility()).map(each => each.getBoundingClientRect().top)"""
        )
        assert len(tops) > 10
        assert max(tops) - min(tops) < 10
        name = shown.page.locator("#file .name").bounding_box()
        assert name is not None
        assert name["width"] > 40


def test_glb_is_the_first_thing_to_save(shown: Watched) -> None:
    shown.page.click("#save")
    assert shown.page.locator(".menu [role=menuitem]").all_inner_texts()[:2] == [
        "Save as GLB", "Other formats, text, table…",
    ]  # fmt: skip
    shown.page.keyboard.press("Escape")
    shown.open_file(DAMAGED)
    shown.page.click("#save")
    assert shown.page.locator("#save-model").is_disabled()
    assert shown.page.evaluate("() => document.activeElement.id") == "save-as"


def test_chain_of_joints_is_not_too_deep(browser: Browser, tmp_path: Path) -> None:
    """Each joint is one unit along the turned axis of its parent, so that the chain is a circle of 360 joints."""
    half = np.radians(0.5)
    turn = np.array([0, 0, np.sin(half), np.cos(half)])
    joints = [
        Node(f"j{n}", parent=n - 1 if n else None, position=np.array([1.0, 0, 0]), rotation_xyzw=turn)
        for n in range(JOINTS)
    ]
    keyframer.save(Scene(nodes=joints), tmp_path / "chain.glb")
    page = tmp_path / "page.html"
    page.write_bytes(packed_page(viewed(tmp_path / "chain.glb")))
    with browser.page(page.as_uri()) as shown:
        places = np.array(shown.places())
        steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
        assert len(places) == JOINTS
        assert steps == pytest.approx(1, abs=1e-2)
        assert np.linalg.norm(places[360] - places[0]) < 0.1
        assert shown.page.locator("#message").inner_text() == ""
        shown.page.click("#node-1")
        assert shown.troubles == []
