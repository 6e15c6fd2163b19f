"""The page in a browser: it plays, seeks, selects, shows issues and bytes, and nodes are where our pose has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.exchange.gltf.write import export
from keyframer.exchange.kit.axes import Axes
from keyframer.formats.threeds.records import Keys, RollTrack
from keyframer.viewer import Viewer, packed_page
from tests.building.scenes import to_y_up
from tests.viewer.browser import Browser, Watched
from tests.viewer.foreign_gltf import write_foreign
from tests.viewer.hostile import hostile_file
from tests.viewer.opening import CUT, EXAMPLE, FILES, SAMPLES, viewed


def test_token_is_removed_from_the_address(shown: Watched, running: Viewer) -> None:
    assert shown.page.url == running.address
    assert running.access.token not in shown.page.content()


@pytest.mark.parametrize("number", range(CUT), ids=[path.name for path in FILES[:CUT]])
def test_nodes_are_where_the_pose_has_them(shown: Watched, number: int) -> None:
    scene = keyframer.load(FILES[number])
    if number:
        shown.open_file(number)
    clip = scene.clips[0]
    axes = Axes(scene.space)
    _, report = export(scene)
    allowed = max(report.measured.get("world_error", 0.0), 1e-6 * report.measured["size"]) * 2 + 1e-5
    timing = shown.state("info.timing")
    for frame in np.linspace(timing["first"], timing["last"], 7):
        shown.seek(float(frame))
        pose = keyframer.pose(scene, frames=[frame])
        wanted = (to_y_up(scene.space.up) @ axes.matrices(pose.world[0]))[:, :3, 3]
        positions = np.array(shown.places())
        assert np.abs(positions - wanted).max() <= allowed, f"frame {frame} of {clip}"


def test_playing_and_stopping(shown: Watched) -> None:
    assert shown.state("playing") is False
    shown.page.keyboard.press("Space")
    shown.page.wait_for_function("() => keyframerViewer.store.state.frame > 0")
    assert shown.state("playing") is True
    shown.page.click("#play")
    stopped = shown.state("frame")
    shown.settle()  # frames of the screen go by, frames of the clip do not
    assert shown.state("frame") == stopped
    assert float(shown.page.input_value("#frame")) == pytest.approx(stopped, abs=0.01)


def test_playing_once_or_in_a_loop(shown: Watched) -> None:
    shown.seek(98)
    shown.page.select_option("#speed", "4")
    shown.page.keyboard.press("Escape")
    shown.page.click("#play")
    shown.page.wait_for_function("() => keyframerViewer.store.state.frame < 98")  # the end is followed by the start
    assert shown.state("playing") is True
    shown.page.click("#play")
    shown.page.click("#loop")
    shown.seek(90)
    shown.page.click("#play")
    shown.page.wait_for_function("() => !keyframerViewer.store.state.playing")
    assert shown.state("frame") == 100


def test_seeking(shown: Watched) -> None:
    shown.page.fill("#frame", "42")
    shown.page.press("#frame", "Enter")
    assert shown.state("frame") == 42
    assert "0:01.40" in shown.page.inner_text("#time")
    for typed, frame in (("1e9", 100), ("-7", 0), ("", 0), ("41.5", 41.5)):
        shown.page.fill("#frame", typed)
        shown.page.press("#frame", "Enter")
        assert shown.state("frame") == frame
        assert float(shown.page.input_value("#frame")) == frame
    shown.page.fill("#scrub", "10")
    assert shown.state("frame") == 10
    shown.page.focus("#stage")
    shown.page.keyboard.press("Home")
    shown.page.keyboard.press(".")
    assert shown.state("frame") == 25  # the next key of any track


def test_tree_search_and_keys(shown: Watched) -> None:
    assert shown.page.locator("#tree .row").count() == 12
    shown.page.keyboard.press("/")
    shown.page.keyboard.type("sail3")
    assert shown.page.locator("#tree .row").all_inner_texts()[-1].split()[-1] == "Sail3"
    assert shown.page.locator("#tree .row").count() == 3  # and the way there
    shown.page.focus("#tree")
    shown.page.keyboard.press("End")
    assert shown.page.inner_text("#details h2") == "Sail3"


def test_graph_shows_tension_and_ease_of_keys(shown: Watched) -> None:
    shown.page.click("#node-6")
    shown.page.click("#tab-graph")
    shown.page.wait_for_selector("#key-details dd")
    shown.page.focus("#graph")
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("ArrowRight")
    shown.settle()
    text = shown.page.inner_text("#key-details")
    assert "2 of 5" in text
    assert text.split("tension")[1].split()[0] == "0.5"
    assert shown.state("frame") == 25


def test_bytes_of_a_key_are_marked(shown: Watched) -> None:
    data = EXAMPLE.read_bytes()
    shown.page.click("#node-6")
    shown.page.focus("#dope")
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("ArrowRight")
    shown.page.click("#tab-bytes")
    shown.page.wait_for_function(
        """() => {
            const { span, info, track } = keyframerViewer.store.state;
            return span[0] !== info.tracks[track].place[0] && document.querySelector("#dump .marked");
        }"""
    )
    shown.settle()
    start, end = shown.state("span")
    assert int.from_bytes(data[start : start + 4], "little") == 25
    marked = "".join(shown.page.locator("#dump .codes .marked").all_inner_texts())
    assert bytes.fromhex(marked) == data[start:end]
    assert "RotationTrack" in shown.page.inner_text("#chain")


def test_issues_link_to_bytes_and_nodes(shown: Watched) -> None:
    shown.open_file(CUT)
    assert "STRUCT_TRUNCATED" in shown.page.inner_text("#issues")
    shown.page.locator(".issue").nth(1).click()
    assert shown.state("lower") == "bytes"
    shown.page.wait_for_selector("#dump .marked")
    issue = shown.state("info.issues[1]")
    assert shown.state("span")[0] == issue["offset"]
    shown.open_file(3)
    shown.page.click("#tab-issues")
    assert "SCENE_DEFAULT_RIG" in shown.page.inner_text("#issues")


def test_issue_links_to_its_node(browser: Browser, tmp_path: Path) -> None:
    """The keys of the only node are out of order."""
    path = hostile_file(b"Box", tmp_path, RollTrack(keys=Keys.make([9, 3], [[1.0], [2.0]])))
    viewer = Viewer(viewed(path))
    try:
        with browser.page(viewer.url) as shown:
            shown.page.click("#tab-issues")
            listed = shown.state("info.issues")
            number = next(i for i, issue in enumerate(listed) if issue["code"] == "DATA_KEYS_NOT_INCREASING")
            assert shown.state("node") is None
            shown.page.locator(".issue").nth(number).click()
            assert shown.state("node") == 0
            assert shown.state("span")[0] == listed[number]["offset"]
            data = path.read_bytes()
            assert data[listed[number]["offset"] :][:2] == b"\x24\xb0"  # the roll track
            assert shown.troubles == []
    finally:
        viewer.close()


def test_page_fits_1280_by_720(shown: Watched) -> None:
    size = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    assert shown.page.evaluate(size) == [1280, 720]
    for name in ("play", "scrub", "time", "dope", "stage", "theme", "search"):
        box = shown.page.locator(f"#{name}").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1280
        assert box["y"] + box["height"] <= 720


def test_page_without_the_token_shows_no_data(browser: Browser, running: Viewer) -> None:
    page = browser.new_page()
    page.goto(running.address)
    page.wait_for_selector(".fatal")
    assert "no session" in page.inner_text(".fatal")
    page.context.close()


def test_exported_page_works_offline(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(packed_page(viewed(EXAMPLE, SAMPLES / "midtown/retail.anim", write_foreign(tmp_path, "glb"))))
    with browser.page(path.as_uri()) as shown:
        scene = keyframer.load(EXAMPLE)
        shown.seek(30)
        wanted = (to_y_up(scene.space.up) @ keyframer.pose(scene, frames=[30]).world[0])[:, :3, 3]
        assert np.abs(np.array(shown.places()) - wanted).max() < 0.02
        shown.page.click("#node-1")
        shown.page.click("#tab-graph")
        shown.page.wait_for_selector("#key-details dd")
        shown.page.click("#tab-bytes")
        shown.page.wait_for_selector("#dump .marked")
        shown.open_file(1)
        shown.open_file(2)
        shown.page.wait_for_selector("#dump .bytes")
        assert shown.troubles == []
        assert [url for url in shown.requests if not url.startswith(("file:", "blob:"))] == []


def test_unreadable_files_are_shown_with_their_error(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"no animation at all")
    (tmp_path / "broken.glb").write_bytes(b"glTF\x02\0\0\0")
    viewer = Viewer(viewed(tmp_path / "notes.txt", tmp_path / "broken.glb", tmp_path / "missing.3ds"))
    try:
        with browser.page(viewer.url) as shown:
            for number, code in enumerate(("IO_UNRECOGNISED", "STRUCT_", "IO_READ_FAILED")):
                shown.open_file(number)
                assert code in shown.page.inner_text("#issues")
                shown.page.click("#tab-bytes")
                if number < 2:
                    shown.page.wait_for_selector("#dump .bytes")
            assert shown.troubles == []
    finally:
        viewer.close()


def test_active_segment_is_played_and_the_other_frames_are_shown_in_grey(browser: Browser) -> None:
    """The file plays frames 5 to 20 of 0 to 30; the others can be reached."""
    viewer = Viewer(viewed(SAMPLES / "3ds/looks_segment.3ds"))
    color = """frame => {
        const canvas = document.querySelector("#dope"), box = canvas.getBoundingClientRect();
        const { from, to } = keyframerViewer.store.state.window, left = 210;
        const x = left + (frame - from) / (to - from) * (box.width - left), scale = canvas.width / box.width;
        return [...canvas.getContext("2d").getImageData(Math.round(x * scale), Math.round(15 * scale), 1, 1).data];
    }"""
    try:
        with browser.page(viewer.url) as shown:
            timing = shown.state("info.timing")
            assert [timing[name] for name in ("first", "start", "end", "last")] == [0, 5, 20, 30]
            assert shown.state("frame") == 5
            scrub = shown.page.locator("#scrub")
            assert [scrub.get_attribute(name) for name in ("min", "max")] == ["0", "30"]
            shown.seek(12)
            shown.settle()
            grey, played, also_grey = (shown.page.evaluate(color, frame) for frame in (2.5, 8.5, 26))
            assert grey == also_grey != played
            shown.seek(19.5)
            shown.page.click("#play")
            shown.page.wait_for_function("() => keyframerViewer.store.state.frame < 19")
            assert shown.state("frame") >= 5
    finally:
        viewer.close()
