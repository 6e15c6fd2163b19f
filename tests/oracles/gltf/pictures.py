"""Pictures of .glb files by three.js in Debian's Chromium, without a server: every request is answered from files."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from tests.chromium import open_chromium, why_no_chromium
from tests.viewer.browser import ARGUMENTS

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

HERE = Path(__file__).resolve().parent
THREE = HERE.parent / "node_modules" / "three"
_ORIGIN = "http://pictures.invalid"
_TYPES = {".js": "text/javascript", ".html": "text/html", ".glb": "model/gltf-binary"}


def why_no_pictures() -> str | None:
    """The reason why no pictures can be made on this machine, or None."""
    if not THREE.is_dir():
        return "three.js is missing (tools/install_node_tools.sh installs it where it may)"
    return why_no_chromium()


@dataclass(frozen=True)
class Shown:
    """The pictures of a file by three.js, and what it read."""

    pictures: list[Image.Image]
    seconds: float
    """the length of its animation"""
    image_widths: list[int]
    """of the base colour images of its meshes"""


class Painter:
    def __init__(self, page: Page) -> None:
        self._page = page
        self._files: dict[str, Path] = {}
        self.troubles: list[str] = []
        page.on("console", self._record_message)
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.route("**/*", self._answer)
        page.goto(f"{_ORIGIN}/render.html")
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)

    def show(self, path: Path, shares: Sequence[float], size: tuple[int, int]) -> Shown:
        """Pictures at the given fractions of the animation's length."""
        address = f"/files/{len(self._files)}.glb"
        self._files[address] = path
        answer: dict[str, Any] = self._page.evaluate("all => render(...all)", [address, list(shares), *size])
        pictures = [
            Image.open(io.BytesIO(base64.b64decode(picture.partition(",")[2]))).convert("RGB")
            for picture in answer["pictures"]
        ]
        return Shown(pictures, answer["seconds"], answer["images"])

    def lit_sphere(self, path: Path, centre: Sequence[float], radius: float, eye: Sequence[float]) -> float:
        """The brightness, 0 to 1, of a grey sphere that replaces the meshes of a file and is lit by its lights."""
        address = f"/files/{len(self._files)}.glb"
        self._files[address] = path
        given = [address, list(centre), radius, list(eye), 64]
        return float(self._page.evaluate("all => litSphere(...all)", given))

    def _record_message(self, message: Any) -> None:
        if message.type in ("error", "warning") and "GPU stall" not in message.text:
            self.troubles.append(f"{message.type}: {message.text}")

    def _answer(self, route: Route) -> None:
        address = route.request.url.partition("?")[0].removeprefix(_ORIGIN)
        path = self._files.get(address)
        if address.startswith("/three/"):
            path = THREE / address.removeprefix("/three/")
        elif address == "/render.html":
            path = HERE / "render.html"
        if path is None or not path.is_file():
            route.fulfill(status=204 if address == "/favicon.ico" else 404)
        else:
            route.fulfill(body=path.read_bytes(), content_type=_TYPES.get(path.suffix, "application/octet-stream"))


@contextmanager
def open_painter() -> Iterator[Painter]:
    with open_chromium(ARGUMENTS) as chromium:
        yield Painter(chromium.new_page())
