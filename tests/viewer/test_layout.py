"""The page at 1280 x 720 and in narrower windows, light and dark: nothing overlaps or sticks out, text is legible."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest

from keyframer.viewer import Viewer
from tests.samples.make_3ds import chunk, f32, strz, triangle
from tests.viewer.browser import Browser, Watched
from tests.viewer.opening import EXAMPLE, SAMPLES, viewed

LONG = "W" * 60

CONTRASTS = """() => {
    const parse = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const light = color => color.slice(0, 3).map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = element => {
        for (let at = element; at; at = at.parentElement) {
            const color = parse(getComputedStyle(at).backgroundColor);
            if (color.length === 3 || color[3] > 0.99) return color;
        }
        return [255, 255, 255];
    };
    const found = [];
    for (const element of document.querySelectorAll("#app *")) {
        const own = [...element.childNodes].some(each => each.nodeType === 3 && each.textContent.trim());
        if (!own || !element.checkVisibility() || element.closest("option, [aria-hidden=true], :disabled")) continue;
        const [one, two] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
        const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
        found.push([ratio, `${element.tagName}.${element.className} ${element.textContent.slice(0, 30)}`]);
    }
    return found;
}"""

BOXES = """() => [...document.querySelectorAll(
    "header button, header select, header label, header strong, .transport button, .transport select, "
    + ".transport input, .transport output, .tabs button, #search, #stage, .right, .head > *, .keys, .chain, "
    + "#dump, #tree"
)].filter(each => each.checkVisibility()).map(each => {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    return [each.id || each.className || each.textContent, left, top, right, bottom, each.outerHTML.slice(0, 60)];
})"""


@pytest.fixture(scope="module")
def running(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    path = tmp_path_factory.mktemp("long") / f"{LONG}.3ds"
    objects = [
        chunk(0x4000, strz(f"{LONG}{number}"), chunk(0x4700, f32(0, -9, number, 0, 0, 0, 0, 50))) for number in (1, 2)
    ]
    lamp = chunk(0x4000, strz(f"{LONG}3"), chunk(0x4600, f32(1, 2, 3)))
    path.write_bytes(chunk(0x4D4D, chunk(0x3D3D, *objects, lamp, chunk(0x4000, strz(LONG), triangle()))))
    viewer = Viewer(viewed(EXAMPLE, path, SAMPLES / "3ds/cut.3ds", SAMPLES / "midtown/retail.anim"))
    yield viewer
    viewer.close()


@pytest.fixture(params=[False, True], ids=["light", "dark"])
def shown(browser: Browser, running: Viewer, request: pytest.FixtureRequest) -> Iterator[Watched]:
    with browser.page(running.url, dark=request.param) as watched:
        yield watched
        assert watched.troubles == []


def look_around(shown: Watched) -> Iterator[str]:
    """Yield every file with every panel."""
    for number in range(4):
        shown.open_file(number)
        if shown.page.locator("#node-0").count():
            shown.page.click("#node-0")
        for tab in ("issues", "details", "graph", "bytes", "dope"):
            shown.page.click(f"#tab-{tab}")
            shown.settle()
            yield f"file {number}, {tab}"


def test_every_view_is_legible_and_nothing_overlaps(shown: Watched) -> None:
    """Contrast is at least 4.5 (WCAG AA), also in a selected row; controls do not overlap."""
    size = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    for where in look_around(shown):
        weak = [what for ratio, what in shown.page.evaluate(CONTRASTS) if ratio < 4.5]
        assert weak == [], where
        assert shown.page.evaluate(size) == [1280, 720], where
        boxes = shown.page.evaluate(BOXES)
        assert len(boxes) > 20
        for name, left, top, right, bottom, _ in boxes:
            sticks_out = left < -0.5 or top < -0.5 or right > 1280.5 or bottom > 720.5
            assert not sticks_out, f"{name}: {where}"
        for one, two in combinations(boxes, 2):
            if within(one, two) or within(two, one):
                continue
            across = min(one[3], two[3]) - max(one[1], two[1])
            down = min(one[4], two[4]) - max(one[2], two[2])
            assert across <= 0.5 or down <= 0.5, f"{one[5]} and {two[5]}: {where}"


def within(outer: list[float], inner: list[float]) -> bool:
    return (
        outer[1] <= inner[1] + 0.5
        and outer[2] <= inner[2] + 0.5
        and outer[3] >= inner[3] - 0.5
        and (outer[4] >= inner[4] - 0.5)
    )


def test_theme_can_be_changed(shown: Watched) -> None:
    color = "() => getComputedStyle(document.body).backgroundColor"
    before = shown.page.evaluate(color)
    shown.page.click("#theme")
    shown.settle()
    after = shown.page.evaluate(color)
    assert before != after
    weak = [what for ratio, what in shown.page.evaluate(CONTRASTS) if ratio < 4.5]
    assert weak == []
    shown.page.click("#theme")
    assert shown.page.evaluate(color) == before


CUT_OFF = """() => [...document.querySelectorAll(".panel *, .dialog *, .notice *")].filter(each => {
    const { overflowX, overflowY, textOverflow } = getComputedStyle(each);
    const shortened = textOverflow === "ellipsis" && (each.title || each.closest("[title]")) || each.closest(".legend");
    const across = overflowX === "hidden" && each.scrollWidth > each.clientWidth + 1;
    const down = overflowY === "hidden" && each.scrollHeight > each.clientHeight + 1 && !each.title;
    return each.checkVisibility() && each.textContent.trim() && !shortened && (across || down);
}).map(each => `${each.tagName}.${each.className} ${each.textContent.slice(0, 40)}`)"""
"""elements whose text cannot be read by scrolling; a title has the whole text of those that are shortened"""


@pytest.mark.parametrize(("width", "height"), [(800, 700), (844, 390), (1024, 768), (1400, 700)])
def test_nothing_scrolls_sideways(browser: Browser, running: Viewer, width: int, height: int) -> None:
    with browser.page(running.url) as shown:
        shown.page.set_viewport_size({"width": width, "height": height})
        for _ in look_around(shown):
            wide = shown.page.evaluate(
                """() => [document.documentElement, document.body, ...document.querySelectorAll("#app > *")]
                    .filter(each => each.scrollWidth > each.clientWidth + 1)
                    .map(each => `${each.tagName}.${each.className}`)"""
            )
            assert wide == []
            boxes = shown.page.evaluate(BOXES)
            assert [name for name, _, _, right, _, _ in boxes if right > width + 0.5] == []
            assert shown.page.evaluate(CUT_OFF) == []
        assert shown.troubles == []


def test_text_of_bytes_and_all_digits_can_be_read_at_800_pixels(browser: Browser, running: Viewer) -> None:
    with browser.page(running.url) as shown:
        page = shown.page
        page.set_viewport_size({"width": 800, "height": 700})
        page.click("#node-1")
        shown.seek(33.3)
        page.click("#tab-bytes")
        page.wait_for_selector("#dump .texts")
        seen = (
            "selector => { const all = document.querySelector(selector); return all.scrollWidth <= all.clientWidth; }"
        )
        assert page.evaluate(seen, "#dump")
        lines = "() => [...document.querySelectorAll('#world dd')].map(each => each.scrollHeight - each.clientHeight)"
        page.set_viewport_size({"width": 640, "height": 700})  # digits need more than three lines
        page.evaluate("() => document.getElementById('app').style.setProperty('--right', '130px')")
        shown.settle()
        assert max(page.evaluate(lines)) <= 1
        page.evaluate("() => document.querySelector('#dump').scrollBy(1000, 0)")
        text, dump = (page.locator(name).first.bounding_box() for name in ("#dump .texts", "#dump"))
        assert text is not None
        assert dump is not None
        assert text["x"] + text["width"] <= dump["x"] + dump["width"] + 1


PHONE = {"width": 390, "height": 844}


def test_phone_has_the_picture_above_the_timeline_and_panels_as_sheets(shown: Watched) -> None:
    page = shown.page
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    shown.settle()
    stage, play, dope, bar = (page.locator(name).bounding_box() for name in ("#stage", "#play", "#dope", ".sheets"))
    assert stage is not None
    assert play is not None
    assert dope is not None
    assert bar is not None
    assert (stage["width"], dope["width"], bar["y"] + bar["height"]) == (390, 390, 844)
    assert stage["height"] > 844 / 3
    assert stage["y"] + stage["height"] <= play["y"] < dope["y"] < bar["y"]
    assert not page.locator("#tree").is_visible()
    for name, content in (("left", "#tree"), ("right", "#details"), ("display", "#wire")):
        page.click(f"#sheet-{name}")
        shown.settle()
        assert [each for each in ("#tree", "#details", "#wire") if page.locator(each).is_visible()] == [content]
        assert page.get_attribute(f"#sheet-{name}", "aria-expanded") == "true"
        look_at_phone(shown, name)
    page.click("#sheet-left")
    page.click("#node-1")
    page.click("#node-1 .eye")
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.id") == "sheet-left"
    assert not page.locator("#tree").is_visible()
    page.click("#sheet-right")
    page.click("#details .place")  # its bytes are below the sheet
    assert not page.locator("#details").is_visible()
    page.wait_for_selector("#dump .marked")
    for tab in ("bytes", "graph", "dope"):
        page.click(f"#tab-{tab}")
        shown.settle()
        look_at_phone(shown, tab)
    page.click("#file")
    look_at_phone(shown, "files")
    page.keyboard.press("Escape")
    whole = "() => { const name = document.querySelector('.file .name'); return name.scrollWidth <= name.clientWidth; }"
    assert page.evaluate(whole)
    assert not page.locator("#previous-file").is_visible()
    page.click("#help")
    assert page.evaluate("() => document.getElementById('keys-list').scrollTop") == 0
    page.keyboard.press("?")
    assert not page.locator("#keys-list").is_visible()


def look_at_phone(shown: Watched, where: str) -> None:
    """Nothing is wider than the window, the page does not scroll, text is legible, targets are large enough."""
    size = "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    assert shown.page.evaluate(size) == [PHONE["width"], PHONE["height"]], where
    assert [what for ratio, what in shown.page.evaluate(CONTRASTS) if ratio < 4.5] == [], where
    wide = [name for name, left, _, right, _, _ in shown.page.evaluate(BOXES) if left < -0.5 or right > 390.5]
    assert wide == [], where
    low = shown.page.evaluate(
        """() => [...document.querySelectorAll("button, select, input:not([type=range]), .row, .option, summary")]
            .filter(each => each.checkVisibility() && !each.closest("[aria-hidden=true]"))
            .filter(each => Math.min(each.getBoundingClientRect().height, each.getBoundingClientRect().width) < 36)
            .map(each => each.outerHTML.slice(0, 80))"""
    )
    assert low == [], where
    small = (
        "() => [...document.querySelectorAll('input, select')].map(each => parseFloat(getComputedStyle(each).fontSize))"
    )
    assert min(shown.page.evaluate(small)) >= 16, where  # with smaller text, phones zoom in
