"""Panels: splitters, animated nodes, images and losses under Issues, clips, and saving."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import keyframer
from keyframer.exchange.gltf.write import export
from keyframer.exchange.gltf.write.options import GltfOptions
from keyframer.exchange.kit.axes import Axes
from keyframer.exchange.kit.images import Pictures
from keyframer.scene.loss_report import OUTCOME_WORDS, Outcome
from keyframer.textures import TextureFinder, TextureSource
from keyframer.viewer import Viewer, packed_page
from tests.building.gltf import glb
from tests.building.scenes import to_y_up
from tests.viewer.browser import Browser, Watched
from tests.viewer.foreign_gltf import described, numbers
from tests.viewer.hostile import hostile_file
from tests.viewer.opening import EXAMPLE, SAMPLES, viewed


def two_animations(folder: Path) -> Path:
    """Write a GLB with the animations ``walk`` and ``run``: each animates what the other does not."""
    content, views = numbers()
    root = described(content, views, None)
    (walk,) = root["animations"]
    run = {"name": "run", "samplers": walk["samplers"][2:], "channels": walk["channels"][2:]}
    run["channels"] = [{**channel, "sampler": channel["sampler"] - 2} for channel in run["channels"]]
    walk |= {"name": "walk", "channels": walk["channels"][:2], "samplers": walk["samplers"][:2]}
    root["animations"] = [walk, run]
    path = folder / "two.glb"
    path.write_bytes(glb(root, content))
    return path


@pytest.fixture(scope="module")
def running(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("panels")
    hostile_file(b"WOOD.PNG", folder)
    viewer = Viewer(viewed(EXAMPLE, two_animations(folder), folder / "hostile.3ds", SAMPLES / "midtown/retail.anim"))
    yield viewer
    viewer.close()


@pytest.fixture
def shown(browser: Browser, running: Viewer) -> Iterator[Watched]:
    with browser.page(running.url) as watched:
        yield watched
        assert watched.troubles == []


def width(shown: Watched, panel: str) -> float:
    box = shown.page.locator(panel).bounding_box()
    assert box is not None
    return box["height"] if panel == ".lower" else box["width"]


def test_panel_borders_can_be_dragged(shown: Watched) -> None:
    for name, (across, down) in {"left": (70, 0), "right": (-60, 0), "lower": (0, -50)}.items():
        before = width(shown, f".{name}")
        box = shown.page.locator(f"#splitter-{name}").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        if name == "lower":
            x = 600
        shown.page.mouse.move(x, y)
        shown.page.mouse.down()
        shown.page.mouse.move(x + across, y + down, steps=4)
        shown.page.mouse.up()
        assert width(shown, f".{name}") == pytest.approx(before + abs(across) + abs(down), abs=6)
    shown.settle()
    assert shown.page.evaluate("() => document.documentElement.scrollWidth") == 1280


def test_panel_borders_can_be_moved_by_keys_stored_and_reset(browser: Browser, shown: Watched, running: Viewer) -> None:
    before = width(shown, ".left")
    shown.page.focus("#splitter-left")
    for _ in range(3):
        shown.page.keyboard.press("ArrowRight")
    wide = width(shown, ".left")
    assert wide == pytest.approx(before + 48, abs=1)
    assert shown.page.get_attribute("#splitter-left", "aria-valuenow") == str(round(wide))
    assert shown.state("frame") == 0  # the keys did nothing else
    shown.page.reload()
    shown.page.wait_for_selector("html[data-ready=yes]")
    shown.settle()
    assert width(shown, ".left") == wide
    other = Viewer(viewed(EXAMPLE))  # another run has another port
    try:
        shown.page.goto(other.url)
        shown.page.wait_for_selector("html[data-ready=yes]")
        shown.settle()
        assert width(shown, ".left") == wide
        shown.page.set_viewport_size({"width": 800, "height": 700})
        assert shown.page.evaluate("() => document.documentElement.scrollWidth") == 800
        shown.page.set_viewport_size({"width": 1280, "height": 720})
        shown.page.dblclick("#splitter-left")
        assert width(shown, ".left") == before
        shown.page.reload()
        shown.page.wait_for_selector("html[data-ready=yes]")
        shown.settle()
        assert width(shown, ".left") == before
    finally:
        other.close()


def test_tree_and_dope_sheet_can_show_only_animated_nodes(shown: Watched) -> None:
    """Animated nodes are those that move in our own poses, frame by frame."""
    scene = keyframer.load(EXAMPLE)
    shown.page.keyboard.press("m")
    tracks = shown.state("info.tracks")
    for track, channel in zip(tracks, scene.clips[0].channels, strict=True):
        values = keyframer.compile_track(channel.track)(np.linspace(0, 100, 401))
        assert track["moves"] == bool(np.ptp(np.asarray(values), axis=0).max() > 0), channel
    moving = {track["node"] for track in tracks if track["moves"]}
    above = set(moving)
    for node in moving:
        parent = scene.nodes[node].parent
        while parent is not None:
            above.add(parent)
            parent = scene.nodes[parent].parent
    rows = shown.page.locator("#tree .row")
    assert {int(row.get_attribute("id").split("-")[1]) for row in rows.all()} == above  # type: ignore[union-attr]
    assert 0 < len(above) < len(scene.nodes)
    assert shown.page.inner_text("#node-count") == f"{len(above)} of {len(scene.nodes)} nodes"
    shown.page.focus("#dope")
    visited = []
    for _ in range(len(tracks)):
        shown.page.keyboard.press("ArrowDown")
        visited.append(shown.state("track"))
    wanted = [number for number, track in enumerate(tracks) if track["moves"]]
    assert sorted(set(visited)) == wanted
    shown.page.click("#moving")
    assert rows.count() == len(scene.nodes)


def test_missing_images_and_losses_are_under_issues(shown: Watched) -> None:
    shown.open_file(2)
    assert shown.page.inner_text("#tab-issues").endswith(f"({1 + len(shown.state('info.issues'))})")
    shown.page.click("#tab-issues")
    image = shown.page.locator("#issues .image")
    assert image.count() == 1
    assert "WOOD.PNG" in image.inner_text()
    assert "missing" in image.inner_text()
    assert "material WOOD.PNG: texture1" in image.inner_text()
    shown.open_file(3)
    assert shown.page.locator("#issues .image").count() == 0
    shown.open_file(0)
    shown.page.click("#tab-issues")  # a clean file shows the selection
    assert "STONE.PNG" in image.inner_text()
    _, report = keyframer_report()
    assert shown.page.inner_text("#loss-summary") == report.summary()
    for outcome in (Outcome.BAKED, Outcome.EXTRAS, Outcome.APPROXIMATED):
        listed = report.of(outcome)
        assert listed
        group = shown.page.locator("#issues details", has_text=f"{OUTCOME_WORDS[outcome]}: {len(listed)}")
        assert group.locator(".loss").count() == len(listed)
        assert group.locator(".loss .code").first.text_content() == listed[0].type.key
    group = shown.page.locator("#issues details", has_text=OUTCOME_WORDS[Outcome.APPROXIMATED])
    group.locator("summary").click()
    group.locator("button.loss").first.click()
    offset = next(loss.source_offset for loss in report if loss.outcome.value == "approximated" and loss.source_offset)
    assert shown.state("span") == [offset, offset + 1]
    assert shown.state("lower") == "bytes"


def keyframer_report() -> tuple[object, keyframer.LossReport]:
    """Return the losses of exporting the windmill as the page does."""
    images = Pictures(TextureSource(TextureFinder([EXAMPLE.parent])))
    return export(keyframer.load(EXAMPLE), GltfOptions(keys="cubic", images=images))


def test_every_animation_can_be_selected(shown: Watched, running: Viewer) -> None:
    assert not shown.page.locator("#clip").is_visible()
    shown.open_file(1)
    assert shown.page.locator("#clip option").all_inner_texts() == ["walk", "run"]
    scene = running.resources.files[1].loaded.scene
    axes = Axes(scene.space)
    kinds = []
    for clip in (0, 1, 0):
        shown.page.select_option("#clip", str(clip))
        shown.page.wait_for_function("clip => keyframerViewer.store.state.clip === clip", arg=clip)
        shown.settle()
        timing = shown.state("info.timing")
        assert timing["name"] == scene.clips[clip].name
        kinds.append([track["kind"] for track in shown.state("info.tracks")])
        assert kinds[-1] == [channel.track.kind for channel in scene.clips[clip].channels]
        for frame in np.linspace(timing["first"], timing["last"], 5):
            shown.seek(float(frame))
            pose = keyframer.pose(scene, frames=[frame], clip=clip)
            wanted = (to_y_up(scene.space.up) @ axes.matrices(pose.world[0]))[:, :3, 3]
            assert np.abs(np.array(shown.places()) - wanted).max() < 1e-3, (clip, frame)
        shown.page.click("#tab-graph")
        shown.page.evaluate(
            "() => keyframerViewer.store.set({ node: keyframerViewer.store.state.info.tracks[0].node, track: 0 })"
        )
        shown.page.wait_for_selector("#key-details dd")
        shown.settle()
        first = scene.clips[clip].channels[0].track
        assert shown.page.inner_text("#key-details dd >> nth=0") == f"1 of {len(first.times)}"
        shown.page.click("#tab-dope")
    assert kinds[0] != kinds[1]


def test_every_animation_is_in_the_exported_page(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(packed_page(viewed(two_animations(tmp_path))))
    with browser.page(path.as_uri()) as shown:
        shown.page.select_option("#clip", "1")
        shown.page.wait_for_function("() => keyframerViewer.store.state.clip === 1")
        shown.page.evaluate("() => keyframerViewer.store.set({ track: 1 })")
        shown.settle()
        assert shown.troubles == []


def test_picture_model_and_page_can_be_saved(shown: Watched, running: Viewer, browser: Browser, tmp_path: Path) -> None:
    saved = {}
    for what, name in (
        ("picture", "windmill.png"),
        ("model", "windmill.glb"),
        ("as", "windmill.glb"),
        ("page", "windmill.html"),
    ):
        shown.page.click("#save")
        if what == "as":
            shown.page.click("#save-as")
            assert "differs: " in shown.page.inner_text("#save-summary")
        with shown.page.expect_download() as download:
            shown.page.click("#download" if what == "as" else f"#save-{what}")
        assert download.value.suggested_filename == name
        path = tmp_path / name
        download.value.save_as(path)
        saved[what] = path.read_bytes()
        if what == "as":
            shown.page.click("#save-close")
    with Image.open(BytesIO(saved["picture"])) as picture:
        box = shown.page.locator("#stage").bounding_box()
        assert picture.size == pytest.approx((box["width"], box["height"]), abs=1)
        assert len(picture.convert("RGB").getcolors(1 << 20) or []) > 50  # not just the background
    assert saved["model"] == saved["as"] == running.resources.files[0].save(0)
    assert saved["page"] == packed_page(running.resources.files[:1])
    with browser.page((tmp_path / "windmill.html").as_uri()) as again:
        assert again.page.locator("#tree .row").count() == 12
        again.page.click("#save")
        with again.page.expect_download() as download:
            again.page.click("#save-model")
        assert download.value.suggested_filename == "windmill.glb"
        assert Path(download.value.path()).read_bytes() == running.resources.files[0].model()
        assert again.troubles == []


def test_menu_works_with_keys(shown: Watched) -> None:
    shown.page.focus("#save")
    shown.page.keyboard.press("Enter")
    assert shown.page.evaluate("() => document.activeElement.id") == "save-model"
    shown.page.keyboard.press("ArrowUp")
    assert shown.page.evaluate("() => document.activeElement.id") == "save-page"
    shown.page.keyboard.press("Escape")
    assert shown.page.evaluate("() => document.activeElement.id") == "save"
    assert not shown.page.locator("#save-page").is_visible()


def test_clip_resets_what_only_another_clip_animates(tmp_path: Path) -> None:
    """A GLB at rest is at the start of its first clip, so the second clip has to reset all other nodes."""
    scene = keyframer.load(two_animations(tmp_path))
    assert not {channel.node for channel in scene.clips[1].channels} & {0}
    asset, _ = export(scene)
    moved = {(channel["target"]["node"], channel["target"]["path"]) for channel in asset.animations[1]["channels"]}
    assert (0, "translation") in moved
    assert (0, "rotation") not in moved  # it begins with the rotation of the node
