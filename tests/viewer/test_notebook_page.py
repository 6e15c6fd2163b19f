"""The viewer in a notebook: the exported page in a frame that can only play."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyframer
from tests.viewer.browser import Browser, Watched
from tests.viewer.opening import EXAMPLE
from tests.viewer_page import needs_page


@pytest.mark.parametrize("kind", ["file", "scene", "made by hand"])
def test_notebook_plays_the_page(browser: Browser, tmp_path: Path, kind: str) -> None:
    source: keyframer.Scene | Path = EXAMPLE if kind == "file" else keyframer.load(EXAMPLE)
    if kind == "made by hand":
        track = keyframer.Track("position", [0, 30], [[0, 0, 0], [1, 2, 3]])
        clip = keyframer.Clip("moving", [keyframer.Channel(0, track)], end=30)
        source = keyframer.Scene(nodes=[keyframer.Node("mover")], clips=[clip])
    page = keyframer.view(source, height=400)
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><title>notebook</title>{page._repr_html_()}")
    watched = Watched(browser.new_page())
    try:
        watched.page.goto(notebook.as_uri())
        frame = watched.page.frame_locator("iframe")
        frame.locator("html[data-ready=yes]").wait_for()
        name = "mover" if kind == "made by hand" else "Rotor"
        frame.get_by_text(name).first.wait_for()
        assert watched.page.locator("iframe").bounding_box()["height"] == 400  # type: ignore[index]
        assert watched.page.evaluate("() => document.querySelector('iframe').contentDocument") is None  # sandboxed
        assert watched.troubles == []
        assert [url for url in watched.requests if not url.startswith(("file:", "blob:", "about:"))] == []
    finally:
        watched.page.context.close()


def test_track_without_keys_is_explained(browser: Browser, tmp_path: Path) -> None:
    clip = keyframer.Clip("still", [keyframer.Channel(0, keyframer.Track("position", [], np.empty((0, 3))))], end=30)
    keyframer.view(keyframer.Scene(nodes=[keyframer.Node("post")], clips=[clip])).save(tmp_path / "page.html")
    page = browser.new_page()
    try:
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        page.click("#node-0")
        page.click("#tab-graph")
        page.wait_for_selector("#key-details p")
        assert page.inner_text("#key-details") == "This track has no keys."
    finally:
        page.context.close()


@needs_page
def test_page_can_be_saved(tmp_path: Path) -> None:
    page = keyframer.view(EXAMPLE)
    path = tmp_path / "page.html"
    page.save(path)
    assert path.read_bytes() == page.data
    with pytest.raises(FileExistsError):
        page.save(path)
    assert repr(page) == f"<Page of 'windmill.3ds': {len(page.data)} bytes>"


@needs_page
def test_names_cannot_close_the_frame() -> None:
    scene = keyframer.Scene(nodes=[keyframer.Node('"></iframe><script>alert(1)</script>')])
    shown = keyframer.view(scene)._repr_html_()
    assert shown.count("<") == 2
    assert shown.count('"') == 8
