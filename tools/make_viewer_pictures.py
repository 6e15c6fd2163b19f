"""Takes the screenshots in docs/viewer.md, which show the example: ``python tools/make_viewer_pictures.py``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.viewer.browser import Watched, open_browser  # noqa: E402
from tests.viewer.opening import EXAMPLE, viewed  # noqa: E402

from keyframer.viewer import Viewer  # noqa: E402

OUT = ROOT / "docs/pictures"


def take_screenshot(shown: Watched, name: str) -> None:
    shown.page.wait_for_timeout(800)
    shown.page.screenshot(path=OUT / f"viewer-{name}.png")


def main() -> None:
    viewer = Viewer(viewed(EXAMPLE))
    with open_browser() as browser:
        with browser.page(viewer.url) as shown:
            shown.seek(25)
            shown.page.click("#node-1")
            take_screenshot(shown, "light")
        with browser.page(viewer.url, dark=True) as shown:
            shown.page.select_option("#camera", "0")
            shown.page.select_option("#lights", "file")
            shown.page.click("#node-6")
            shown.page.click("#tab-graph")
            shown.page.focus("#graph")
            for _ in range(2):
                shown.page.keyboard.press("ArrowRight")
            take_screenshot(shown, "graph-dark")
        with browser.page(viewer.url) as shown:
            shown.page.click("#edges")
            shown.page.click("#node-6")
            shown.page.focus("#dope")
            for _ in range(2):
                shown.page.keyboard.press("ArrowRight")
            shown.page.click("#tab-bytes")
            take_screenshot(shown, "bytes")
    viewer.close()


if __name__ == "__main__":
    main()
