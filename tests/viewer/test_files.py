"""Several files: next and previous file, the list with its search, and reloading the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from keyframer.exchange.opening import OpenedFile
from keyframer.viewer import ViewedFile, Viewer
from keyframer.viewer.viewed_file import LoadedFile
from tests.viewer.browser import Browser, Watched
from tests.viewer.opening import EXAMPLE, FILES

MANY = 5_000


@pytest.fixture(scope="module")
def many(browser: Browser) -> Iterator[Viewer]:
    opened = OpenedFile(EXAMPLE.read_bytes(), name=EXAMPLE.name)
    loaded = LoadedFile(opened, opened.scene())
    files = [ViewedFile(f"models/part{number % 7}/scene-{number}.3ds", lambda: loaded) for number in range(MANY)]
    viewer = Viewer(files)
    yield viewer
    viewer.close()


def label(shown: Watched) -> list[str]:
    return shown.page.inner_text("#file").split()


def test_next_and_previous_file(shown: Watched) -> None:
    page = shown.page
    last = len(FILES) - 1
    assert page.locator("#previous-file").is_disabled()
    assert label(shown) == [FILES[0].name, f"1/{len(FILES)}"]
    page.keyboard.press("p")  # there is none
    page.keyboard.press("n")
    page.keyboard.press("n")  # does not wait for the first
    page.wait_for_selector("html[data-file='2']")
    page.click("#previous-file")
    page.wait_for_selector("html[data-file='1']")
    assert label(shown) == [FILES[1].name, f"2/{len(FILES)}"]
    shown.open_file(last)
    assert page.locator("#next-file").is_disabled()
    page.keyboard.press("n")
    page.keyboard.press("p")
    page.wait_for_selector(f"html[data-file='{last - 1}']")


def test_reloading_stays_on_the_file(shown: Watched, running: Viewer) -> None:
    page = shown.page
    shown.open_file(3)
    assert page.url == f"{running.address}#file=3"
    page.reload()
    page.wait_for_selector("html[data-ready=yes]")
    assert shown.state("file") == 3
    assert shown.state("info.name").endswith(FILES[3].name)
    shown.open_file(0)
    assert page.url == running.address


def test_unknown_file_in_the_address_is_ignored(browser: Browser, shown: Watched, running: Viewer) -> None:
    page = shown.page
    for number in (len(FILES), 999_999_999):
        page.goto(f"{running.address}#file={number}")
        page.reload()
        page.wait_for_selector("html[data-ready=yes]")
        assert 0 <= shown.state("file") < len(FILES)


def test_searching_among_5000_files(browser: Browser, many: Viewer) -> None:
    with browser.page(many.url) as shown:
        page = shown.page
        page.keyboard.press("j")
        assert page.evaluate("() => document.activeElement.id") == "file-search"
        assert page.locator("#file-list .option").count() == MANY
        page.keyboard.type("PART3 scene-432")
        found = [number for number in range(MANY) if number % 7 == 3 and "scene-432" in f"scene-{number}"]
        assert [option.get_attribute("id") for option in page.locator("#file-list .option").all()] == [
            f"file-{number}" for number in found
        ]
        assert page.inner_text("#file-count") == f"{len(found)} of {MANY} files"
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"html[data-file='{found[1]}']")
        assert not page.locator("#file-list").is_visible()
        assert page.evaluate("() => document.activeElement.id") == "file"
        page.click("#file")  # the list shows the current file, which is far down
        chosen = page.locator(f"#file-{found[1]}")
        assert chosen.get_attribute("aria-selected") == "true"
        box, area = chosen.bounding_box(), page.locator("#file-list").bounding_box()
        assert area["y"] <= box["y"] <= area["y"] + area["height"] - box["height"] + 1
        page.keyboard.type("nothing has this name")
        assert page.locator("#file-list .option").count() == 0
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        assert shown.state("file") == found[1]
        assert shown.troubles == []
