"""The byte view and the dope sheet in a browser: the right bytes are marked, and every key has its mark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import keyframer
from keyframer.exchange.kit.axes import Axes
from keyframer.viewer import Viewer
from keyframer.viewer.source_locations import PAGE
from tests.building.scenes import to_y_up
from tests.viewer.browser import Browser, Watched
from tests.viewer.opening import EXAMPLE, SAMPLES, viewed

FILES = (
    EXAMPLE,
    SAMPLES / "3ds/tracks.3ds",
    SAMPLES / "uto3d/maxscript.u3d",
    SAMPLES / "nodeanim/tcb_by_key.nanim",
    SAMPLES / "hale3d/wave-nul-ended.anim",
    SAMPLES / "midtown/document-channels.anim",
    SAMPLES / "midtown/retail.anim",
)
NAMES = [path.name for path in FILES]


@pytest.fixture(scope="module")
def running(browser: Browser) -> Iterator[Viewer]:
    viewer = Viewer(viewed(*FILES))
    yield viewer
    viewer.close()


def inside(place: Any, offset: int) -> bool:
    """Return whether a location contains a byte, computed independently."""
    if isinstance(place, dict) and "parts" in place:
        return any(inside(part["place"], offset) for part in place["parts"] if "file" not in part)
    if isinstance(place, dict):
        pieces = [place["start"] + number * place["step"] for number in range(place["count"])]
        return any(start <= offset < start + place["size"] for start in pieces)
    return bool(place[0] <= offset < place[1])


SHOWN = """() => [keyframerViewer.store.state.span, [...document.querySelectorAll("#dump .bytes")].map(row => [
    row.querySelector(".offset").textContent,
    [...row.querySelector(".codes").children].map(each => [each.textContent, each.className === "marked"]),
])]"""


def wrong_marks(shown: Watched, data: bytes) -> str | None:
    """Return what is wrong with the shown bytes; None if nothing is."""
    place, rows = shown.page.evaluate(SHOWN)
    marked = 0
    for offset, parts in rows:
        at = int(offset, 16)
        for text, is_marked in parts:
            for byte in bytes.fromhex(text):
                if byte != data[at] or inside(place, at) != is_marked:
                    return f"{at:#x} of {place}"
                marked += is_marked
                at += 1
    return None if marked else f"nothing of {place}"


def check_marks(shown: Watched, data: bytes) -> None:
    """Assert that every shown byte is that of the file, and marked if and only if it belongs to the selection."""
    shown.settle()
    assert wrong_marks(shown, data) is None


@pytest.mark.parametrize("number", range(len(FILES)), ids=NAMES)
def test_nodes_tracks_and_keys_are_marked(shown: Watched, number: int) -> None:
    data = FILES[number].read_bytes()
    shown.open_file(number)
    shown.page.click("#tab-bytes")
    shown.page.click("#node-0")
    check_marks(shown, data)
    info = shown.state("info")
    assert (info["nodes"][0]["nowhere"] in shown.page.inner_text("#where")) or info["nodes"][0]["places"]
    for info_track in info["tracks"]:
        if info_track["node"] == 0:
            shown.page.locator("#details h3:has-text('Tracks') ~ button.link").first.click()
            shown.page.click("#tab-dope")
            shown.page.focus("#dope")
            shown.page.keyboard.press("ArrowRight")
            shown.page.keyboard.press("ArrowRight")
            shown.page.click("#tab-bytes")
            check_marks(shown, data)
            break


def test_key_that_is_not_stored_is_explained(shown: Watched) -> None:
    """A hide track toggles: the state before its first key is not in the file."""
    shown.open_file(1)
    track = next(i for i, candidate in enumerate(shown.state("info.tracks")) if candidate["kind"] == "visible")
    shown.page.focus("#dope")
    for _ in range(track + 1):
        shown.page.keyboard.press("ArrowDown")
    assert shown.state("track") == track
    shown.page.keyboard.press("ArrowRight")
    shown.page.click("#tab-bytes")
    shown.page.wait_for_function(
        "() => document.getElementById('where').textContent.includes('does not store this key')"
    )
    shown.page.click("#tab-dope")
    shown.page.focus("#dope")
    shown.page.keyboard.press("ArrowRight")
    shown.page.click("#tab-bytes")
    check_marks(shown, FILES[1].read_bytes())
    assert "does not store" not in shown.page.inner_text("#where")


@pytest.mark.parametrize("number", range(len(FILES)), ids=NAMES)
def test_every_key_of_every_track_is_on_the_dope_sheet(shown: Watched, number: int) -> None:
    """Also keys out of order and channels without a node: a mark is centred where each key has to be."""
    shown.open_file(number)
    shown.page.set_viewport_size({"width": 1280, "height": 2600})
    marks = shown.page.evaluate(
        """async () => {
            const { store } = keyframerViewer;
            const list = times => Array.isArray(times) ? times
                : Array.from({ length: times.count }, (_, key) => times.first + key * times.step);
            const all = store.state.info.tracks.flatMap(each => list(each.times)).filter(time => time !== null);
            store.set({ window: { from: Math.min(...all) - 1, to: Math.max(...all) + 1 } });
            for (let turn = 0; turn < 5; turn++) await new Promise(requestAnimationFrame);
            const { state } = keyframerViewer.store;
            const canvas = document.getElementById("dope");
            const drawn = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const rows = [];
            const owners = [...new Set(state.info.tracks.map(each => each.node))]
                .sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
            for (const owner of owners) {
                rows.push(null);
                state.info.tracks.forEach((each, track) => { if (each.node === owner) rows.push(track); });
            }
            const missing = [];
            let seen = 0;
            rows.forEach((track, index) => {
                if (track === null) return;
                list(state.info.tracks[track].times).forEach((time, key) => {
                    const { from, to } = state.window;
                    const x = 210 + (time - from) / (to - from) * (canvas.clientWidth - 10 - 210);
                    const y = 20 + index * 17 + 8.5;
                    if (y > canvas.clientHeight) throw new Error("the window is too low");
                    seen++;
                    const pixel = Math.floor(y) * canvas.width + Math.floor(x);
                    if (drawn.data[4 * pixel + 3] < 200) missing.push([track, key]);
                });
            });
            return [seen, missing];
        }"""
    )
    keys = sum(len(key_track.times) for key_track in tracks_of(FILES[number]))
    assert marks[1] == []
    assert marks[0] == keys


def tracks_of(path: Path) -> list[Any]:
    class Rows:
        def __init__(self, values: Any) -> None:
            self.times = values

    clip = keyframer.load(path).clips[0]
    return [*(channel.track for channel in clip.channels), *(Rows(raw.values) for raw in clip.raw_channels)]


def test_channels_without_a_node_can_be_selected(shown: Watched) -> None:
    shown.open_file(5)
    buttons = shown.page.locator("#details button.link")
    assert buttons.all_inner_texts() == ["channel 1: 3 raw keys", "channel 2: 3 raw keys"]
    buttons.nth(1).click()
    shown.page.click("#tab-graph")
    shown.page.wait_for_selector("#key-details dd")
    shown.page.focus("#graph")
    shown.page.keyboard.press("ArrowRight")
    shown.settle()
    raw = keyframer.load(FILES[5]).clips[0].raw_channels[1]
    text = re.split(r"\s+", shown.page.inner_text("#key-details").split("value")[1].strip())
    assert [float(number) for number in text] == pytest.approx(raw.values[0].tolist(), abs=1e-3)
    shown.page.click("#tab-bytes")
    check_marks(shown, FILES[5].read_bytes())


def test_records_on_every_page_are_found(browser: Browser, tmp_path: Path) -> None:
    """The byte is in a record of the second page, inside one of the first."""
    from tests.samples.make_3ds import chunk, f32, strz

    many = b"\x81\xa0\x06\x00\x00\x00" * PAGE
    path = tmp_path / "many.3ds"
    path.write_bytes(chunk(0x4D4D, chunk(0x3D3D, chunk(0xAFFF, many), chunk(0x0100, f32(1)), chunk(0xA000, strz("x")))))
    viewer = Viewer(viewed(path))
    try:
        with browser.page(viewer.url) as shown:
            shown.page.click("#tab-bytes")
            for offset, number in ((18, 0), (18 + 6 * (PAGE - 1) + 2, PAGE - 1)):
                shown.page.fill("#goto", hex(offset))
                shown.page.press("#goto", "Enter")
                begin = 18 + 6 * number
                shown.page.wait_for_function("begin => keyframerViewer.store.state.span?.[0] === begin", arg=begin)
                shown.page.wait_for_function(
                    f"() => document.getElementById('chain').textContent.includes('Records at 0x{begin:04x}')"
                )
                names = [text.split()[0] for text in shown.page.locator("#chain button").all_inner_texts()]
                assert names == ["4d4d", "3d3d", "afff[0]", f"a081[{number}]" if number else "a081"]
            assert sorted(url.split("/data/")[1] for url in shown.requests if "/records/" in url) == [
                "0/records/0", "0/records/1",
            ]  # fmt: skip
            assert shown.troubles == []
    finally:
        viewer.close()


def test_gltf_files_can_be_played(browser: Browser, tmp_path: Path) -> None:
    """They pass through our reader and exporter: the page does not get the original file."""
    path = tmp_path / "windmill.glb"
    keyframer.save(keyframer.load(EXAMPLE), path)
    scene = keyframer.load(path)
    (file,) = viewed(path)
    assert file.model() != path.read_bytes()
    viewer = Viewer([file])
    axes = Axes(scene.space)
    try:
        with browser.page(viewer.url) as shown:
            timing = shown.state("info.timing")
            for frame in np.linspace(timing["first"], timing["last"], 5):
                shown.seek(float(frame))
                pose = keyframer.pose(scene, frames=[frame])
                wanted = (to_y_up(scene.space.up) @ axes.matrices(pose.world[0]))[:, :3, 3]
                positions = np.array(shown.places())
                assert np.abs(positions - wanted).max() <= 1e-3 * np.abs(wanted).max()
            shown.page.click("#node-1")
            shown.page.click("#tab-graph")
            shown.page.wait_for_selector("#key-details dd")
            shown.page.click("#tab-bytes")
            shown.page.wait_for_selector("#dump .bytes")  # plain bytes: only documents have places of keys
            assert shown.troubles == []
    finally:
        viewer.close()


def test_a_damaged_file_shows_its_map(browser: Browser, tmp_path: Path) -> None:
    whole = EXAMPLE.read_bytes()
    path = tmp_path / "damaged.3ds"
    path.write_bytes(whole[:1024] + bytes(512) + whole[1536:])
    viewer = Viewer(viewed(path, EXAMPLE))
    try:
        with browser.page(viewer.url) as shown:
            shown.page.click("#tab-bytes")
            shown.page.wait_for_selector("#byte-map", state="visible")
            legend = shown.page.inner_text("#byte-map-legend")
            assert "kept" in legend
            assert "dropped" in legend
            colours = "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, 1000, 1).data.buffer)).size"
            assert shown.page.eval_on_selector("#byte-map", colours) >= 3
            dropped = next(span for span in keyframer.salvage(path).spans if span.state == "dropped")
            shown.page.evaluate("span => keyframerViewer.store.set({ span })", [dropped.start, dropped.end])
            shown.page.wait_for_selector("#dump [title=dropped]")
            shown.open_file(1)
            shown.page.wait_for_selector("#byte-map", state="hidden")
            assert shown.troubles == []
    finally:
        viewer.close()
