"""Debian's Chromium, driven by Playwright: pages must log no error and send requests only to our server.

Panels are drawn a frame after a change, and some wait for the server first: `Watched.settle` waits until all of that
is done. Call it before looking at what is drawn; nothing here waits for a number of milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.chromium import open_chromium, why_no_chromium
from tests.viewer_page import NOT_BUILT
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Software rendering, no calls home: Chromium's own connections would look like the page's. No watchdog, either: on a
# busy machine it takes a slow renderer for a hung one and kills it, and then there is no WebGL.
ARGUMENTS = (
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
    "--disable-quic", "--disable-gpu-watchdog",
)  # fmt: skip

COUNT_REQUESTS = """
const busy = { now: 0, begun: 0 };
const counted = (make) => function (...given) {
    busy.now++;
    busy.begun++;
    return make.apply(this, given).finally(() => busy.now--);
};
window.fetch = counted(window.fetch);
for (const name of ["arrayBuffer", "text"]) Response.prototype[name] = counted(Response.prototype[name]);
Object.defineProperty(window, "busyWith", { value: busy });
"""
SETTLE = """async () => {
    let begun;
    do {
        begun = busyWith.begun;
        for (let frame = 0; frame < 3 || busyWith.now; frame++) await new Promise(requestAnimationFrame);
    } while (begun !== busyWith.begun);
}"""
"""three frames without a question to the server: one to draw, one for what drawing resized, one for its drawing"""


def why_no_browser() -> str | None:
    """Return why pages cannot be tested here; None if they can."""
    return NOT_BUILT or why_no_chromium()


class Browser:
    """Opens pages and records their errors."""

    def __init__(self, chromium: Any) -> None:
        self._chromium = chromium

    def new_page(self, *, dark: bool = False, moving: bool = False) -> Page:
        """Return an empty page in a separate context. With ``moving`` the system does not ask for less motion, and
        files are played when they are opened."""
        context = self._chromium.new_context(
            viewport={"width": 1280, "height": 720},
            color_scheme="dark" if dark else "light",
            reduced_motion="no-preference" if moving else "reduce",
        )
        context.set_default_timeout(PATIENCE * 1_000)
        context.add_init_script(COUNT_REQUESTS)
        page: Page = context.new_page()
        return page

    @contextmanager
    def page(self, url: str, *, dark: bool = False, moving: bool = False) -> Iterator[Watched]:
        watched = Watched(self.new_page(dark=dark, moving=moving))
        try:
            watched.page.goto(url)
            watched.page.wait_for_selector("html[data-ready=yes]")
            watched.settle()
            yield watched
        finally:
            watched.page.context.close()


class Watched:
    """A page and its errors."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.troubles: list[str] = []
        self.requests: list[str] = []
        page.on("console", self._record_message)
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("dialog", self._record_dialog)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfailed", lambda request: self.troubles.append(f"failed: {request.url}"))

    def _record_message(self, message: Any) -> None:
        # Software rendering reports reads of the picture as slow; that is no fault of the page.
        if message.type in ("error", "warning") and "GPU stall" not in message.text:
            self.troubles.append(f"{message.type}: {message.text}")

    def _record_dialog(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def settle(self) -> None:
        """Wait until all requests are answered and drawn."""
        self.page.evaluate(SETTLE)

    def open_file(self, number: int) -> None:
        self.page.click("#file")
        self.page.click(f"#file-{number}")
        self.page.wait_for_selector(f"html[data-file='{number}']")
        self.settle()

    def state(self, name: str) -> Any:
        return self.page.evaluate(f"() => keyframerViewer.store.state.{name}")

    def seek(self, frame: float) -> None:
        self.page.evaluate("frame => keyframerViewer.store.set({ frame, playing: false })", frame)

    def places(self) -> list[list[float]]:
        """Return the positions of all nodes, in the axes of glTF."""
        positions: list[list[float]] = self.page.evaluate(
            "() => keyframerViewer.store.state.info.nodes.map("
            "node => keyframerViewer.stage.model.worldPosition(node.gltf).toArray())"
        )
        return positions


@contextmanager
def open_browser() -> Iterator[Browser]:
    with open_chromium(ARGUMENTS) as chromium:
        yield Browser(chromium)
