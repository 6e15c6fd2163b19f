"""The page in a browser: it plays, seeks, selects, shows issues and bytes, and everything is where our pose has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import keyframer
from keyframer.exchange.gltf.axes import Axes
from keyframer.exchange.gltf.exporting import export
from keyframer.formats.threeds.records import HideTrack, Keys
from keyframer.viewer import Viewer, packed_page
from tests.viewer.browser import Browser, Watched
from tests.viewer.hostile import hostile_file
from tests.viewer.opening import EXAMPLE, SAMPLES, viewed

FILES = (
    EXAMPLE,
    SAMPLES / "3ds/tracks.3ds",
    SAMPLES / "hale3d/wave-nul-ended.anim",
    SAMPLES / "midtown/retail.anim",
    SAMPLES / "uto3d/maxscript.u3d",
    SAMPLES / "nodeanim/default_mixed.nanim",
    SAMPLES / "3ds/cut.3ds",
)
CUT = len(FILES) - 1


@pytest.fixture(scope="module")
def running(browser: Browser) -> Iterator[Viewer]:
    viewer = Viewer(viewed(*FILES))
    yield viewer
    viewer.close()


@pytest.fixture
def shown(browser: Browser, running: Viewer) -> Iterator[Watched]:
    with browser.page(running.url) as watched:
        yield watched
        assert watched.troubles == []
        assert all(url.startswith(("blob:", running.address)) for url in watched.requests)


def test_the_token_leaves_the_address(shown: Watched, running: Viewer) -> None:
    assert shown.page.url == running.address
    assert running.gate.token not in shown.page.content()


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
        wanted = (axes.root_matrix() @ axes.matrices(pose.world[0]))[:, :3, 3]
        found = np.array(shown.places())
        assert np.abs(found - wanted).max() <= allowed, f"frame {frame} of {clip}"


def test_it_plays_and_stops(shown: Watched) -> None:
    assert shown.state("playing") is False
    shown.page.keyboard.press("Space")
    shown.page.wait_for_timeout(600)
    moving = shown.state("frame")
    assert shown.state("playing") is True
    assert moving > 0
    shown.page.click("#play")
    stopped = shown.state("frame")
    shown.page.wait_for_timeout(200)
    assert shown.state("frame") == stopped
    assert float(shown.page.input_value("#frame")) == pytest.approx(stopped, abs=0.01)


def test_it_loops_or_ends(shown: Watched) -> None:
    shown.seek(98)
    shown.page.select_option("#speed", "4")
    shown.page.keyboard.press("Escape")
    shown.page.click("#play")
    shown.page.wait_for_timeout(700)
    assert shown.state("playing") is True  # the end was followed by the start
    shown.page.click("#play")
    shown.page.click("#loop")
    shown.seek(90)
    shown.page.click("#play")
    shown.page.wait_for_timeout(1500)
    assert shown.state("playing") is False
    assert shown.state("frame") == 100


def test_it_seeks(shown: Watched) -> None:
    shown.page.fill("#frame", "42")
    shown.page.press("#frame", "Enter")
    assert shown.state("frame") == 42
    assert "0:01.40" in shown.page.inner_text("#time")
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
    shown.page.wait_for_timeout(500)
    start, end = shown.state("span")
    assert int.from_bytes(data[start : start + 4], "little") == 25
    marked = "".join(shown.page.locator("#dump .codes .marked").all_inner_texts())
    assert bytes.fromhex(marked) == data[start:end]
    assert "RotationTrack" in shown.page.inner_text("#chain")


def test_issues_lead_to_bytes_and_nodes(shown: Watched) -> None:
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


def test_cameras_and_lights_of_the_file(shown: Watched) -> None:
    scene = keyframer.load(EXAMPLE)
    assert shown.page.locator("#camera option").all_inner_texts() == ["Orbit", "Camera"]
    assert shown.page.locator("#lights option").all_inner_texts()[2:] == ["Only Lamp", "Only Sun"]
    shown.page.select_option("#camera", "0")
    shown.page.select_option("#lights", "file")
    fovs, colors, cones = [], [], []
    for frame in (0, 40, 100):
        shown.seek(frame)
        fovs.append(shown.page.evaluate("() => keyframerViewer.stage.model.cameras[0].fov"))
        lamp = "keyframerViewer.stage.model.lights[0].light"
        colors.append(shown.page.evaluate(f"() => {lamp}.color.toArray()"))
        cones.append(shown.page.evaluate(f"() => {lamp}.angle * 180 / Math.PI"))
    pose = keyframer.pose(scene, frames=[0, 40, 100])
    lamp_number = next(node.light for node in scene.nodes if node.name == "Lamp")
    assert lamp_number is not None
    across = np.radians(pose.camera_fov_degrees[:, 0] / 2)
    ratio = np.tan(np.radians(np.array(fovs) / 2)) / np.tan(across)
    assert ratio == pytest.approx(ratio[0], rel=1e-3)  # vertical and horizontal keep their ratio
    assert len({round(fov, 3) for fov in fovs}) > 1
    assert cones == pytest.approx((pose.light_falloff_degrees[:, lamp_number] / 2).tolist(), abs=0.02)
    assert np.ptp(np.array(colors), axis=0).max() > 0.05


def test_visibility_is_played(browser: Browser, tmp_path: Path) -> None:
    """Hide keys toggle at frames 3 and 7."""
    path = hostile_file(b"Box", tmp_path, HideTrack(keys=Keys.make([3, 7])))
    scene = keyframer.load(path)
    number = next(c.node for c in scene.clips[0].channels if c.track.kind == "visible")
    viewer = Viewer(viewed(path))
    try:
        with browser.page(viewer.url) as shown:
            timing = shown.state("info.timing")
            for frame in np.arange(timing["first"], timing["last"] + 1):
                shown.seek(float(frame))
                found = shown.page.evaluate(
                    """number => {
                        const { model } = keyframerViewer.stage;
                        const head = model.nodes[keyframerViewer.store.state.info.nodes[number].gltf];
                        const heads = new Set(keyframerViewer.store.state.info.nodes.map(n => model.nodes[n.gltf]));
                        const own = model.meshes.filter(mesh => {
                            for (let at = mesh; at; at = at.parent) {
                                if (at === head) return true;
                                if (heads.has(at)) return false;
                            }
                            return false;
                        });
                        return own.map(mesh => {
                            for (let at = mesh; at; at = at.parent) if (!at.visible) return false;
                            return true;
                        });
                    }""",
                    number,
                )
                assert found == [not 3 <= frame < 7]
                assert found == [bool(keyframer.pose(scene, frames=[frame]).visible[0, number])]
            assert shown.troubles == []
    finally:
        viewer.close()


def test_wires_edges_and_bones(shown: Watched) -> None:
    for name in ("wire", "edges", "bones", "grid"):
        shown.page.click(f"#{name}")
    shown.page.wait_for_timeout(300)
    drawn = "keyframerViewer.stage.model.meshes.every(mesh => mesh.children.some(each => each.userData.overlay))"
    assert shown.page.evaluate(f"() => {drawn}")
    shown.open_file(3)  # nothing but bones: they are drawn unasked
    assert shown.page.get_attribute("#bones", "aria-pressed") == "true"


def test_the_picture_shows_something_in_light_and_dark(browser: Browser, running: Viewer) -> None:
    pictures = []
    for dark in (False, True):
        with browser.page(running.url, dark=dark) as shown:
            shown.page.wait_for_timeout(300)
            pictures.append(shown.page.locator("#stage").screenshot())
            assert shown.troubles == []
    assert len(pictures[0]) > 5_000
    assert pictures[0] != pictures[1]


def test_the_page_fits_1280_by_720(shown: Watched) -> None:
    size = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    assert shown.page.evaluate(size) == [1280, 720]
    for name in ("play", "scrub", "time", "dope", "stage", "theme", "search"):
        box = shown.page.locator(f"#{name}").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1280
        assert box["y"] + box["height"] <= 720


def test_without_the_token_the_page_shows_nothing(browser: Browser, running: Viewer) -> None:
    page = browser.new_page()
    page.goto(running.address)
    page.wait_for_selector(".fatal")
    assert "no session" in page.inner_text(".fatal")
    page.context.close()


def test_the_exported_page_works_offline(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(packed_page(viewed(EXAMPLE, SAMPLES / "midtown/retail.anim")))
    with browser.page(path.as_uri()) as shown:
        scene = keyframer.load(EXAMPLE)
        axes = Axes(scene.space)
        shown.seek(30)
        wanted = (axes.root_matrix() @ keyframer.pose(scene, frames=[30]).world[0])[:, :3, 3]
        assert np.abs(np.array(shown.places()) - wanted).max() < 0.02
        shown.page.click("#node-1")
        shown.page.click("#tab-graph")
        shown.page.wait_for_selector("#key-details dd")
        shown.page.click("#tab-bytes")
        shown.page.wait_for_selector("#dump .marked")
        shown.open_file(1)
        assert shown.troubles == []
        assert [url for url in shown.requests if not url.startswith(("file:", "blob:"))] == []
